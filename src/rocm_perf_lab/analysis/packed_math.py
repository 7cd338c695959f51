"""How many of a kernel's floating-point instructions are packed: v_pk_* perform two operations per lane but count once.

A thread trace records how often each instruction ran. Without one, the code gives an answer only for those kinds of operation
whose instructions are either all packed or all plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rocm_perf_lab.analysis.counters import SymbolCounters

_OPERATIONS = {"add": "add|sub|subrev", "mul": "mul|mul_legacy", "fma": "fma|fmac|fmamk|fmaak|mad|mac|madmk|madak|fma_mix"}
_KINDS = [(operation, precision) for operation in _OPERATIONS for precision in ("f16", "f32")]
_FORMS = {
    kind: re.compile(rf"v_(pk_)?(?:{_OPERATIONS[kind[0]]})_{kind[1]}(?:_e32|_e64|_dpp|_sdwa)?(?:\s|$)") for kind in _KINDS
}
ONCE = "packed instructions (v_pk_*) count once although they do two operations"
TRACED, WRITTEN = "the thread trace", "its code"


@dataclass(frozen=True)
class Packing:
    """shares: for each counter, the packed share of its count; unknown shares are left out. source: where they come from."""

    shares: dict[str, float]
    source: str


def from_executed(executed: Iterable[tuple[str, int]]) -> Packing:
    """executed: instructions, each with the number of times it ran. Kinds that did not run are left out."""
    return Packing({name: packed / (packed + plain) for name, (plain, packed) in _count(executed).items()}, TRACED)


def from_code(instructions: Iterable[str]) -> Packing:
    """instructions: all instructions of the kernel. Kinds that occur in both forms are left out."""
    counted = _count((text, 1) for text in instructions)
    known = {name: float(packed > 0) for name, (plain, packed) in counted.items() if not (plain and packed)}
    return Packing(known, WRITTEN)


def _count(executed: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    """For each counter, how often its plain and its packed instructions ran; counters with neither are left out."""
    counts: dict[str, list[int]] = {}
    for text, times in executed:
        for (operation, precision), form in _FORMS.items() if text.startswith("v_") and times else ():
            if match := form.match(text):
                counts.setdefault(_counter((operation, precision)), [0, 0])[match[1] is not None] += times
    return counts


def counts_what_can_be_packed(counters: SymbolCounters) -> bool:
    return any(counters.values.get(_counter(kind), 0) > 0 for kind in _KINDS)


def packed_counted_twice(counters: SymbolCounters, packing: Packing | None) -> SymbolCounters:
    """The counters, with each packed instruction counted as two. `raw` keeps the raw counts of the counters that change.

    A nonzero counter whose packed share is unknown stays unchanged, and a note says so.
    """
    counted = {name for name in map(_counter, _KINDS) if counters.values.get(name, 0) > 0}
    if not counted:
        return counters
    shares = packing.shares if packing is not None else {}
    open_ones = sorted(counted - shares.keys())
    notes = [f"{ONCE}: {', '.join(open_ones)}"] if open_ones else []
    changed = {name: counters.values[name] * (1 + shares[name]) for name in counted & shares.keys() if shares[name]}
    if packing is not None and changed:
        parts = ", ".join(f"{100 * shares[name]:.0f} % of {name}" for name in sorted(changed))
        notes.append(
            f"packed instructions (v_pk_*) are counted as two operations: {parts} are packed, as {packing.source} says"
        )
    raw = {name: counters.values[name] for name in changed}
    return replace(counters, values=counters.values | changed, raw=raw, notes=(*counters.notes, *notes))


def _counter(kind: tuple[str, str]) -> str:
    return f"SQ_INSTS_VALU_{kind[0].upper()}_{kind[1].upper()}"
