"""Checks whether this machine has what profiling needs, and says how to get what is missing."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from rocm_perf_lab import native, rocm
from rocm_perf_lab.cage import mechanism
from rocm_perf_lab.cage.start import REMEDY
from rocm_perf_lab.collect import gpu, inherited_limits, triton
from rocm_perf_lab.errors import UnavailableError, UnsuitableEnvironmentError
from rocm_perf_lab.extras import EXTRAS, absent_modules, how_to_install

OK: Final = "ok"
MISSING: Final = "missing"
OPTIONAL: Final = "optional"

_DEPENDENCIES = ("click", "numpy", "pydantic", "rich")
_GET_ROCM = "install ROCm 7.1 or newer (https://rocm.docs.amd.com), or run `rocm-perf setup` (in a clone: `./dev shell`)"


@dataclass(frozen=True)
class Finding:
    """status: ok, missing (profiling on some device needs it) or optional. hint: how to get it, '' if it is present."""

    name: str
    status: Literal["ok", "missing", "optional"]
    detail: str
    hint: str = ""


@dataclass(frozen=True)
class Diagnosis:
    findings: tuple[Finding, ...]
    hardware: bool  # whether a GPU can be profiled
    software: bool  # whether the software device can run

    @property
    def can_profile(self) -> bool:
        return self.hardware or self.software

    @property
    def verdict(self) -> str:
        if self.hardware and self.software:
            return "`rocm-perf profile` works, on the GPU and (--device gfx942) on the software device."
        if self.hardware:
            return "`rocm-perf profile` works on the GPU; the software device cannot run."
        if self.software:
            return "`rocm-perf profile` works on the software device."
        return "`rocm-perf profile` cannot work until the missing parts above are installed."


def diagnose() -> Diagnosis:
    """Examine this machine. Starts no GPU program and changes nothing."""
    python = [_python(), *map(_dependency, _DEPENDENCIES)]
    extras = map(_check_extra, EXTRAS)
    runtime, model = _runtime(), _model_interface()
    device, tracer, writer, *replay_parts = _native_parts()
    gpus, rocprofv3 = _gpus(), _rocprofv3()
    folder = _surroundings("temporary files", "their folder is writable", inherited_limits.check_temporary_folder)
    addresses = _surroundings("address space", "enough for the software device", inherited_limits.check_addresses)
    base = _all_ok(*python, runtime, folder)
    built_in = _all_ok(tracer, writer)
    return Diagnosis(
        findings=(
            *(*python, *extras, runtime, model, _hip(), _comgr(), _hipcc(), _triton(), gpus, rocprofv3),
            *(device, tracer, writer, *replay_parts, folder, addresses, _cage()),
        ),
        hardware=base and _all_ok(gpus) and (built_in or _all_ok(rocprofv3)),
        software=base and built_in and _all_ok(model, device, addresses),
    )


def _surroundings(name: str, fine: str, check: Callable[[], None]) -> Finding:
    try:
        check()
    except UnsuitableEnvironmentError as error:
        return Finding(name, MISSING, error.problem, error.hint)
    return Finding(name, OK, fine)


def _all_ok(*findings: Finding) -> bool:
    return all(finding.status == OK for finding in findings)


def _python() -> Finding:
    return Finding("python", OK, f"{platform.python_version()} ({sys.executable})")


def _dependency(name: str) -> Finding:
    try:
        return Finding(f"python: {name}", OK, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(f"python: {name}", MISSING, "not installed", f"run `pip install {name}`")


def _check_extra(name: str) -> Finding:
    purpose = EXTRAS[name][1]
    absent = absent_modules(name)
    if not absent:
        return Finding(f"extra: {name}", OK, purpose)
    return Finding(f"extra: {name}", OPTIONAL, f"no {', '.join(absent)}; needed for {purpose}", how_to_install(name))


def _library(name: str, file: str, hint: str) -> Finding:
    path = rocm.find_library(file)
    if path is None:
        return Finding(name, MISSING, f"{file} was not found", hint)
    version = rocm.version_in_file_name(path)
    return Finding(name, OK, f"{version + ', ' if version else ''}{path}")


def _runtime() -> Finding:
    return _library("ROCr runtime", rocm.RUNTIME, _GET_ROCM)


def _model_interface() -> Finding:
    name = "ROCr model interface"
    path = rocm.find_library(rocm.RUNTIME)
    if path is None:
        return Finding(name, MISSING, "no ROCr", _GET_ROCM)
    if not rocm.has_model_interface(path):
        return Finding(name, MISSING, f"{path} is too old for a software device", _GET_ROCM)
    return Finding(name, OK, "this ROCr can run a software device")


def _hip() -> Finding:
    return _library("HIP runtime", rocm.HIP, _GET_ROCM)


def _comgr() -> Finding:
    return _library("comgr", rocm.COMGR, _GET_ROCM)


def _hipcc() -> Finding:
    path = rocm.find_program("hipcc")
    if path is None:
        return Finding("hipcc", OPTIONAL, "not found; needed only to compile HIP programs", _GET_ROCM)
    return Finding("hipcc", OK, str(path))


def _triton() -> Finding:
    """Triton in the Python that runs this check; a script may use a different Python."""
    try:
        version = importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        hint = "to run Triton kernels: `pip install triton numpy` in the Python of the script"
        return Finding("Triton", OPTIONAL, "not installed in this Python", hint)
    if (refused := triton.refusal_of(version)) is not None:
        return Finding("Triton", OPTIONAL, *refused.split(": ", 1))
    return Finding("Triton", OK, version)


def _gpus() -> Finding:
    gpus = gpu.find()
    if gpus.usable:
        return Finding("GPU", OK, ", ".join(gpus.targets))
    return Finding("GPU", OPTIONAL, str(gpus.obstacle), "without one, the software device is used")


def _rocprofv3() -> Finding:
    path = rocm.find_program("rocprofv3")
    if path is None:
        hint = "install rocprofiler-sdk to collect a GPU's counters"
        return Finding("rocprofv3", OPTIONAL, "not found; the built-in tracer is used", hint)
    return Finding("rocprofv3", OK, str(path))


def _cage() -> Finding:
    """The mechanism that `optimize`, `llm-optimize` and `gate` use to confine candidates."""
    cage = mechanism.best_mechanism()
    if cage is None:
        return Finding("cage", OPTIONAL, "no means to cage candidates; the commands that judge them refuse to run", REMEDY)
    layer = "" if cage.overlays else "; the current folder is read-only in it"
    return Finding("cage", OK, (f"bubblewrap, {cage.program}" if cage.program else "user namespaces") + layer)


def _native_parts() -> tuple[Finding, ...]:
    return (
        _native("software device", native.device_library),
        _native("tracer", native.tracer_library),
        _native("rocpd writer", native.rocpd_writer),
        _native("isolate library", native.isolate_library),
        _native("capture library", native.capture_library),
        _native("replay", native.replay_program),
    )


def _native(name: str, find: Callable[[], Path]) -> Finding:
    try:
        return Finding(name, OK, str(find()))
    except UnavailableError as error:
        return Finding(name, MISSING, error.problem, error.hint)
