"""Chooses the kernel that is worth a closer look, from times alone, without counters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.base_run import BaseRun
from rocm_perf_lab.analysis.dag import KERNEL
from rocm_perf_lab.analysis.symbols import Symbol

_CONSIDERABLE = 0.05  # share of the critical path
_MAX_OTHERS = 2


@dataclass(frozen=True)
class LongestDispatch:
    """symbol: the kernel. iteration: which of its dispatches is the longest, counted from 1."""

    symbol: Symbol
    iteration: int


def choose_dispatch(run: BaseRun, on_critical_path: bool) -> LongestDispatch | None:
    """The program's kernel with the most time on the critical path; without `on_critical_path`, or if there is no such kernel,
    the one with the longest dispatch.

    Only kernels that the run reports on are considered. None for a trace without dispatches. Without GPU times, there is no
    critical path, and the first dispatch is taken.
    """
    if not run.symbols:
        return None
    chosen = (_dominant(run) if on_critical_path else None) or run.selection.symbol
    return _longest_dispatch_of(run, chosen)


def _longest_dispatch_of(run: BaseRun, symbol: Symbol) -> LongestDispatch:
    longest = symbol.rows[run.trace.dispatches.duration[symbol.rows].argmax()]
    return LongestDispatch(symbol, int(np.searchsorted(symbol.rows, longest)) + 1)


def also_on_path(run: BaseRun, chosen: Symbol) -> list[LongestDispatch]:
    """Up to _MAX_OTHERS more kernels of the program with a considerable part of the critical path, largest part first."""
    if run.path is None:
        return []
    symbols = {symbol.name: symbol for symbol in run.symbols if symbol is not chosen}
    wanted = [
        symbol
        for symbol in run.path.symbols
        if symbol.kind == KERNEL and symbol.name in symbols and symbol.fraction >= _CONSIDERABLE
    ]
    return [_longest_dispatch_of(run, symbols[symbol.name]) for symbol in wanted[:_MAX_OTHERS]]


def _dominant(run: BaseRun) -> Symbol | None:
    names = [symbol.name for symbol in run.path.symbols if symbol.kind == KERNEL] if run.path else []
    return next((symbol for name in names for symbol in run.symbols if symbol.name == name), None)
