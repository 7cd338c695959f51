"""From what the user asks for to an outcome: find the source, sweep up after killed runs, start or resume a run, loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.hip_workbench import HipWorkbench
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.outcome import Outcome
from rocm_perf_lab.optimize.run import Approve
from rocm_perf_lab.optimize.run_seed import with_seed
from rocm_perf_lab.optimize.session import COMMAND, LoopOptions, Session
from rocm_perf_lab.optimize.subject import Subject, find_subject
from rocm_perf_lab.optimize.workbench import BenchOptions


@dataclass(frozen=True)
class Request:
    """words: PROGRAM ARGS..., or SOURCE "PROGRAM ARGS...". source, build: None to find them. folder: where runs are kept,
    None for ./<program>.rocm-perf-optimize. resume: go on with the newest run, which must not have ended."""

    words: tuple[str, ...]
    source: Path | None = None
    build: str | None = None
    folder: Path | None = None
    resume: bool = False
    bench: BenchOptions = field(default_factory=BenchOptions)
    loop: LoopOptions = field(default_factory=LoopOptions)


def folder_of(folder: Path | None, name: str) -> Path:
    return folder or Path(name + run_folder.SUFFIX)


def optimize(request: Request, approve: Approve, note: Callable[[str], None]) -> Outcome:
    """Errors: those of finding, building and profiling the program; a candidate's failures are verdicts."""
    subject: Subject = find_subject(request.words, request.source, request.build)
    if not request.loop.dry_run:
        run_folder.expect_place_for_results(subject.source)
    folder = folder_of(request.folder, subject.name).absolute()
    run_folder.sweep_after_kills(folder)
    run = run_folder.unfinished(folder, COMMAND) if request.resume else run_folder.new_run(folder)
    with run_folder.held(run):
        note(f"source: {subject.source} (by {subject.found_by}); journal: {run}")
        journal = Journal(run)
        options = replace(with_seed(request.bench, journal), suggest=not request.bench.also)
        bench = HipWorkbench(subject, run, options, journal.append, note)
        session = Session(subject.source, subject.found_by, run, journal, bench, request.loop, approve, note)
        try:
            return session.optimize()
        except KeyboardInterrupt:
            note(f"interrupted: the source is whole, and --resume goes on with {run}")
            raise
        finally:
            bench.clear()
