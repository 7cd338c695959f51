"""Lets programs that are run several times read a pipe on this process's standard input: each run gets the same data.

Data is taken from the pipe only once a run has read it, and is then kept for the other runs; the rest stays in the pipe for
other readers, such as the shell's own `while read`. To make this possible, a run gets a copy of the data (tee(2)), and whatever
part of the copy it reads is then taken from the pipe.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import os
import select
import stat
import struct
import tempfile
import termios
import threading
from collections.abc import Iterator

from rocm_perf_lab.errors import UsageError

_MAX_STORED_BYTES = 256 << 20
_AT_ONCE = 1 << 16  # a pipe's usual capacity
_LOOK_SECONDS = 0.002
_NONBLOCK = 2  # SPLICE_F_NONBLOCK


class PipedInput:
    """The input from one descriptor. All runs share it, including concurrent ones."""

    def __init__(self, source: int):
        self._source, self._kept, self._size, self._at_end = source, tempfile.TemporaryFile(), 0, False
        self._lock = threading.Lock()  # protects the kept data and the source, which continues where that data ends

    @contextlib.contextmanager
    def for_a_run(self) -> Iterator[int]:
        """A descriptor that supplies all the data from the start. Raises UsageError if there is too much data to keep."""
        relay = _Relay(self)
        relay.start()
        try:
            yield relay.read_end
        finally:
            relay.end()
        if self._size > _MAX_STORED_BYTES:
            message = f"more than {_MAX_STORED_BYTES >> 20} MiB were read from the pipe on standard input"
            raise UsageError(message, "give it as a file: < FILE")

    @property
    def is_used_up(self) -> bool:
        return self._at_end or self._size > _MAX_STORED_BYTES

    def stored(self, offset: int) -> bytes:
        """A part of the kept data, starting at `offset`; b"" if there is none."""
        return os.pread(self._kept.fileno(), min(_AT_ONCE, self._size - offset), offset)

    def copy(self, offset: int, pipe: int) -> int:
        """Copy the next data into `pipe` without taking it from the source. Returns the number of bytes copied; 0 if there
        is no data, or if the next data does not begin at `offset`.
        """
        if not select.select([self._source], [], [], 10 * _LOOK_SECONDS)[0]:
            return 0
        with self._lock:
            if offset != self._size or self.is_used_up:
                return 0
            copied = _tee(self._source, pipe)
            self._at_end = copied == 0
            return copied

    def take_up_to(self, offset: int) -> None:
        with self._lock:
            while self._size < offset and (part := os.read(self._source, offset - self._size)):
                os.pwrite(self._kept.fileno(), part, self._size)
                self._size += len(part)


class _Relay(threading.Thread):
    """Fills the pipe that one run reads."""

    def __init__(self, piped: PipedInput):
        super().__init__(daemon=True)
        self._piped, self._ended = piped, threading.Event()
        self.read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)

    def run(self) -> None:
        offset = 0
        try:
            while not self._ended.is_set():
                is_all_kept = self._piped.is_used_up  # must be read before stored(): another run may take the last data
                if part := self._piped.stored(offset):
                    offset += self._write_some(part)
                elif is_all_kept:
                    return
                elif self._wait_until_read():
                    copied = self._piped.copy(offset, self._write_end)
                    self._wait_until_read()
                    offset += copied - _unread(self.read_end)
                    self._piped.take_up_to(offset)
        finally:
            os.close(self._write_end)

    def end(self) -> None:
        self._ended.set()
        self.join()
        os.close(self.read_end)

    def _write_some(self, part: bytes) -> int:
        try:
            return os.write(self._write_end, part)
        except BlockingIOError:
            self._ended.wait(_LOOK_SECONDS)
            return 0

    def _wait_until_read(self) -> bool:
        """Wait until the run has read everything in its pipe; return False if the run ends first."""
        while _unread(self.read_end) and not self._ended.is_set():
            self._ended.wait(_LOOK_SECONDS)
        return not self._ended.is_set()


def of_standard_input() -> PipedInput | None:
    """The piped input (the same object while standard input stays the same), or None if standard input is not a pipe."""
    try:
        status = os.fstat(0)
    except OSError:
        return None
    return _of_pipe(status.st_dev, status.st_ino) if stat.S_ISFIFO(status.st_mode) else None


@functools.lru_cache(maxsize=1)
def _of_pipe(_device: int, _number: int) -> PipedInput:
    return PipedInput(0)


def _unread(pipe: int) -> int:
    unread: int = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]
    return unread


def _tee(source: int, target: int) -> int:
    """The number of bytes copied; 0 at the end of the source."""
    libc = ctypes.CDLL(None, use_errno=True)
    copied: int = libc.tee(source, target, ctypes.c_size_t(_AT_ONCE), _NONBLOCK)
    if copied < 0:
        raise OSError(ctypes.get_errno(), "tee")
    return copied
