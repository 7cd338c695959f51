"""How the durations of a kernel's dispatches are distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.rocpd.tables import Dispatches


@dataclass(frozen=True)
class Durations:
    """ns. stddev: of the sample, None of a single dispatch. median, p95: as NumPy defines percentiles, between two
    durations where the place falls between them."""

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
