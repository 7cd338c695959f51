"""What became of the further runs of a program that a profile wants beside its base run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

COUNTERS, THREAD_TRACE = "counters", "thread trace"


@dataclass(frozen=True)
class Pass:
    """One run under a collector, of `kind` COUNTERS or THREAD_TRACE.

    output: the database, or the folder of the thread trace; None where nothing came of it, and `reason` then says why.
    counters: what was asked for. missing: those of them that were not collected, and why. kernel: what was traced.
    doubt: why what was collected may be wrong.
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
    """Which dispatch to trace, and where: a shader engine has one compute unit that is traced in detail.

    symbol, name: of the kernel, mangled and demangled, without '.kd'. iteration: the how-manieth dispatch of it, from 1.
    simds: a mask of SIMDs on gfx9, the number of one from gfx10 on.
    """

    symbol: str
    name: str
    iteration: int
    cu: int
    simds: int
