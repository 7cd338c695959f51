"""How far off a kernel's times and counters may be if the software device did not observe everything that they depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.rocpd.trace import Trace


@dataclass(frozen=True)
class Sampling:
    """How far the sums over all dispatches of a kernel may be off: see rocpd.estimates.

    dispatches: how many were observed on some XCDs only, or began with L2s whose contents were not known. time: as a fraction
    of the total time. counters: in each counter's unit, for the counters that are estimates.
    """

    dispatches: int
    time: float
    counters: dict[str, float]

    @property
    def note(self) -> str:
        were = "was" if self.dispatches == 1 else "were"
        return (
            f"{self.dispatches} of its dispatches {were} observed on some XCDs only, or began with unknown L2 contents: "
            f"its time (within {100 * self.time:.2g} %) and {len(self.counters)} of its counters are estimates, and so is all "
            "that follows from them"
        )


def sampling_of(trace: Trace, symbol: Symbol) -> Sampling | None:
    """None if every dispatch is known exactly. The dispatches' errors add up, because all dispatches use the same sample."""
    if trace.estimates is None:
        return None
    errors = trace.estimates.durations[symbol.rows]
    sampled = int(np.count_nonzero(~np.isnan(errors)))
    if not sampled:
        return None
    time = float(np.nansum(errors * trace.dispatches.duration[symbol.rows])) / max(1, symbol.total_ns)
    return Sampling(sampled, time, _counters(trace, symbol))


def _counters(trace: Trace, symbol: Symbol) -> dict[str, float]:
    """The errors of the sums over all dispatches; dispatches without a value are assumed to be like the others."""
    assert trace.estimates is not None
    sum_errors = {}
    for name, column in trace.estimates.counters.items():
        errors, values = column[symbol.rows], trace.counters[name][symbol.rows]
        if not np.all(np.isnan(errors)):
            sum_errors[name] = float(np.nansum(errors)) * len(values) / max(1, int(np.count_nonzero(~np.isnan(values))))
    return sum_errors
