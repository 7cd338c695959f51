"""LLVM's disassembly of a kernel: an oracle that shares nothing with the device's own decoder."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import needs


def llvm_tool(name: str) -> str:
    """The path of an LLVM tool of the HIP compiler."""
    command = [needs.program("hipcc"), "--print-prog-name=clang"]
    clang = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    return shutil.which(name, path=Path(clang).resolve().parent) or needs.lacking(f"no {name} beside {clang}")


def compile_kernels(source: Path, output: Path, *flags: str) -> Path:
    """Compiles only the device code of a HIP source for gfx942, without the bundle around it."""
    hipcc = needs.program("hipcc")
    subprocess.run(
        [
            hipcc,
            "--offload-arch=gfx942",
            "-O3",
            "--offload-device-only",
            "--no-gpu-bundle-output",
            *flags,
            "-o",
            output,
            source,
        ],
        check=True,
        capture_output=True,
    )
    return output


def instructions(code_object: Path, kernel: str) -> list[str]:
    """The mnemonics (without encoding suffix) of the function whose symbol contains `kernel`, up to its last s_endpgm."""
    listing = subprocess.run(
        [llvm_tool("llvm-objdump"), "-d", "--no-leading-addr", code_object], check=True, capture_output=True, text=True
    ).stdout
    inside = False
    found: list[str] = []
    for line in listing.splitlines():
        if header := re.match(r"(?:[0-9a-f]+ )?<(.+)>:$", line):
            inside = kernel in header[1]
        elif inside and line.strip():
            found.append(re.sub(r"_(e32|e64|dpp|sdwa)$", "", line.split()[0]))
    assert found, f"no function {kernel} in {code_object}"
    return found[: len(found) - found[::-1].index("s_endpgm")]
