"""The folders in which runs keep their journals and files: APP.rocm-perf-optimize/run-0001, run-0002, ..."""

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
from rocm_perf_lab.optimize.source_file import restore, sweep

SUFFIX = ".rocm-perf-optimize"
BY_HAND = "gate"  # this folder, next to the runs, holds what `rocm-perf gate --describe` keeps


def runs_in(folder: Path) -> list[Path]:
    """The runs in the folder, oldest first; empty if the folder does not exist."""
    return sorted(path for path in folder.glob("run-*") if re.fullmatch(r"run-\d{4,}", path.name) and (path / FILE).is_file())


def journals_in(folder: Path) -> list[Path]:
    """The journals of the runs in the folder, oldest first, then the journal of candidates judged by `rocm-perf gate`."""
    by_hand = folder / BY_HAND / FILE
    return [*(run / FILE for run in runs_in(folder)), *([by_hand] if by_hand.is_file() else [])]


def new_run(folder: Path) -> Path:
    """Create the next run's directory. Raises OutputError."""
    while True:
        numbers = [int(path.name.removeprefix("run-")) for path in folder.glob("run-*") if path.name[4:].isdigit()]
        run = folder / f"run-{max(numbers, default=0) + 1:04}"
        try:
            run.mkdir(parents=True)
            return run
        except FileExistsError:
            if not run.exists():  # `folder` is a file; if `run` exists, another process created it first
                raise OutputError(f"cannot make {run} ({folder} is a file)", "choose another folder with --output") from None
        except OSError as error:
            raise OutputError(f"cannot make {run} ({error.strerror})", "choose another folder with --output") from error


@contextlib.contextmanager
def lock_run(run: Path) -> Iterator[None]:
    """Lock the run against other processes; the lock is released when the process ends, if not before. Raises OutputError."""
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
    """The newest run, which may only be resumed by the rocm-perf command that began it.

    Raises MissingInputError if there is no run, or if the newest one has ended or belongs to a different command.
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


def sweep_after_kills(folder: Path) -> list[Path]:
    """Remove the temporary files that killed runs left next to sources and results (which themselves are never incomplete). If
    a run was killed after it had replaced only some of the sources that change together, restore those and return their paths.
    """
    restored = []
    for run in runs_in(folder):
        journal = Entries(run)
        backups = journal.of(BackupLine)
        if not backups or journal.last(EndLine) is not None or _is_locked(run):
            continue
        restored += restore(journal)
        for source in (Path(backup.source) for backup in backups):
            for path in (source, *results_of(source)):
                sweep(path)
    return restored


def _is_locked(run: Path) -> bool:
    """Whether a process is working on the run."""
    try:
        with lock_run(run):
            return False
    except OutputError:
        return True


def results_of(source: Path) -> tuple[Path, Path]:
    """The paths of the changed source and of the patch, which are written next to the source."""
    return source.with_name(f"{source.stem}.optimized{source.suffix}"), source.with_name(f"{source.stem}.optimized.patch")


def expect_place_for_results(source: Path) -> None:
    """Before hours of work begin, check that files can be created next to the source; --in-place requires this, too. Raises
    OutputError.
    """
    folder = source.resolve().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OutputError(f"{folder} cannot be written", f"copy {source.name} to a folder of yours for the result")


def history(folder: Path) -> HistoryDocument:
    """One entry per run: when it began, which source it was for, and how it ended."""
    return HistoryDocument([_earlier_run(run) for run in runs_in(folder)])


def _earlier_run(run: Path) -> EarlierRun:
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
        stop=end.stop if end else None,
    )
