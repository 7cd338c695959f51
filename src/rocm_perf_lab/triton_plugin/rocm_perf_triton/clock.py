"""The modelled time that kernels have taken so far."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager

from rocm_perf_triton import hip


class Clock:
    """Advances by each launch's time on the device."""

    def __init__(self) -> None:
        self.milliseconds = 0.0
        self.last = 0.0  # the last launch's time, in milliseconds
        self.launches = 0
        self._stopwatch: hip.Stopwatch | None = None

    @contextmanager
    def timed(self, stream: int) -> Iterator[None]:
        """Times the one launch in the `with` block; leaving the block waits for the launch to end."""
        if self._stopwatch is None:
            self._stopwatch = hip.Stopwatch()
            atexit.register(self._stopwatch.close)
        with self._stopwatch.running(stream):
            yield
        self.last = self._stopwatch.milliseconds()
        self.milliseconds += self.last
        self.launches += 1


CLOCK = Clock()
