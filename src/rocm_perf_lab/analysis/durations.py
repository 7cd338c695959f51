"""How the durations of a kernel's dispatches are distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.rocpd.tables import Dispatches


@dataclass(frozen=True)
class Durations:
    """ns. stddev: of the sample, None of a single dispatch. median, p95: the least duration that as many do not exceed."""

    mean: float
    stddev: float | None
    min: int
    median: int
    p95: int
    max: int


def durations(dispatches: Dispatches, symbol: Symbol) -> Durations:
    start, end = dispatches.start[symbol.rows], dispatches.end[symbol.rows]
    took = end.astype(np.int64) - start
    count = len(took)
    ranks = [0, (count - 1) // 2, -(-95 * count // 100) - 1, count - 1]
    took.partition(ranks)
    least, median, p95, most = (int(took[rank]) for rank in ranks)
    stddev = float(took.std(ddof=1)) if count > 1 else None
    return Durations(symbol.total_ns / count, stddev, least, median, p95, most)
