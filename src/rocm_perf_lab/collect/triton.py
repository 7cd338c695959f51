"""Triton on the software device: the environment that a program's Python needs, and whether its Triton
version is supported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from rocm_perf_lab import rocm

# Holds the package rocm_perf_triton, which Triton finds through its entry point; nothing else here can be imported.
PLUGIN = Path(__file__).parents[1] / "triton_plugin"
TARGETS = ("gfx942", "gfx950")  # what Triton can compile for on the software device
OLDEST, NEWEST_TRIED = "3.4", "3.9"  # as in rocm_perf_triton/versions.py
FOLDER = "triton"  # as in analysis/triton/kernel_descriptions.py

_LIBRARY_VARIABLE = "ROCM_PERF_HIP_LIBRARY"
_TARGET_VARIABLE = "ROCM_PERF_TRITON_TARGET"
_KERNELS_VARIABLE = "ROCM_PERF_TRITON_KERNELS"
_PATH_VARIABLE = "PYTHONPATH"
_PYTHON = re.compile(r"python[0-9.]*t?")


def variables(base: Mapping[str, str], target: str = TARGETS[0]) -> dict[str, str]:
    """The variables that make Triton use the software device for this target, given those in `base`; {} without HIP."""
    hip = rocm.find_library(rocm.HIP)
    if hip is None:
        return {}
    return {_PATH_VARIABLE: importable(base)[_PATH_VARIABLE], _LIBRARY_VARIABLE: str(hip)} | (
        {_TARGET_VARIABLE: target} if target in TARGETS else {}
    )


def description_variables(folder: Path) -> dict[str, str]:
    """The variables that make Triton's driver write descriptions of a program's kernels to `folder`, next to the trace."""
    return {_KERNELS_VARIABLE: str(folder / FOLDER)}


def importable(base: Mapping[str, str]) -> dict[str, str]:
    """`base` changed so that Python can import the packages in PLUGIN."""
    earlier = [folder for folder in base.get(_PATH_VARIABLE, "").split(":") if folder and folder != str(PLUGIN)]
    return dict(base) | {_PATH_VARIABLE: ":".join([str(PLUGIN), *earlier])}


def refusal(program: Path, target: str = TARGETS[0]) -> str | None:
    """Why the Triton that is installed for the Python `program` cannot run on the software device for this target, and
    a remedy; None if it can, or if Triton is not installed there.
    """
    version = installed_version(program)
    if version is None:
        return None
    if target not in TARGETS:
        return f"Triton cannot run on the software {target}, only on {' and '.join(TARGETS)}: use `--device {TARGETS[0]}`"
    return refusal_of(version)


def refusal_of(version: str) -> str | None:
    if _numbers(OLDEST) <= _numbers(version) < (int(OLDEST.split(".")[0]) + 1, 0):
        return None
    return (
        f"Triton {version} cannot run on the software device, which supports {OLDEST} to {NEWEST_TRIED}: "
        f"run `pip install triton=={NEWEST_TRIED}.*`"
    )


def installed_version(program: Path) -> str | None:
    """The version of the Triton that is installed for the Python `program`; None if the program is not Python, or if Triton is
    not installed.
    """
    if not is_python(program):
        return None
    installed = program.parent.parent.glob("lib/python3*/site-packages/triton-*.dist-info")
    return next((path.name.split("-")[1].removesuffix(".dist") for path in installed), None)


def is_python(program: Path) -> bool:
    """Whether the program is a Python interpreter, judging by its name."""
    return bool(_PYTHON.fullmatch(program.name))


def _numbers(version: str) -> tuple[int, int]:
    major, minor, *_ = re.findall(r"\d+", version) + ["0"]
    return int(major), int(minor)
