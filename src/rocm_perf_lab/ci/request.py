"""What to build and profile."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.comparison.limits import Limit
from rocm_perf_lab.errors import UsageError

_NAMED = re.compile(r"([A-Za-z0-9][\w.-]*)=(\S.*)", re.DOTALL)


@dataclass(frozen=True)
class CiProgram:
    """name: identifies its results. command: the program (relative to the top of the checkout) and its arguments."""

    name: str
    command: str

    @classmethod
    def of(cls, text: str) -> CiProgram:
        """Parse 'NAME=COMMAND', or just a command, which is then named after its program. Raises UsageError."""
        if named := _NAMED.fullmatch(text.strip()):
            return cls(*named.groups())
        words = text.split()
        if not words:
            raise UsageError("a program is empty", "give its command, such as './app --size 64'")
        return cls(Path(words[0]).name, text.strip())


@dataclass(frozen=True)
class CiRequest:
    """base, head: names of revisions. builds: commands that build a revision, run one after the other.
    output: the folder for everything that is written. timeout: seconds for each run of a program.
    """

    base: str
    head: str
    builds: Sequence[str]
    programs: Sequence[CiProgram]
    limits: Sequence[Limit]
    output: Path
    device: str = devices.AUTO
    device_options: Sequence[str] = ()
    runs: int | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        for command in (*self.builds, *(program.command for program in self.programs)):
            _expect_words(command)
        names = [program.name for program in self.programs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise UsageError(f"two programs are called {twice[0]}", f"name them, such as {twice[0]}-small='COMMAND'")


def _expect_words(command: str) -> None:
    """Raise UsageError for a command that is empty or cannot be split into words."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"`{command}` is not a command ({error})", "balance its quotes") from error
    if not words:
        raise UsageError("a command is empty", "name a program, or leave the option out")
