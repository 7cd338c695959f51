"""Goes from a script with a Triton function to the function's context: profiles the script or reads an existing profile."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.optimize.triton.backend import longest, target_of
from rocm_perf_lab.optimize.triton.script_file import source_of
from rocm_perf_lab.optimize.triton.script_profile import profile_script
from rocm_perf_lab.prompt.context import Context, cleaned_context
from rocm_perf_lab.prompt.tried_changes import TriedChange
from rocm_perf_lab.prompt.triton.function import function_at
from rocm_perf_lab.prompt.triton.rules import TritonAnswerRules
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.read_run_directory import reports_in
from rocm_perf_lab.triton_launches import ScriptKernel
from rocm_perf_lab.triton_source import TritonSource


@dataclass(frozen=True)
class TritonPromptRequest:
    """profile: a run directory to read instead of profiling the script."""

    kernel: ScriptKernel
    profile: Path | None = None
    device: str = devices.AUTO
    rules: TritonAnswerRules = TritonAnswerRules()


def context_of_function(request: TritonPromptRequest, note: Callable[[str], None]) -> Context:
    """The context for a request. Raises whatever profiling raises, NoKernelsError if the function was not launched, and
    SourceError if its file does not contain it.
    """
    with tempfile.TemporaryDirectory(prefix="rocm-perf-prompt-") as scratch:
        run_directory = Path(scratch) / "run"
        if request.profile is None:
            profile_script(request.kernel, request.device, run_directory, None, note)
        reports = reports_in(request.profile or run_directory)
    file = Path(longest(reports, request.kernel.kernel).triton[0].file)
    return context_in(reports, source_of(file), request.kernel.kernel, request.rules, note)


def context_in(
    reports: CoreDocuments, source: TritonSource, name: str, rules: TritonAnswerRules, note: Callable[[str], None],
    tried: Sequence[TriedChange] = (),
) -> Context:  # fmt: skip
    """The context of the function, as defined in the given text of its file. Raises NoKernelsError if the function was not
    launched, and SourceError if the text does not contain it.
    """
    analysis = longest(reports, name)
    of_triton = analysis.triton[0]
    function = function_at(source, of_triton.function, of_triton.line)
    note(f"kernel {analysis.kernel}, from line {of_triton.line} of {source.path}")
    target = target_of(analysis, function.name, source.path.name)
    return cleaned_context(reports, target, function, function.code, source.path.resolve().parent, rules, tried)
