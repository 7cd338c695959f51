"""Turns the user's request to optimize a Triton function into a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.loop import COMMAND, OptimizeLoop, OptimizeLoopOptions
from rocm_perf_lab.optimize.open_run import folder_of, open_run
from rocm_perf_lab.optimize.result import OptimizeResult
from rocm_perf_lab.optimize.run_page import page, write_page
from rocm_perf_lab.optimize.run_seed import with_seed
from rocm_perf_lab.optimize.run_state import Approve
from rocm_perf_lab.optimize.triton.backend import TritonBackend
from rocm_perf_lab.optimize.triton.script_file import file_of
from rocm_perf_lab.optimize.triton.transforms import TRANSFORMS
from rocm_perf_lab.triton_launches import ScriptKernel


@dataclass(frozen=True)
class TritonOptimizeRequest:
    """folder, resume: as in optimize.entry.OptimizeRequest, with the script's name instead of the program's."""

    kernel: ScriptKernel
    folder: Path | None = None
    resume: bool = False
    backend_options: BackendOptions = field(default_factory=BackendOptions)
    loop: OptimizeLoopOptions = field(default_factory=OptimizeLoopOptions)


def optimize_function(request: TritonOptimizeRequest, approve: Approve, note: Callable[[str], None]) -> OptimizeResult:
    """Start or resume a run and carry it out. Raises whatever finding the function, profiling or the gate's baseline raises."""
    options = request.backend_options
    file, found_by = file_of(request.kernel, options.device, options.timeout)
    if not request.loop.dry_run:
        run_folder.expect_place_for_results(file)
    folder = folder_of(request.folder, request.kernel.script.name)
    with open_run(folder, COMMAND, request.resume, note) as (run, journal):
        note(f"source: {file} (by {found_by}); journal: {run}")
        backend = TritonBackend(request.kernel, file, run, with_seed(options, journal), journal.append, note)
        loop = OptimizeLoop(file, found_by, run, journal, backend, request.loop, approve, note, transformations=TRANSFORMS)
        try:
            result = loop.optimize()
            note(f"page for browsers: {write_page(run, page(result.document()))}")
            return result
        finally:
            backend.clear()
