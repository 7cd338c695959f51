"""A gate that several threads share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from rocm_perf_lab.gate.promises import NONE, Promises
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.optimize.backend import Gate


class LockedGate:
    """A gate for several threads, which the first one opens. alone: only one at a time is let in.

    Measurements on a GPU must not meet; the software device's times are the same however busy the machine is.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[Gate]], alone: bool):
        self._opened, self._alone = opened, alone
        self._stack, self._lock = contextlib.ExitStack(), threading.Lock()
        self._gate: Gate | None = None

    def __enter__(self) -> LockedGate:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def judge(self, candidate: bytes, promises: Promises = NONE) -> Verdict:
        with self._lock:
            if self._gate is None:
                self._gate = self._stack.enter_context(self._opened())
            if self._alone:
                return self._gate.judge(candidate, promises)
        return self._gate.judge(candidate, promises)
