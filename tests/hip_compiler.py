"""hipcc for test programs, with HIP's own headers precompiled, which take most of a small program's compile time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

import needs

HEADER = "#ifdef __HIP__\n#include <hip/hip_runtime.h>\n#endif\n"
_OF_THE_LANGUAGE = ("-O", "-std=", "-f", "-m")  # a precompiled header has to be compiled with the same options
_WITHOUT_HEADERS = ("-nogpuinc", "-x", "-include")
_DEVICE_ONLY = ("--offload-device-only", "--genco")


def compile_hip(*words: object, **options) -> subprocess.CompletedProcess[str]:
    """Runs hipcc with these words; options are those of subprocess.run. Raises CalledProcessError if it fails."""
    command = [needs.program("hipcc"), *map(str, words)]
    options = {"check": True, "capture_output": True, "text": True} | options
    if headers := _headers_for(command):
        including = [word for name, file in headers.items() for word in (f"-Xarch_{name}", f"-include{file}")]
        linker = ["-fuse-ld=lld"] if "host" in headers and "-c" not in command else []
        quick = subprocess.run([*command, *including, *linker], **options | {"check": False, "capture_output": True})
        if quick.returncode == 0:
            return quick
    return subprocess.run(command, **options)


def _headers_for(command: list[str]) -> dict[str, Path]:
    """Pass of the command ("host" or an architecture) -> the header beside which Clang finds the precompiled one."""
    targets = [word.partition("=")[2] for word in command if word.startswith("--offload-arch=")]
    if not targets or any(word.startswith(_WITHOUT_HEADERS) for word in command):
        return {}
    words = [command[0], *(word for word in command[1:] if word.startswith(_OF_THE_LANGUAGE))]
    key = "\0".join([HEADER, *words, str(Path(command[0]).stat().st_mtime_ns)])
    folder = needs.native_folder() / "test-headers" / hashlib.sha256(os.fsencode(key)).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    passes = {target: [f"--offload-arch={target}", "--offload-device-only"] for target in targets}
    if not any(word in _DEVICE_ONLY for word in command):
        passes["host"] = [f"--offload-arch={targets[0]}", "--offload-host-only"]
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return {name: _header(folder / f"{name}.h", [*words, *selected]) for name, selected in passes.items()}


def _header(header: Path, words: list[str]) -> Path:
    precompiled, part = Path(f"{header}.pch"), Path(f"{header}.part")
    if not precompiled.exists():
        header.write_text(HEADER)
        emit = [word for option in ("-emit-pch", "-o", str(part)) for word in ("-Xclang", option)]
        subprocess.run([*words, "-x", "hip", "-fsyntax-only", *emit, header], check=True, capture_output=True)
        part.rename(precompiled)
    return header
