"""How much the runtime varies from run to run."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.rocpd.trace import Trace

STABLE, MODERATE = 0.05, 0.10


@dataclass(frozen=True)
class Stability:
    """Runtimes of all runs, ms. cv = stddev / mean, with the sample standard deviation.

    stddev_ms, cv and classification are None for fewer than two runs, or if the mean is 0.
    """

    runs_ms: tuple[float, ...]
    median_ms: float
    mean_ms: float
    stddev_ms: float | None
    cv: float | None
    classification: str | None  # 'stable' up to 0.05, 'moderate' up to 0.10, else 'unstable'


def runtime_ms(trace: Trace) -> float:
    """Time spent in kernels, in ms: end - start, summed over the program's own dispatches (over all if none are its own)."""
    symbols = symbols_of(trace)
    own = [symbol for symbol in symbols if not symbol.is_runtime] or symbols
    return sum(symbol.total_ns for symbol in own) / 1e6


def stability(runs_ms: list[float]) -> Stability:
    """Mean, spread and class of one or more runtimes in ms."""
    mean = statistics.fmean(runs_ms)
    if len(runs_ms) < 2 or mean == 0:
        return Stability(tuple(runs_ms), statistics.median(runs_ms), mean, None, None, None)
    stddev = statistics.stdev(runs_ms)
    return Stability(tuple(runs_ms), statistics.median(runs_ms), mean, stddev, stddev / mean, classify(stddev / mean))


def classify(cv: float) -> str:
    if cv <= STABLE:
        return "stable"
    return "moderate" if cv <= MODERATE else "unstable"
