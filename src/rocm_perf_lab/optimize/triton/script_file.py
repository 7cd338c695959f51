"""Finds the file that contains a Triton function: the script, or a module that it imports."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rocm_perf_lab.errors import NoKernelsError, SourceError
from rocm_perf_lab.gate.triton_kernel.device import software_device
from rocm_perf_lab.gate.triton_kernel.launching_script import launching
from rocm_perf_lab.hip_source.source import content_of
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptKernel, ScriptTimeoutError
from rocm_perf_lab.triton_source import TritonSource

_SECONDS = 120.0  # timeout for the script's first launch


def file_of(kernel: ScriptKernel, device: str, timeout: float | None) -> tuple[Path, str]:
    """The file, and how it was found. The script is run up to its first launch if it does not contain the function itself.

    Raises NoKernelsError, SourceError and, for a device on which launches cannot be repeated, UnavailableError.
    """
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as name:
        scratch = Path(name)
        chosen = software_device(device, scratch)
        if _has_kernel(kernel.script, kernel.kernel):
            return kernel.script, "name"
        try:
            with launching(kernel, chosen, scratch, scratch, (), None, timeout or _SECONDS) as script:
                launched = script.next()
        except (ScriptExitedError, ScriptTimeoutError) as error:
            raise SourceError(f"{kernel.script} {error}", "make it run with `rocm-perf run` first") from error
    if isinstance(launched, int):
        message = f"{kernel.script} launches no kernel called {kernel.kernel} (status {launched})"
        raise NoKernelsError(message, "check the name, and that the script runs with `rocm-perf run`")
    file = Path(launched.fields["file"])
    if file.resolve().is_relative_to(kernel.python.parent.parent.resolve()):
        message = f"{kernel.kernel} is in {file}, which belongs to a package installed for {kernel.python}"
        raise SourceError(message, "copy the function into a file of yours")
    return file, "what it launches"


def _has_kernel(script: Path, name: str) -> bool:
    return [kernel.name for kernel in source_of(script).kernels].count(name) == 1


def source_of(path: Path) -> TritonSource:
    """Raises SourceError."""
    try:
        return TritonSource(path, content_of(path))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}", f"name an existing script ({os.getcwd()} is the folder)") from error
