"""A gate shared by several threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from rocm_perf_lab.gate.source.promises import NONE, Promises
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.optimize.backend import CANNOT_JUDGE, Gate

Answer = TypeVar("Answer")


class LockedGate:
    """A gate for several threads, opened by the first one that needs it. alone: whether only one thread may judge at a time.

    Measurements on a GPU must not overlap; times from the software device do not depend on how busy the machine is.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[Gate]], alone: bool):
        self._opened, self._alone = opened, alone
        self._stack, self._lock = contextlib.ExitStack(), threading.Lock()
        self._gate: Gate | None = None
        self._failure: Exception | None = None

    def __enter__(self) -> LockedGate:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def judge(self, candidate: bytes, promises: Promises = NONE) -> Verdict:
        return self._asked(lambda gate: gate.judge(candidate, promises))

    def first_ratio(self, candidate: bytes, promises: Promises = NONE) -> float | None:
        return self._asked(lambda gate: gate.first_ratio(candidate, promises))

    def _asked(self, question: Callable[[Gate], Answer]) -> Answer:
        with self._lock:
            gate = self._gate = self._gate or self._made()
            if self._alone:
                return question(gate)
        return question(gate)

    def _made(self) -> Gate:
        if self._failure is not None:  # a second attempt would fail the same way
            raise self._failure
        try:
            return self._stack.enter_context(self._opened())
        except CANNOT_JUDGE as error:
            self._failure = error
            raise
