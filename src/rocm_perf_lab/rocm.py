"""Finds ROCm's runtime, compiler, code-object library and profiler on this machine."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

RUNTIME = "libhsa-runtime64.so.1"
HIP = "libamdhip64.so"
COMGR = "libamd_comgr.so"
_MODEL_INTERFACE_MARK = b"HSA_MODEL_TOPOLOGY"


def root() -> Path:
    """ROCm's installation prefix. Distributions that install ROCm into /usr put nothing there."""
    return Path(os.environ.get("ROCM_PATH") or "/opt/rocm")


def find_library(name: str) -> Path | None:
    """The file that the dynamic loader would most likely load for `name` (a soname or its stem ending in .so), or None."""
    folders = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    for folder in [*map(Path, folders), root() / "lib"]:
        if (folder / name).exists():
            return folder / name
    return _from_loader_cache(name)


def _from_loader_cache(name: str) -> Path | None:
    # A line looks like "libamd_comgr.so.3 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libamd_comgr.so.3".
    match = re.search(rf"^\s*{re.escape(name)}\S* .*=> (\S+)$", _loader_cache(), re.MULTILINE)
    return Path(match.group(1)) if match else None


@lru_cache(maxsize=1)  # cached because the gate selects a device for each of its many runs
def _loader_cache() -> str:
    for ldconfig in ("ldconfig", "/sbin/ldconfig"):
        try:
            return subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=False).stdout
        except OSError:
            continue
    return ""


@lru_cache(maxsize=4)
def has_model_interface(runtime: Path) -> bool:
    """Whether this ROCr can run a software GPU in place of the kernel driver (ROCm 7.1 and newer can)."""
    with runtime.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
        return image.find(_MODEL_INTERFACE_MARK) >= 0


def find_program(name: str) -> Path | None:
    """A ROCm program on PATH or in ROCm's installation prefix; None if it is in neither."""
    program = shutil.which(name) or shutil.which(name, path=str(root() / "bin"))
    return Path(program) if program else None


def version_in_file_name(library: Path) -> str | None:
    """'1.18.0' for a libhsa-runtime64.so.1 that links to libhsa-runtime64.so.1.18.0; None if the name has no version."""
    match = re.search(r"\.so\.(\d[\d.]*)$", library.resolve().name)
    return match.group(1) if match else None
