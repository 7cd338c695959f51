"""Determines which accesses each wait instruction waited for.

A wave counts its outstanding accesses per kind, and `s_waitcnt vmcnt(3)` waits until at most three vector accesses are left.
If accesses of a kind complete in order, the three youngest are left, so the wait was for all older ones and was ended by the
youngest of these. If they can complete in any order, this is unknown unless the wait is for all of them.

gfx9 (LLVM AMDGPUUsage and SIInsertWaitcnts): vmcnt counts vector loads, stores and atomics, which complete in order. lgkmcnt
counts LDS accesses and messages, which complete in order among themselves, and scalar loads, which complete in any order. A
FLAT access is counted in both and may complete in either, in any order. gfx10 and gfx11 count vector stores and atomics without
a return value separately, in vscnt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.thread_trace.cross_check import rows_of
from rocm_perf_lab.analysis.thread_trace.tables import TracedCode, Wave

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

SUPPORTED = (9, 10, 11)

_VECTOR = re.compile(r"(global|scratch|buffer|tbuffer|image)_")
_STORE = re.compile(r"_store|_atomic(?!.*\b(glc|sc0|th:TH_ATOMIC_RETURN)\b)")
_NO_COUNT = re.compile(r"buffer_(inv|wbinvl1|gl[01]_inv)")  # invalidations take effect in order and are not counted
_SCALAR = re.compile(
    r"s_(load|store|buffer_load|buffer_store|scratch_load|scratch_store|atomic|buffer_atomic|memtime|memrealtime|dcache)"
)
_FIELD = re.compile(r"(vmcnt|lgkmcnt|vscnt)\((\d+)\)")


def counters_of(text: str, gfxip: int) -> tuple[tuple[str, ...], bool]:
    """The counters that an instruction increments, and whether it may complete before older accesses that they count."""
    if text.startswith(("v_", ";")):
        return (), False
    if text.startswith("ds_") or text.startswith("s_sendmsg"):
        return ("lgkmcnt",), False
    if _SCALAR.match(text):
        return ("lgkmcnt",), True
    vector = "vscnt" if gfxip >= 10 and _STORE.search(text) else "vmcnt"
    if text.startswith("flat_"):
        return (vector, "lgkmcnt"), True
    if _VECTOR.match(text) and not _NO_COUNT.match(text):
        return (vector,), False
    return (), False


def waits_for(text: str, gfxip: int) -> dict[str, int]:
    """For a wait instruction, counter -> how many accesses may still be outstanding; {} for any other instruction."""
    if not text.startswith("s_waitcnt"):
        return {}
    name, _, operands = text.partition(" ")
    fields = {counter: int(left) for counter, left in _FIELD.findall(operands)}
    if fields:
        return fields
    number = re.search(r"(0x[0-9a-fA-F]+|\d+)\s*$", operands)
    if number is None:
        return {}
    value = int(number[1], 0)
    if name != "s_waitcnt":  # s_waitcnt_vscnt null, 0x0
        counter = name.removeprefix("s_waitcnt_")
        return {counter: value} if counter in ("vmcnt", "lgkmcnt", "vscnt") else {}
    vm, lgkm = value & 0xF | (value >> 14 & 3) << 4, value >> 8 & (0xF if gfxip == 9 else 0x3F)
    most = {"vmcnt": 63, "lgkmcnt": 15 if gfxip == 9 else 63}
    return {counter: left for counter, left in (("vmcnt", vm), ("lgkmcnt", lgkm)) if left < most[counter]}


@dataclass
class _Counter:
    """The records of the counted accesses, oldest first, and whether they may complete in a different order."""

    pending: list[int] = field(default_factory=list)
    any_order: bool = False

    def add(self, record: int, any_order: bool) -> None:
        self.pending.append(record)
        self.any_order |= any_order

    def wait(self, left: int) -> list[int]:
        """The accesses that must have completed since the last wait, oldest first; [] also if that cannot be determined."""
        if left == 0:
            done, self.pending, self.any_order = self.pending, [], False
            return done
        if self.any_order:
            return []
        keep = max(0, len(self.pending) - left)
        done, self.pending = self.pending[:keep], self.pending[keep:]
        return done


@dataclass(frozen=True)
class Wait:
    """One wait by a wave; all numbers are indices into the wave's records.

    accesses: what the wait was for, oldest first; () if nothing was outstanding or this cannot be determined.
    last: the access that ended the wait; None if it is not known.
    """

    record: int
    accesses: tuple[int, ...]
    last: int | None


def waits_of(rows: Integers, counted: Sequence[tuple[tuple[str, ...], bool]], waits: Sequence[dict[str, int]]) -> list[Wait]:
    """The waits of a wave that executed `rows` of the code (-1 if unknown). counted and waits are indexed by row."""
    counters = {name: _Counter() for name in ("vmcnt", "lgkmcnt", "vscnt")}
    matters = np.array([bool(names) or bool(fields) for (names, _), fields in zip(counted, waits, strict=True)] + [False])
    executed_waits = []
    for record in np.flatnonzero(matters[rows]).tolist():
        row = int(rows[record])
        names, any_order = counted[row]
        for name in names:
            counters[name].add(record, any_order)
        if waits[row]:
            executed_waits.append(_wait(record, counters, waits[row]))
    return executed_waits


def _wait(record: int, counters: dict[str, _Counter], fields: dict[str, int]) -> Wait:
    done: list[int] = []
    exact = True
    for name, left in fields.items():
        any_order = counters[name].any_order
        new = counters[name].wait(left)
        exact &= not (new and (done or (any_order and len(new) > 1)))
        done += new
    accesses = tuple(sorted(set(done)))
    return Wait(record, accesses, accesses[-1] if accesses and exact else None)


class WaitChains:
    """The waits of all waves; waves with the same instruction sequence are analysed once."""

    def __init__(self, code: TracedCode, waves: Sequence[Wave], gfxip: int):
        self._counted = [counters_of(text, gfxip) for text in code.text]
        self._waits = [waits_for(text, gfxip) for text in code.text]
        self.code, self.waves = code, waves
        self.rows: list[Integers] = []
        self.of_wave: list[list[Wait]] = []
        known: dict[bytes, tuple[Integers, list[Wait]]] = {}
        for wave in waves:
            rows = rows_of(code, wave)
            key = rows.tobytes()
            if key not in known:
                known[key] = rows, waits_of(rows, self._counted, self._waits)
            self.rows.append(known[key][0])
            self.of_wave.append(known[key][1])
