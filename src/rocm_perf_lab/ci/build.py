"""Builds a revision with the user's commands."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from rocm_perf_lab.ci.folder import working_in
from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.errors import BuildFailedError, MissingInputError, ProgramFailedError, ProgramKilledError

_TAIL_BYTES, _TAIL_LINES = 1 << 14, 20


def build(commands: Sequence[str], folder: Path, log: Path, note: Callable[[str], None]) -> None:
    """Run the commands in `folder`, without a shell; their output goes to `log`.

    Raises MissingInputError, or, after passing the end of the log to `note`, BuildFailedError.
    """
    with log.open("wb") as output, working_in(folder):
        for command in commands:
            note(f"building: {command}")
            output.write(f"$ {command}\n".encode(errors="surrogateescape"))
            output.flush()
            try:
                execute(resolve(shlex.split(command)), os.environ, stdout=output, stderr=output)
            except (ProgramFailedError, ProgramKilledError) as error:
                for line in _tail(log):
                    note(f"  | {line}")
                raise BuildFailedError(command, log) from error
            except MissingInputError as error:
                raise MissingInputError(f"the build cannot start: {error.problem}", error.hint) from error


def _tail(log: Path) -> list[str]:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        text = file.read().decode("utf-8", "surrogateescape")
    return text.splitlines()[-_TAIL_LINES:]
