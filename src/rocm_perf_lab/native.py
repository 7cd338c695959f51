"""Locates the native parts, such as the software device, the tracer and the writer of trace databases.

If $ROCM_PERF_LAB_NATIVE_DIR is set, only that folder is searched, because a wrong setting should not be papered over.
Otherwise, `_native/` in the installed package is searched, and then `build/` in the repository (for an editable install).
"""

from __future__ import annotations

import contextlib
import os
from functools import lru_cache
from pathlib import Path

from rocm_perf_lab.errors import UnavailableError

DEVICE = "librocmperf_device.so"
TRACER = "librocmperf_tracer.so"
ROCPD_WRITER = "rocmperf-rocpd-writer"
PRELOAD = "librocmperf_preload.so"
ISOLATE = "librocmperf_isolate.so"
CAPTURE = "librocmperf_capture.so"
REPLAY = "rocmperf-replay"

NATIVE_DIR_VARIABLE = "ROCM_PERF_LAB_NATIVE_DIR"
_PACKAGE = Path(__file__).resolve().parent
_PACKAGED = _PACKAGE / "_native"
_SUBFOLDERS = ("", "lib", "bin")
# The features that x86-64-v3 adds to v2, as named in /proc/cpuinfo; hatch_build.py compiles for x86-64-v3.
_PROCESSOR_FLAGS = {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}


def device_library() -> Path:
    """The ROCr model library, which is an HSA tools library as well. Raises UnavailableError."""
    return _find(DEVICE)


def preload_library() -> Path:
    """The library to preload for programs that look for GPUs below ROCr, in the kernel driver's topology or through libdrm, and
    for profilers. Raises UnavailableError.
    """
    return _find(PRELOAD)


def tracer_library() -> Path:
    """The built-in tracer, an HSA tools library. Raises UnavailableError."""
    return _find(TRACER)


def rocpd_writer() -> Path:
    """The program that turns the tracer's records into a database. Raises UnavailableError."""
    return _find(ROCPD_WRITER)


def isolate_library() -> Path:
    """The HSA tools library that captures a dispatch. Raises UnavailableError."""
    return _find(ISOLATE)


def capture_library() -> Path:
    """The library through which Python reads captures. Raises UnavailableError."""
    return _find(CAPTURE)


def replay_program() -> Path:
    """The program that replays a captured dispatch. Raises UnavailableError."""
    return _find(REPLAY)


def is_tools_library(path: Path) -> bool:
    """Whether this is one of this package's HSA tools libraries, wherever the file is."""
    return path.name in (DEVICE, TRACER, ISOLATE)


def search_folders() -> list[Path]:
    """The folders to search, in order of preference, whether or not they exist."""
    chosen = os.environ.get(NATIVE_DIR_VARIABLE)
    if chosen:
        return [Path(chosen).absolute()]
    repository = _repository()
    return [_PACKAGED, *([repository / "build"] if repository else [])]


def _repository() -> Path | None:
    """The clone from which this package was installed in editable mode; None if it was installed otherwise."""
    repository = _PACKAGE.parents[1]
    return repository if (repository / "CMakeLists.txt").is_file() else None


def _find(name: str) -> Path:
    for folder in search_folders():
        for subfolder in _SUBFOLDERS:
            candidate = folder / subfolder / name
            if candidate.is_file():
                if folder == _PACKAGED:
                    _expect_processor(candidate)
                return candidate
    looked = ", ".join(str(folder) for folder in search_folders())
    raise UnavailableError(f"{name} was not found (looked in {looked})", _how_to_get())


@lru_cache(maxsize=1)
def _expect_processor(part: Path) -> None:
    """Raises UnavailableError if this processor lacks instructions that the package's native parts use."""
    flags = processor_flags(Path("/proc/cpuinfo"))
    if lacking := sorted(_PROCESSOR_FLAGS - flags) if flags else []:
        message = f"{part} is for x86-64-v3 processors; this one has no {', '.join(lacking)}"
        raise UnavailableError(message, f"build the native parts from the sources, and set {NATIVE_DIR_VARIABLE}")


def processor_flags(cpuinfo: Path) -> set[str]:
    """The features of the first processor; empty if they are unknown."""
    with contextlib.suppress(OSError), cpuinfo.open() as lines:
        for line in lines:
            if line.startswith("flags"):
                return set(line.partition(":")[2].split())
    return set()


def _how_to_get() -> str:
    set_folder = f"set {NATIVE_DIR_VARIABLE} to the folder that contains it"
    if _repository() is None:
        message = "this package has no native parts: install the wheel for Linux on x86-64"
        return f"{message}, or build them from the sources and {set_folder}"
    return f"build it with `cmake -S . -B build && cmake --build build -j` in the repository, or {set_folder}"
