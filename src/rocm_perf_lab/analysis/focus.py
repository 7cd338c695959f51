"""Chooses the kernel that is worth a closer look, before any counters are collected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.base_run import BaseRun
from rocm_perf_lab.analysis.dag import KERNEL
from rocm_perf_lab.analysis.symbols import Symbol


@dataclass(frozen=True)
class Focus:
    """symbol: the kernel. iteration: its longest dispatch, counted from 1 in order of dispatch."""

    symbol: Symbol
    iteration: int


def focus(run: BaseRun, on_critical_path: bool) -> Focus | None:
    """The program's kernel with the most time on the critical path, else the one with the longest dispatch.

    Only kernels that the run reports on are considered. None for a trace without dispatches. Without GPU times there is no
    critical path, and the first dispatch is taken.
    """
    if not run.symbols:
        return None
    chosen = (_dominant(run) if on_critical_path else None) or run.selection.symbol
    longest = chosen.rows[run.trace.dispatches.duration[chosen.rows].argmax()]
    return Focus(chosen, int(np.searchsorted(chosen.rows, longest)) + 1)


def _dominant(run: BaseRun) -> Symbol | None:
    names = [found.name for found in run.path.symbols if found.kind == KERNEL] if run.path else []
    return next((symbol for name in names for symbol in run.symbols if symbol.name == name), None)
