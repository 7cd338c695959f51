"""A model's code in the place of one kernel. What of it may stand there is the gate's to say."""

from __future__ import annotations

from rocm_perf_lab.hip_source import Edit, SourceKernel


def splice(kernel: SourceKernel, code: str) -> Edit:
    """The edit that puts `code` in the place of the kernel, whose indentation its first line keeps."""
    return Edit(kernel.span.start, kernel.span.end, code.strip("\n"))
