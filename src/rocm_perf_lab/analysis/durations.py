"""The distribution of the durations of a kernel's dispatches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.rocpd.trace import Dispatches


@dataclass(frozen=True)
class Durations:
    """In ns. stddev: the sample standard deviation, None for a single dispatch. median, p95: percentiles as NumPy defines them,
    interpolated between two durations.
    """

    mean: float
    stddev: float | None
    min: int
    median: float
    p95: float
    max: int


def durations(dispatches: Dispatches, symbol: Symbol) -> Durations:
    start, end = dispatches.start[symbol.rows], dispatches.end[symbol.rows]
    took = end.astype(np.int64) - start
    median, p95 = np.percentile(took, [50, 95]).tolist()
    stddev = float(took.std(ddof=1)) if len(took) > 1 else None
    return Durations(symbol.total_ns / len(took), stddev, int(took.min()), median, p95, int(took.max()))
