"""Which kernel is worth a closer look, before there are counters of any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import KERNEL, build_dag
from rocm_perf_lab.analysis.selection import select
from rocm_perf_lab.analysis.symbols import Symbol, fitting, symbols_of
from rocm_perf_lab.rocpd.tables import Trace


@dataclass(frozen=True)
class Focus:
    """symbol: the kernel. iteration: which of its dispatches, in order of dispatch, counted from 1: the longest."""

    symbol: Symbol
    iteration: int


def focus(trace: Trace, on_critical_path: bool, pattern: str | None = None) -> Focus | None:
    """The program's kernel with the most time on the critical path, else the one with the longest dispatch.

    pattern: of the kernels to choose from, None for all.
    None for a trace without dispatches. Without GPU times there is no critical path: then the first dispatch is taken.
    """
    symbols = fitting(symbols_of(trace), pattern)
    if not symbols:
        return None
    chosen = select(trace, symbols).symbol
    if on_critical_path and trace.has_times:
        chosen = _dominant(trace, symbols) or chosen
    longest = chosen.rows[trace.dispatches.duration[chosen.rows].argmax()]
    return Focus(chosen, int(np.searchsorted(chosen.rows, longest)) + 1)


def _dominant(trace: Trace, symbols: list[Symbol]) -> Symbol | None:
    path = critical_path(build_dag(trace))
    names = [found.name for found in path.symbols if found.kind == KERNEL]
    return next((symbol for name in names for symbol in symbols if symbol.name == name), None)
