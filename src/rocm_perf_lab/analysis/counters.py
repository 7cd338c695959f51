"""Sums counters for each kernel symbol over the passes in which they were collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.counter_check import contradiction, is_all_zero
from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.arch.counters import known_counters, uses
from rocm_perf_lab.arch.metric import NO_COUNTERS, InvalidCounters
from rocm_perf_lab.rocpd.trace import Trace

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask


@dataclass(frozen=True)
class SymbolCounters:
    """values: for each counter, the sum over all of the symbol's dispatches in the base run. notes: assumptions behind them.

    raw: the raw counts of those counters in whose values packed instructions count twice; see packed_math.
    """

    values: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    raw: dict[str, float] = field(default_factory=dict)


def counters_by_symbol(base: Trace, passes: Sequence[Trace]) -> dict[str, SymbolCounters]:
    """Counter sums for each kernel symbol of the base run, keyed by mangled symbol.

    A counter is taken from the first trace that has it for the symbol, starting with the base run itself. If a pass saw a
    different number of dispatches than the base run, its sums are scaled to the base run's number, and a note says so.
    Dispatches whose counters cannot be right are left out. If that leaves a pass with no dispatches of a symbol, or if a
    pass counted only zeros on a GPU, all counters of that symbol are doubtful: the symbol gets the reason instead of counters.
    """
    dispatched = {symbol.kernel.symbol: len(symbol.rows) for symbol in symbols_of(base)}
    lacking = {symbol.kernel.symbol: _not_modelled(base, symbol.rows) for symbol in symbols_of(base)}
    values: dict[str, dict[str, float]] = {name: {} for name in dispatched}
    uneven: dict[str, dict[tuple[int, int], list[str]]] = {name: {} for name in dispatched}
    invalid: dict[str, str] = {}
    for trace in (base, *passes):
        all_zero = is_all_zero(trace)
        for symbol in symbols_of(trace) if trace.counters else []:
            name = symbol.kernel.symbol
            wrong, why = contradiction(trace, symbol.rows)
            right = _are_counted(trace, symbol.rows) & ~wrong
            if all_zero or (wrong.any() and not right.any()):
                invalid.setdefault(name, why or "every counter of a pass is 0")
                continue
            for counter, (total, seen) in _sums(trace, symbol.rows[~wrong]).items():
                if name not in dispatched or counter in values[name]:
                    continue
                values[name][counter] = total * dispatched[name] / seen
                if seen != dispatched[name]:
                    uneven[name].setdefault((seen, dispatched[name]), []).append(counter)
    return {
        name: _invalid(invalid[name])
        if name in invalid
        else SymbolCounters(values[name], (*_notes(uneven[name]), *lacking[name]))
        for name in dispatched
    }


def sum_of(parts: Sequence[SymbolCounters]) -> SymbolCounters:
    """The sums over several symbols, for the counters that all of them have; invalid if the counters of any symbol are."""
    if invalid := next((part for part in parts if isinstance(part.values, InvalidCounters)), None):
        return invalid
    common = set.intersection(*(set(part.values) for part in parts))
    values = {name: sum(part.values[name] for part in parts) for name in sorted(common)}
    changed = {name for part in parts for name in part.raw if name in common}
    raw = {name: sum(part.raw.get(name, part.values[name]) for part in parts) for name in sorted(changed)}
    return SymbolCounters(values, tuple(dict.fromkeys(note for part in parts for note in part.notes)), raw)


def why_no_counters(counters: SymbolCounters) -> str | None:
    """Why there are no counters; None if there are some."""
    if counters.values:
        return None
    return counters.values.reason if isinstance(counters.values, InvalidCounters) else NO_COUNTERS


def _not_modelled(base: Trace, rows: Integers) -> tuple[str, ...]:
    """Notes that name the counters which formulas need but the software device does not provide."""
    agent = base.agents.get(int(base.dispatches.agent_id[rows[0]]))
    if base.timing != "modelled" or not base.counters or agent is None:
        return ()
    lacking: dict[str, list[str]] = {}
    for counter in known_counters():
        if counter.why and agent.target in counter.hardware and counter.name in uses() and counter.name not in base.counters:
            lacking.setdefault(counter.why, []).append(counter.name)
    return tuple(f"the software {agent.target} does not count {', '.join(names)}: {why}" for why, names in lacking.items())


def _invalid(why: str) -> SymbolCounters:
    reason = f"its counters are invalid and were left out: {why} (another user of the GPU, or a driver that withholds them)"
    return SymbolCounters(InvalidCounters(reason), (reason,))


def _are_counted(trace: Trace, rows: Integers) -> Mask:
    return np.any([~np.isnan(column[rows]) for column in trace.counters.values()], axis=0)


def _sums(trace: Trace, rows: Integers) -> dict[str, tuple[float, int]]:
    """counter -> (sum, number of dispatches on which it was collected); counters that were never collected are left out."""
    sums = {}
    for counter, column in sorted(trace.counters.items()):
        collected = column[rows]
        collected = collected[~np.isnan(collected)]
        if len(collected):
            sums[counter] = float(collected.sum()), len(collected)
    return sums


def _notes(uneven: dict[tuple[int, int], list[str]]) -> tuple[str, ...]:
    return tuple(
        f"{len(counters)} counters were collected on {seen} dispatches and scaled to the {wanted} of the base run"
        for (seen, wanted), counters in sorted(uneven.items())
    )
