"""Profiles a script that launches Triton functions."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab.errors import NoKernelsError
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.triton_launches import ScriptKernel


def profile_script(
    kernel: ScriptKernel, device: str, destination: Path, timeout: float | None, note: Callable[[str], None]
) -> CoreDocuments:
    """The profile of the script that launches the kernel. destination: the run directory to create.

    Raises whatever profiling raises; if the script launches nothing, the error names the script.
    """
    from rocm_perf_lab.profiling.request import ProfileRequest
    from rocm_perf_lab.profiling.session import profile

    request = ProfileRequest(kernel.program(), device=device, destination=destination, timeout=timeout)
    try:
        documents, _ = profile(request, subprocess.DEVNULL, note)
    except NoKernelsError as error:
        message = f"{kernel.script} launches no kernel, neither {kernel.kernel} nor any other"
        raise NoKernelsError(message, "name the script that launches it, with its arguments") from error
    return documents
