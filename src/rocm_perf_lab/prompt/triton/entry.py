"""From a script with a Triton function to its context: profile it, or read an existing profile."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import NoKernelsError
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.profiling.request import ProfileRequest
from rocm_perf_lab.profiling.session import profile
from rocm_perf_lab.prompt.context import Context, cleaned_context
from rocm_perf_lab.prompt.triton.function import function_at
from rocm_perf_lab.prompt.triton.rules import TritonAnswerRules
from rocm_perf_lab.report.documents import Reports
from rocm_perf_lab.report.reading import reports_in
from rocm_perf_lab.report.schema import KernelAnalysis
from rocm_perf_lab.triton_launches import ScriptKernel


@dataclass(frozen=True)
class TritonPromptRequest:
    """profile: a run directory to read instead of running the script."""

    kernel: ScriptKernel
    profile: Path | None = None
    device: str = devices.AUTO
    rules: TritonAnswerRules = TritonAnswerRules()


def context_of_function(request: TritonPromptRequest, note: Callable[[str], None]) -> Context:
    """Errors: those of profiling; NoKernelsError if the function was not launched, SourceError if it is not in its file."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-prompt-") as scratch:
        folder = request.profile or _profiled(request, Path(scratch) / "run", note)
        reports = reports_in(folder)
    analysis = _longest(reports, request.kernel.kernel)
    of_triton = analysis.triton[0]
    function = function_at(Path(of_triton.file), of_triton.function, of_triton.line)
    note(f"kernel {analysis.kernel}, from line {of_triton.line} of {of_triton.file}")
    return cleaned_context(
        reports, _target(analysis, function.name), function, function.code, Path(of_triton.file).resolve().parent, request.rules
    )


def _profiled(request: TritonPromptRequest, destination: Path, note: Callable[[str], None]) -> Path:
    kernel = request.kernel
    words = (str(kernel.python), str(kernel.script), *kernel.arguments)
    profile(ProfileRequest(words, device=request.device, destination=destination), subprocess.DEVNULL, note)
    return destination


def _longest(reports: Reports, name: str) -> KernelAnalysis:
    """The kernel with the most time that was compiled from the function."""
    found = [one for one in reports.analysis.kernels if any(of.function == name for of in one.triton)]
    if not found:
        others = sorted({of.function for one in reports.analysis.kernels for of in one.triton})
        hint = f"name one of {', '.join(others)}" if others else "check that the script runs with `rocm-perf run`"
        raise NoKernelsError(f"the profile has no kernel of a Triton function called {name}", hint)
    return max(found, key=lambda one: one.time_ms or 0.0)


def _target(analysis: KernelAnalysis, name: str) -> Target:
    head = analysis.headroom
    return Target(
        kernel=name,
        demangled=analysis.kernel,
        dispatches=analysis.dispatches,
        time_ms=analysis.time_ms,
        share=analysis.critical_path_score,
        headroom=head.fraction,
        priority=head.priority,
        bottleneck=analysis.bottleneck.name,
    )
