"""Limits how long a run may take: no new work is begun once the time is used up."""

from __future__ import annotations

import time
from collections.abc import Callable


class TimeBudget:
    """seconds: the budget, counted from now; None for no limit."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic):
        self._clock, self._seconds = clock, seconds
        self._end = None if seconds is None else clock() + seconds

    @property
    def used(self) -> bool:
        return self._end is not None and self._clock() >= self._end

    def __str__(self) -> str:
        return f"the budget of {in_words(self._seconds or 0)} is used up"


def in_words(seconds: float) -> str:
    """The time as `90 s`, `10 min` or `2 h`."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
