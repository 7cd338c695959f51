"""Detects kernels that failed on the software device even though their program succeeded: few programs check for errors."""

from __future__ import annotations

from pathlib import Path

from rocm_perf_lab.collect.device import FAILURES_VARIABLE
from rocm_perf_lab.errors import KernelFailedError


def variables(file: Path) -> dict[str, str]:
    """Environment variables that make the device record why kernels fail: one reason per line of `file`."""
    return {FAILURES_VARIABLE: str(file)}


def raise_if_any(program: str, file: Path) -> None:
    """Check after the run that no kernel failed. Raises KernelFailedError."""
    if file.exists():
        raise KernelFailedError(program, file.read_text(errors="replace").splitlines()[0])
