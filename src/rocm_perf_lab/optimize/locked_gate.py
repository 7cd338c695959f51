"""A gate shared by several threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.optimize.backend import CANNOT_JUDGE, Gate

Answer = TypeVar("Answer")


class LockedGate:
    """A gate for several threads, opened by the first one that needs it. alone: whether only one thread may judge at a time.

    Measurements on a GPU must not overlap; times from the software device do not depend on how busy the machine is.
    """

    def __init__(self, open_gate: Callable[[], AbstractContextManager[Gate]], one_at_a_time: bool):
        self._open_gate, self._one_at_a_time = open_gate, one_at_a_time
        self._stack, self._lock = contextlib.ExitStack(), threading.Lock()
        self._gate: Gate | None = None
        self._failure: Exception | None = None

    def __enter__(self) -> LockedGate:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def judge(self, candidate: bytes, promises: Promises = NO_PROMISES) -> Verdict:
        return self._ask_gate(lambda gate: gate.judge(candidate, promises))

    def first_ratio(self, candidate: bytes, promises: Promises = NO_PROMISES) -> float | None:
        return self._ask_gate(lambda gate: gate.first_ratio(candidate, promises))

    def _ask_gate(self, question: Callable[[Gate], Answer]) -> Answer:
        with self._lock:
            gate = self._gate = self._gate or self._enter_gate()
            if self._one_at_a_time:
                return question(gate)
        return question(gate)

    def _enter_gate(self) -> Gate:
        if self._failure is not None:  # a second attempt would fail the same way
            raise self._failure
        try:
            return self._stack.enter_context(self._open_gate())
        except CANNOT_JUDGE as error:
            self._failure = error
            raise
