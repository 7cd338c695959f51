"""Turns the user's request into a result: finds the source, cleans up after killed runs, starts or resumes a run, and runs the
loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.build_target import BuildTarget, find_build_target, program_of
from rocm_perf_lab.optimize.hip_backend import HipBackend
from rocm_perf_lab.optimize.journal_lines import ProgramLine
from rocm_perf_lab.optimize.loop import COMMAND, OptimizeLoop, OptimizeLoopOptions
from rocm_perf_lab.optimize.measure_script import write_script
from rocm_perf_lab.optimize.open_run import folder_of, open_run
from rocm_perf_lab.optimize.result import OptimizeResult
from rocm_perf_lab.optimize.run_page import page, write_page
from rocm_perf_lab.optimize.run_seed import with_seed
from rocm_perf_lab.optimize.run_state import Approve
from rocm_perf_lab.optimize.source_choice import by_time


@dataclass(frozen=True)
class OptimizeRequest:
    """The user's request.

    command: PROGRAM ARGS..., or SOURCE "PROGRAM ARGS...". source, build: None to find them automatically. folder: where runs
    are kept; None for ./<program>.rocm-perf-optimize. resume: whether to continue the newest run, which must not have ended.
    """

    command: tuple[str, ...]
    source: Path | None = None
    build: str | None = None
    folder: Path | None = None
    resume: bool = False
    backend_options: BackendOptions = field(default_factory=BackendOptions)
    loop: OptimizeLoopOptions = field(default_factory=OptimizeLoopOptions)


def optimize(request: OptimizeRequest, approve: Approve, note: Callable[[str], None]) -> OptimizeResult:
    """Start or resume a run and carry it out.

    Raises whatever finding, building or profiling the program raises. A candidate's failures become verdicts instead.
    """
    build_target = find_build_target(request.command, request.source, request.build, by_time(request.backend_options, note))
    if not request.loop.dry_run:
        run_folder.expect_place_for_results(build_target.source)
    folder = folder_of(request.folder, build_target.name)
    with open_run(folder, COMMAND, request.resume, note) as (run, journal):
        note(f"source: {build_target.source} (by {build_target.found_by}); journal: {run}")
        if journal.last(ProgramLine) is None:  # a resumed run already has this line
            journal.append(_target_line(request, build_target))
        options = replace(
            with_seed(request.backend_options, journal), suggest=not request.backend_options.also, time_first=True
        )
        backend = HipBackend(build_target, run, options, journal.append, note)
        loop = OptimizeLoop(build_target.source, build_target.found_by, run, journal, backend, request.loop, approve, note)
        try:
            result = loop.optimize()
            program, arguments = program_of(request.command, request.source)
            command, asked = (str(program), *arguments), request.backend_options
            script = write_script(run, build_target.source, command, request.build, asked, result.undecided)
            if script is not None:
                note(f"to measure on a GPU what the model cannot decide: {script}")
            note(f"page for browsers: {write_page(run, page(result.document()))}")
            return result
        finally:
            backend.clear()


def _target_line(request: OptimizeRequest, build_target: BuildTarget) -> ProgramLine:
    program, arguments = program_of(request.command, request.source)
    return ProgramLine(
        folder=str(Path.cwd()),
        program=[str(program), *arguments],
        source=str(build_target.source.absolute()),
        build=request.build,
        check=list(request.backend_options.check),
    )
