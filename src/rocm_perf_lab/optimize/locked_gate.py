"""A gate that several threads share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from rocm_perf_lab.gate.promises import NONE, Promises
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.optimize.backend import CANNOT_JUDGE, Gate


class LockedGate:
    """A gate for several threads, which the first one opens. alone: only one at a time is let in.

    Measurements on a GPU must not meet; the software device's times are the same however busy the machine is.
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
        with self._lock:
            gate = self._gate = self._gate or self._made()
            if self._alone:
                return gate.judge(candidate, promises)
        return gate.judge(candidate, promises)

    def _made(self) -> Gate:
        if self._failure is not None:  # there is nothing that a second attempt would find otherwise
            raise self._failure
        try:
            return self._stack.enter_context(self._opened())
        except CANNOT_JUDGE as error:
            self._failure = error
            raise
