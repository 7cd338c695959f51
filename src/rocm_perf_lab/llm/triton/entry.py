"""From the user's request to a result, for a Triton function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from rocm_perf_lab.llm.api_keys import ApiKey
from rocm_perf_lab.llm.ask import Consent
from rocm_perf_lab.llm.entry import LlmRequest, run_with
from rocm_perf_lab.llm.file_to_optimize import FileToOptimize
from rocm_perf_lab.llm.result import LlmOptimizeResult
from rocm_perf_lab.llm.triton.answers import TRITON
from rocm_perf_lab.llm.triton.backend import TritonModelBackend
from rocm_perf_lab.optimize.backend import BackendOptions, Log
from rocm_perf_lab.optimize.run_state import Approve
from rocm_perf_lab.optimize.source_settings import SourceSettings
from rocm_perf_lab.optimize.triton.script_file import file_of
from rocm_perf_lab.triton_launches import ScriptKernel


def llm_optimize_function(
    kernel: ScriptKernel,
    request: LlmRequest,
    keys: Mapping[str, ApiKey],
    environment: Mapping[str, str],
    approve: Approve,
    consent: Consent,
    note: Callable[[str], None],
) -> LlmOptimizeResult:
    """Like llm.entry.llm_optimize(), for a Triton function. Also raises errors from finding it and from running the script."""
    timeout = request.backend_options.timeout
    file, found_by = file_of(kernel, request.backend_options.device, timeout)

    def backend(directory: Path, options: BackendOptions, log: Log, runs: Path) -> TritonModelBackend:
        return TritonModelBackend(kernel, file, directory, options, log, note, runs=runs, full_source=request.full_source)

    return run_with(subject_of(kernel, file, found_by), backend, request, keys, environment, approve, consent, note)


def subject_of(kernel: ScriptKernel, file: Path, found_by: str) -> FileToOptimize:
    settings = SourceSettings(build=[], folder=str(file.parent.absolute()), main=str(file.absolute()), units=[])
    known = " ".join((file.read_text("utf-8", "replace"), *kernel.arguments))
    return FileToOptimize(file, found_by, kernel.script.name, TRITON, settings, known)
