"""Checks whether a program has code for its device: HIP itself silently ends a program with SIGSEGV if a launched kernel has no
code for the device.

The code in the program and in its linked libraries is known before the program runs. Whether code that it loads later (with
dlopen, as Python does) is missing shows only in HIP's error log, once HIP has looked for it.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.code_object import targets_in
from rocm_perf_lab.code_object.elf_interpreter import interpreter_of
from rocm_perf_lab.collect import triton
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.device import HIP_LOG_VARIABLE, RELABELS_VARIABLE, SOFTWARE_PRODUCTS, Device
from rocm_perf_lab.errors import NoKernelsError, ProgramFailedError, ProgramKilledError, WrongTargetError

Note = Callable[[str], None]

_LOADER_SECONDS = 20
_NO_COMPATIBLE_CODE = b"No compatible code objects found for"  # clr, hip_fatbin.cpp
_LOG_BYTES = 1 << 16
_LOADING = (b"hipModuleLoad", b"hipLibraryLoad")
_RUNTIME = ("libamdhip64.", "libhiprtc")
_ANY_GPU = "amdgcnspirv"  # compiled for the GPU at load time
# The processors that run generic code, from LLVM's AMDGPUUsage.rst, "Generic Processors".
_GENERIC = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}


@dataclass(frozen=True)
class IncompatibleFile:
    """A file that has device code, but none for the device. name: as the user knows it."""

    name: str
    targets: frozenset[str]

    def __str__(self) -> str:
        return f"{self.name} has code for {', '.join(sorted(self.targets))} only"


@contextlib.contextmanager
def checking_device_code(
    command: Command, environment: Mapping[str, str], device: Device, note: Note = lambda _text: None
) -> Iterator[Callable[[], None]]:
    """Wrap a run of `command`: check that it has code for the device, and explain failures caused by missing code.

    Yields a function for callers that detect failure by the program's exit status: it raises WrongTargetError if missing code
    caused the failure. note: receives a line about each file that lacks such code but that the program may not need. Raises
    WrongTargetError if no file has code for the device, or if the run fails because code is missing.
    """
    relabelled = device.is_hardware and RELABELS_VARIABLE in environment  # the user then decides which code the GPU runs
    misfits, others_fit = ([], True) if relabelled else _examined(command, environment, device)
    if misfits and not others_fit:
        raise WrongTargetError(_error_text(misfits, device), device.target, _other_device(misfits, device))
    for misfit in misfits:
        note(f"{misfit}: its kernels cannot run on {device.target}")
    if not device.is_hardware and (refused := triton.refusal(command.executable, device.target)) is not None:
        note(refused)
    log = _Log(device)
    try:
        yield lambda: _explain(command, misfits, device, log)
    except (ProgramFailedError, ProgramKilledError, NoKernelsError) as error:
        try:
            _explain(command, misfits, device, log)
        except WrongTargetError as found:
            raise found from error
        raise


def _other_device(misfits: Iterable[IncompatibleFile], device: Device) -> str | None:
    """The software device that the code is for, if there is one."""
    processors = {target.partition(":")[0] for misfit in misfits for target in misfit.targets}
    return next((name for name in SOFTWARE_PRODUCTS if name in processors and name != device.target), None)


def fits(target: str, device: Device) -> bool:
    """Whether the device runs code for `target`, such as "gfx942" or "gfx90a:xnack+"."""
    processor, *features = target.split(":")
    # Device.features is empty for a GPU, because the driver's topology does not say which mode it is in.
    at_odds = [feature[:-1] + ("-" if feature[-1] == "+" else "+") for feature in features]
    if any(feature in device.features for feature in at_odds):
        return False
    gpus = {device.target, *device.further_targets}
    return processor in gpus | {_ANY_GPU} or bool(gpus.intersection(_GENERIC.get(processor, ())))


def _examined(command: Command, environment: Mapping[str, str], device: Device) -> tuple[list[IncompatibleFile], bool]:
    """The files that have code for other GPUs only, and whether any file has code for this one or may load it later."""
    files = {command.executable: command.program}
    files |= {path: str(path) for path in linked_libraries(command.executable, environment)}
    targets = {path: _targets_of(path, _stamp(path)) for path in files}
    fitting = {path for path, own_targets in targets.items() if any(fits(target, device) for target in own_targets)}
    misfits = [
        IncompatibleFile(files[path], own_targets)
        for path, own_targets in targets.items()
        if own_targets and path not in fitting
    ]
    return misfits, bool(fitting) or (bool(misfits) and any(map(_loads_code, files)))


def _loads_code(path: Path) -> bool:
    """Whether the file names HIP functions that load code objects from other files. The HIP runtime, which always does, is
    ignored.
    """
    if path.name.startswith(_RUNTIME):
        return False
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
            return any(image.find(name) >= 0 for name in _LOADING)
    except (OSError, ValueError):
        return False


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=1024)
def _targets_of(path: Path, _changed: tuple[int, int]) -> frozenset[str]:
    return targets_in(path)


def linked_libraries(program: Path, environment: Mapping[str, str]) -> list[Path]:
    """The files that the program's own loader would map with it, found without running the program; empty for a script."""
    loader = interpreter_of(program)
    if loader is None:
        return []
    clean = {name: value for name, value in environment.items() if not name.startswith("LD_") or name == "LD_LIBRARY_PATH"}
    try:
        listing = subprocess.run(
            [loader, "--list", str(program)], env=clean, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LOADER_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    # A line reads "libamdhip64.so.7 => /usr/lib/x86_64-linux-gnu/libamdhip64.so.7 (0x00007ff823200000)".
    paths = [line.partition(" => ")[2].rpartition(" (")[0] for line in os.fsdecode(listing.stdout).splitlines()]
    return [Path(path) for path in paths if path]


def _explain(command: Command, misfits: list[IncompatibleFile], device: Device, log: _Log) -> None:
    """Called after a failure. Raises WrongTargetError if HIP found no code for the device."""
    if not log.tells_of_missing_code():
        return
    if misfits:
        raise WrongTargetError(_error_text(misfits, device), device.target, _other_device(misfits, device))
    message = f"{command.program} runs or loads something (a program, a library, a module) without code for {device.target}"
    raise WrongTargetError(message, device.target)


def _error_text(misfits: list[IncompatibleFile], device: Device) -> str:
    return f"{'; '.join(map(str, misfits))}, and the device is {device.target}"


class _Log:
    """HIP's error log of this run alone: one file per process, with the process id appended to the name."""

    def __init__(self, device: Device):
        path = device.variables.get(HIP_LOG_VARIABLE)
        self._path = Path(path) if path else None
        self._before = set(self._files())

    def tells_of_missing_code(self) -> bool:
        return any(_NO_COMPATIBLE_CODE in _beginning(path) for path in self._files() if path not in self._before)

    def _files(self) -> list[Path]:
        return list(self._path.parent.glob(f"{self._path.name}*")) if self._path else []


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LOG_BYTES)
    except OSError:
        return b""
