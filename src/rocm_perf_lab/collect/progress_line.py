"""While programs run on the software device, shows on a terminal how far the current dispatch has progressed.

The device keeps its progress in one page of a file (native/device/runtime/reports/progress_page.h); a thread polls that page
and updates one line at the bottom of the terminal. The lines above it scroll as if the terminal were shorter, so the program's
output stays intact. Nothing is shown if standard error is not a terminal.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.text.names import fitted, short_name, shorten

VARIABLE = "ROCM_PERF_DEVICE_PROGRESS"

_PAGE = struct.Struct("<IIQQQQ256s")
_PAGE_BYTES = 4096
_LOOK_SECONDS = 0.25
_PATIENCE_SECONDS = 1.5  # no line for dispatches that finish sooner
_NAME = "progress"
_MIN_NAME_WIDTH, _MIN_LABEL_WIDTH = 8, 12
_NO_LIMIT = 1 << 16


@dataclass(frozen=True)
class Progress:
    """dispatch: its number in the process, from 1. done, total: workgroups. instructions: how many its waves have executed."""

    dispatch: int
    kernel: str
    done: int
    total: int
    instructions: int

    def text(self, width: int) -> str:
        """The progress, in at most `width` characters if possible: the kernel's name is shortened, not the numbers."""
        before, after = (
            f"dispatch {self.dispatch}",
            f", {self.done:,} of {self.total:,} workgroups, {_shortened(self.instructions)} instructions",
        )
        name = short_name(self.kernel)  # empty for code that was not loaded through the runtime
        room = max(_MIN_NAME_WIDTH, width - len(before) - len(after) - 1)
        return before + (f" {fitted([name], room)[name]}" if name else "") + after


def progress_in(page: bytes) -> Progress | None:
    """The progress that a page shows; None while no dispatch is running, or while the page is being written."""
    version, _process, dispatch, done, total, instructions, name = _PAGE.unpack_from(page)
    if version % 2 or not total:
        return None
    kernel = name.partition(b"\0")[0].decode(errors="replace")
    return Progress(dispatch, "".join(c if c.isprintable() else "?" for c in kernel), min(done, total), total, instructions)


def _shortened(count: int) -> str:
    """A fast-growing count, shown in millions from 100 million on."""
    return f"{count // 10**6:,} M" if count >= 10**8 else f"{count:,}"


def is_wanted() -> bool:
    """Whether there is a terminal that can show progress."""
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def variables(scratch: Path) -> dict[str, str]:
    """Environment variables for programs on the software device; {} if there is no terminal that can show progress. Otherwise,
    this function creates a page in `scratch` and starts watching it.
    """
    if not is_wanted():
        return {}
    page = scratch / _NAME
    if not page.exists():
        page.write_bytes(bytes(_PAGE_BYTES))
    _watcher.watch(page)
    return {VARIABLE: str(page)}


def pages(scratch: Path) -> tuple[Path, ...]:
    """The files that programs in a cage must be allowed to write for their progress to be shown."""
    page = scratch / _NAME
    return (page,) if page.exists() else ()


def step(text: str) -> None:
    """Set the current step, shown at the beginning of the line."""
    _watcher.step(text)


def _line(label: str, seconds: float, progress: Progress, width: int) -> str:
    """The progress line with as much of the label as fits (all, the beginning or none); the progress is cut if necessary."""
    time_ = f"{seconds:.0f} s: "
    status = time_ + progress.text(_NO_LIMIT)
    room = width - len(status) - len(", ")
    cut = shorten(label, room) if room >= _MIN_LABEL_WIDTH else ""
    if shown_label := next((shown_label for shown_label in (label, label.partition(": ")[0]) if len(shown_label) <= room), cut):
        return f"{shown_label}, {status}"
    return (time_ + progress.text(width - len(time_)))[:width]


@dataclass
class _Watcher:
    """Polls the newest page in a thread, which is started when there is a first page to watch."""

    label: str = ""
    began: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)
    page: mmap.mmap | None = None
    thread: threading.Thread | None = None

    def watch(self, path: Path) -> None:
        with path.open("rb") as file, self.lock:
            self.page = mmap.mmap(file.fileno(), _PAGE_BYTES, prot=mmap.PROT_READ)
        if self.thread is None:
            self.thread = threading.Thread(target=self._run, daemon=True)
            self.thread.start()
            atexit.register(self._leave)

    def step(self, text: str) -> None:
        with self.lock, contextlib.suppress(OSError):
            self.label, self.began = text, time.monotonic()
            _bottom_line.leave()

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            with self.lock, contextlib.suppress(OSError, ValueError):  # the terminal is gone
                self._look()

    def _look(self) -> None:
        progress = progress_in(self.page[: _PAGE.size]) if self.page is not None else None
        seconds = time.monotonic() - self.began
        if progress is None or seconds < _PATIENCE_SECONDS:
            return
        _bottom_line.show(lambda width: _line(self.label, seconds, progress, width))

    def _leave(self) -> None:
        with self.lock, contextlib.suppress(OSError, ValueError):
            _bottom_line.leave()


@dataclass
class _BottomLine:
    """The last line of the terminal, excluded from scrolling."""

    rows: int = 0

    def show(self, text: Callable[[int], str]) -> None:
        size = os.get_terminal_size(sys.stderr.fileno())
        if size.lines < 4:
            return
        keep = "" if size.lines == self.rows else self._reserve(size.lines)
        _write(f"{keep}\x1b7\x1b[{size.lines};1H\x1b[2m{text(size.columns - 1)}\x1b[0m\x1b[K\x1b8")

    def _reserve(self, rows: int) -> str:
        """Scroll to free the last line; the cursor is restored, then moved up by one line because its text has moved up."""
        self.rows = rows
        return f"\n\x1b7\x1b[1;{rows - 1}r\x1b8\x1b[1A"

    def leave(self) -> None:
        if self.rows:
            _write(f"\x1b7\x1b[r\x1b[{self.rows};1H\x1b[2K\x1b8")
            self.rows = 0


def _write(text: str) -> None:
    os.write(sys.stderr.fileno(), text.encode(errors="replace"))


_watcher, _bottom_line = _Watcher(), _BottomLine()
