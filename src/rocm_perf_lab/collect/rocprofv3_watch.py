"""Follows the stderr of a program that runs under rocprofv3, to show it to the user and to notice when the program is dead.

rocprofiler-sdk 1.0 and 1.1 can deadlock in a program that is otherwise dead: in their handler for the fatal signal, or while
waiting for a dispatch that will never complete. The program's last messages show that it is dead.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab.collect.rocprofv3_log import ProcessDeath, death, is_chatter, may_become_chatter
from rocm_perf_lab.errors import ProgramKilledError

_GRACE_SECONDS = 5.0
_AT_ONCE = 1 << 20
_MAX_LINE_BYTES = 1 << 16
_LINES = re.compile(rb"(?<=[\r\n])")


class Rocprofv3Watch:
    """Watches `log` as it grows. show: receives what the program itself writes there; None to discard it."""

    def __init__(self, log: Path, program: str, show: Callable[[bytes], None] | None = None):
        self._log, self._program, self._show = log, program, show
        self._offset = 0
        self._begun, self._shown = b"", 0  # an unterminated line, and how much of it was shown
        self._deaths: dict[ProcessDeath, float] = {}

    def look(self, pid: int) -> None:
        """pid: the run's first process. Raises ProgramKilledError if that process should have ended some seconds ago.

        Any other process of the run that should have ended is killed, because its parent may be waiting for it.
        """
        self.read()
        for dead, since in list(self._deaths.items()):
            if time.monotonic() - since < _GRACE_SECONDS:
                continue
            if dead.process in (None, pid):
                raise ProgramKilledError(self._program, dead.signal)
            del self._deaths[dead]
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if os.getsid(dead.process) == pid:
                    os.kill(dead.process, signal.SIGKILL)

    def read(self) -> None:
        """Process what has been written since the last call."""
        with contextlib.suppress(FileNotFoundError), self._log.open("rb") as stream:
            stream.seek(self._offset)
            while data := stream.read(_AT_ONCE):
                self._offset += len(data)
                self._process_data(data)

    def finish(self) -> None:
        """Process the rest, including an unterminated line. Call this once nothing more will be written."""
        self.read()
        if self._show is not None and self._begun and not is_chatter(self._begun):
            self._show(self._begun[self._shown :])
        self._begun, self._shown = b"", 0

    def _process_data(self, data: bytes) -> None:
        *lines, unfinished = _LINES.split(self._begun + data)
        shown, output = self._shown, []
        for line in lines:
            self._note(line)
            if shown or not is_chatter(line):
                output.append(line[shown:])
            shown = 0
        if len(unfinished) > _MAX_LINE_BYTES or not may_become_chatter(unfinished):
            output.append(unfinished[shown:])
            shown = len(unfinished)
        self._begun, self._shown = (b"", 0) if len(unfinished) > _MAX_LINE_BYTES else (unfinished, shown)
        if self._show is not None:
            self._show(b"".join(output))

    def _note(self, line: bytes) -> None:
        dying = death(line.decode(errors="replace").rstrip())
        if dying is not None:
            self._deaths.setdefault(dying, time.monotonic())


def to_descriptor(descriptor: int) -> Callable[[bytes], None]:
    """A function that writes to the descriptor as a child that inherited it would; output that nobody reads is dropped."""

    def write(data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(descriptor, data) :]

    return write
