"""Chooses the dispatch that a profile is about."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.rocpd.trace import Trace


@dataclass(frozen=True)
class Selection:
    """row: index into Dispatches. only_runtime_kernels: whether only the runtime's own kernels ran, so that one of them was
    selected.

    passed_over: a runtime kernel with a dispatch longer than the selected one, or None.
    """

    symbol: Symbol
    row: int
    only_runtime_kernels: bool
    passed_over: Symbol | None = None


def select(trace: Trace, symbols: list[Symbol]) -> Selection:
    """Select the longest dispatch that is not one of the runtime's own kernels, or the longest of all if there is no other.

    Of equally long dispatches, the first is taken. `symbols` must not be empty.
    """
    own = [symbol for symbol in symbols if not symbol.is_runtime]
    start, end = trace.dispatches.start, trace.dispatches.end

    def longest_first(symbol: Symbol) -> tuple[int, int]:
        return int(start[symbol.longest]) - int(end[symbol.longest]), symbol.longest

    symbol, first = min(own or symbols, key=longest_first), min(symbols, key=longest_first)
    return Selection(symbol, symbol.longest, not own, first if first is not symbol and first.is_runtime else None)
