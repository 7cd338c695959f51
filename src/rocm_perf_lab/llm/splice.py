"""Replaces one kernel with a model's code. The gate decides what the code may contain."""

from __future__ import annotations

from rocm_perf_lab.hip_source import Edit, SourceKernel


def splice(kernel: SourceKernel, code: str) -> Edit:
    """The edit that replaces the kernel with `code`; the first line keeps the kernel's indentation."""
    return Edit(kernel.span.start, kernel.span.end, code.strip("\n"))
