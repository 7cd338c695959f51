"""Where a run keeps its journal and files, and what earlier runs left: APP.rocm-perf-optimize/run-0001, run-0002, ..."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path

from rocm_perf_lab.errors import MissingInputError, OutputError
from rocm_perf_lab.optimize.journal import FILE, Entries
from rocm_perf_lab.optimize.journal_lines import AcceptedLine, BackupLine, BeginLine, EndLine, VerdictLine
from rocm_perf_lab.optimize.optimize_document import EarlierRun, HistoryDocument
from rocm_perf_lab.optimize.source_file import sweep

SUFFIX = ".rocm-perf-optimize"
BY_HAND = "gate"  # what `rocm-perf gate --describe` keeps, beside the runs


def runs_in(folder: Path) -> list[Path]:
    """The runs in it, oldest first; none where there is no such folder."""
    return sorted(path for path in folder.glob("run-*") if re.fullmatch(r"run-\d{4,}", path.name) and (path / FILE).is_file())


def journals_in(folder: Path) -> list[Path]:
    """The journals of the runs in it, oldest first, and then that of what was judged by hand."""
    by_hand = folder / BY_HAND / FILE
    return [*(run / FILE for run in runs_in(folder)), *([by_hand] if by_hand.is_file() else [])]


def new_run(folder: Path) -> Path:
    """Make the next run's directory. Errors: OutputError."""
    while True:
        taken = [int(path.name.removeprefix("run-")) for path in folder.glob("run-*") if path.name[4:].isdigit()]
        run = folder / f"run-{max(taken, default=0) + 1:04}"
        try:
            run.mkdir(parents=True)
            return run
        except FileExistsError:
            if not run.exists():  # `folder` is no folder; else another process was faster
                raise OutputError(f"cannot make {run} ({folder} is a file)", "choose another folder with --output") from None
        except OSError as error:
            raise OutputError(f"cannot make {run} ({error.strerror})", "choose another folder with --output") from error


@contextlib.contextmanager
def held(run: Path) -> Iterator[None]:
    """Nobody else goes on with the run meanwhile; a process that is killed lets go of it. Errors: OutputError."""
    descriptor = os.open(run, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OutputError(f"{run} is under way in another process", "wait, or start without --resume") from error
        yield
    finally:
        os.close(descriptor)


def unfinished(folder: Path, command: str) -> Path:
    """The newest run, to be resumed by the command of rocm-perf that began it.

    Errors: MissingInputError where there is none, it has ended, or it is another command's.
    """
    runs = runs_in(folder)
    if not runs:
        raise MissingInputError(f"{folder} has no run to resume", "start one without --resume")
    journal = Entries(runs[-1])
    if journal.last(EndLine) is not None:
        raise MissingInputError(f"{runs[-1]} has ended: nothing is left to resume", "start another without --resume")
    begin = journal.last(BeginLine)
    began = command if begin is None else begin.command
    if began != command:
        raise MissingInputError(f"{runs[-1]} was begun by `rocm-perf {began}`", f"resume it with `rocm-perf {began} --resume`")
    return runs[-1]


def sweep_after_kills(folder: Path) -> None:
    """Remove the temporary files that killed runs left beside sources and results; those are whole at any moment."""
    for run in runs_in(folder):
        journal = Entries(run)
        backup = journal.last(BackupLine)
        if backup is None or journal.last(EndLine) is not None:
            continue
        source = Path(backup.source)
        for path in (source, *results_of(source)):
            sweep(path)


def results_of(source: Path) -> tuple[Path, Path]:
    """Where the changed source and the patch go that are written beside a source."""
    return source.with_name(f"{source.stem}.optimized{source.suffix}"), source.with_name(f"{source.stem}.optimized.patch")


def expect_place_for_results(source: Path) -> None:
    """Files can be made beside the source, which also --in-place needs. Known before hours of work. Errors: OutputError."""
    folder = source.resolve().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{folder} cannot be written", f"copy {source.name} to a folder of yours, where the result will be")


def history(folder: Path) -> HistoryDocument:
    """One entry a run: when it began, on what, and how it ended."""
    return HistoryDocument([_entry(run) for run in runs_in(folder)])


def _entry(run: Path) -> EarlierRun:
    journal = Entries(run)
    begin, end = journal.last(BeginLine), journal.last(EndLine)
    return EarlierRun(
        run=str(run),
        began=begin.time if begin else None,
        source=begin.source if begin else None,
        judged=len(journal.of(VerdictLine)),
        accepted=[line.description for line in journal.of(AcceptedLine)],
        baseline_ms=end.baseline_ms if end else None,
        final_ms=end.final_ms if end else None,
        timing=end.timing if end else None,
        ended=end is not None,
    )
