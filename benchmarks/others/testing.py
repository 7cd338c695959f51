"""Runs the cases of a test program within a time limit, each at most once, in as many processes as that takes."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from others import gtest
from others.gtest import Progress
from others.process import run, session


class CannotList(Exception):
    pass


@dataclass
class Binary:
    command: Sequence[str]  # how the program is started, without the test framework's own arguments
    folder: Path  # for its logs
    case_cap: float  # seconds that a case may take
    frame: ModuleType = gtest  # the test framework: gtest, thrust_tests or ggml_tests

    def cases(self, timeout: float) -> list[str]:
        ran = run([*self.command, *self.frame.LIST], self.folder, self.folder / "list.log", timeout)
        if not (names := self.frame.listed(ran.output)):
            raise CannotList(f"exit status {ran.status} after {ran.seconds:.0f} s: {ran.output.strip()[-200:]}")
        return names

    def attempt(self, cases: list[str], cap: float) -> dict[str, tuple[str, str]]:
        """The outcomes of the cases that were reached within `cap` seconds."""
        reached: dict[str, tuple[str, str]] = {}
        until = time.monotonic() + cap
        while (remaining := [case for case in cases if case not in reached]) and time.monotonic() < until:
            new = self._process(remaining[: self.frame.AT_ONCE], until)
            if not new:
                break
            reached |= new
        return reached

    def _process(self, cases: list[str], until: float) -> dict[str, tuple[str, str]]:
        progress = self.frame.Progress(cases)
        command = [*self.command, *self.frame.selection(cases, self.folder / "flags")]
        with (self.folder / "last.log").open("wb") as log:
            status, had_time = self._follow(command, progress, until, log)
        # The last case may have been stopped only because the total time was up, which is not its fault.
        if status is not None or had_time:
            progress.process_ended(status)
        return progress.outcomes

    def _follow(self, command: list[str], progress: Progress, until: float, log) -> tuple[int | None, bool]:
        """Return the exit status (None if stopped), and whether the case then running had its full time."""
        with session(command, self.folder, stdout=subprocess.PIPE) as started, contextlib.closing(started.stdout):
            return _read_progress(started, progress, until, self.case_cap, log)


def _read_progress(started, progress: Progress, until: float, case_cap: float, log) -> tuple[int | None, bool]:
    unfinished, begun = b"", math.inf  # a program may need minutes before its first case
    with selectors.DefaultSelector() as ready:
        ready.register(started.stdout, selectors.EVENT_READ)
        while not progress.broken:
            stop, now = min(until, begun + case_cap), time.monotonic()
            if now >= stop:
                return None, stop < until
            if not ready.select(stop - now):
                continue
            block = os.read(started.stdout.fileno(), 1 << 16)
            if not block:
                return started.wait(), True
            log.write(block)
            *lines, unfinished = (unfinished + block).split(b"\n")
            before = progress.current
            for line in itertools.takewhile(lambda _: not progress.broken, lines):
                progress.line(line.decode(errors="replace"))
            if progress.current != before:
                begun = time.monotonic() if progress.current else math.inf
    return None, False
