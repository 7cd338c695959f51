"""The outcome of the additional runs of a program that a profile needs besides its base run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

COUNTERS, THREAD_TRACE = "counters", "thread trace"


@dataclass(frozen=True)
class Pass:
    """One run under a collector; `kind` is COUNTERS or THREAD_TRACE.

    output: the database, or the folder of the thread trace; None if the run produced nothing, and `reason` then says why.
    counters: the counters that were requested. missing: those that were not collected, and why. kernel: the traced kernel.
    doubt: why the collected data may be wrong.
    """

    kind: str
    output: Path | None
    reason: str | None = None
    counters: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    kernel: str | None = None
    doubt: str | None = None

    @classmethod
    def failed_counters(cls, names: tuple[str, ...], reason: str) -> Pass:
        return cls(COUNTERS, None, reason, names, dict.fromkeys(names, reason))


@dataclass(frozen=True)
class ThreadTraceTarget:
    """Which dispatch to trace, and where: each shader engine has one compute unit that is traced in detail.

    symbol, name: the kernel's mangled and demangled name, without '.kd'. iteration: which of its dispatches, counted from 1.
    simds: a mask of SIMDs on gfx9 and on the software device, the number of a single SIMD from gfx10 on. also_traced: further
    kernels to trace in the same run, if possible: their mangled names, and which dispatch of each.
    """

    symbol: str
    name: str
    iteration: int
    cu: int
    simds: int
    also_traced: Mapping[str, int] = field(default_factory=dict)
