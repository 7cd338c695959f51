"""Kernels that failed on the software device while their program went on and ended well: few programs look for errors."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.collect.device import FAILURES_VARIABLE
from rocm_perf_lab.errors import KernelFailedError


def variables(file: Path) -> dict[str, str]:
    """What has the device note in `file` why kernels fail, a line each."""
    return {FAILURES_VARIABLE: str(file)}


def expect_none(program: str, file: Path) -> None:
    """After the run. Raises KernelFailedError."""
    if file.exists():
        raise KernelFailedError(program, file.read_text(errors="replace").splitlines()[0])
