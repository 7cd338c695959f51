"""Opens a new or resumed run: locks its directory and opens its journal until the run ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.journal import Journal


def folder_of(folder: Path | None, name: str) -> Path:
    """The folder that holds the runs for the program `name`: the user's choice, or else the default."""
    return folder or Path(name + run_folder.SUFFIX)


@contextmanager
def open_run(folder: Path, command: str, resume: bool, note: Callable[[str], None]) -> Iterator[tuple[Path, Journal]]:
    """Clean up the remains of killed runs, then begin a run in the folder or continue the newest one.

    Raises OutputError, MissingInputError if there is nothing to resume.
    """
    folder = folder.absolute()
    if restored := run_folder.sweep_after_kills(folder):
        note(f"an earlier run was killed while it replaced several files; restored: {', '.join(map(str, restored))}")
    run = run_folder.unfinished(folder, command) if resume else run_folder.new_run(folder)
    with run_folder.lock_run(run):
        try:
            yield run, Journal(run)
        except KeyboardInterrupt:
            note(f"interrupted: the source is intact, and --resume continues {run}")
            raise
