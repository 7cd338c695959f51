"""Handles a child process without missing signals while the child is being started or waited for."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType

_LOOK_SECONDS = 0.5
_of_thread = threading.local()
_Handler = Callable[[int, FrameType | None], object] | int | None  # what signal.signal() takes and returns


class DeferredInterrupts:
    """Inside a `with` block of this class, SIGINT, SIGTERM and SIGHUP are held back; deliver() lets them take effect.

    A child must be known before it can be stopped, so deliver() belongs inside the `try` block that stops it.
    """

    def __init__(self) -> None:
        self._received: list[int] = []
        self._previous: dict[int, _Handler] = {}

    def __enter__(self) -> DeferredInterrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if callable(signal.getsignal(number)):  # ignored signals stay ignored, in the child as well
                    self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._restore()

    def deliver(self) -> None:
        """Let signals take effect from here on, starting with those received in the meantime."""
        self._restore()
        received, self._received = self._received, []
        for number in received:
            signal.raise_signal(number)

    def check(self) -> None:
        """Let any signals received so far take effect; call this where it is safe for them to do so."""
        if self._received:
            self.deliver()

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._received.append(number)

    def _restore(self) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}


@contextlib.contextmanager
def stoppable(stopped: threading.Event) -> Iterator[None]:
    """Once `stopped` is set, wait() in this thread ends as if by Ctrl-C. This is needed because signals reach only the main
    thread.
    """
    _of_thread.stopped = stopped
    try:
        yield
    finally:
        del _of_thread.stopped


def raise_if_stopped() -> None:
    """Raise KeyboardInterrupt if this thread has been told to stop; see stoppable()."""
    stopped = getattr(_of_thread, "stopped", None)
    if stopped is not None and stopped.is_set():
        raise KeyboardInterrupt


def wait(process: subprocess.Popen[bytes], timeout: float | None = None, look: Callable[[], None] | None = None) -> int:
    """Wait for the process and return its exit status.

    Raises subprocess.TimeoutExpired, and KeyboardInterrupt as described in stoppable().

    look: called twice a second while the process runs; an exception that it raises ends the wait.

    If a signal arrives just before Popen.wait() goes to sleep, the call does not wake up, because Python runs the handler only
    after the system call. This function wakes up twice a second, but still notices the end of the process at once.
    """
    deadline = math.inf if timeout is None else time.monotonic() + timeout
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while True:
            raise_if_stopped()
            if look is not None:
                look()
            left = min(_LOOK_SECONDS, max(0.0, deadline - time.monotonic()))
            if poll.poll(left * 1000):
                return process.wait()
            if timeout is not None and time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(process.args, timeout)
    finally:
        os.close(descriptor)
