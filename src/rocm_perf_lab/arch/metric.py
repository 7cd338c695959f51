"""A metric is a function whose parameter names are the hardware counters it needs.

    @metric("bytes")
    def hbm_write_bytes(TCC_EA0_WRREQ_sum, TCC_EA0_WRREQ_64B_sum):
        return ...

Called with the counters that were collected, it returns its value, or no value and which counters are missing. A counter
that was not collected is never taken for 0.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """A number in `unit`, or None and the reason why there is none."""

    value: float | None
    unit: str
    reason: str | None = None

    @classmethod
    def missing(cls, unit: str, reason: str) -> Value:
        return cls(None, unit, reason)


@dataclass(frozen=True)
class Metric:
    """name: the function's name. counters: what it needs. bias: a known systematic error, to print beside the number."""

    name: str
    unit: str
    counters: tuple[str, ...]
    formula: Callable[..., float]
    bias: str | None = None

    def __call__(self, counters: Mapping[str, float]) -> Value:
        if not counters:
            return Value.missing(self.unit, "no counters were collected")
        missing = [name for name in self.counters if math.isnan(counters.get(name, math.nan))]
        if missing:
            return Value.missing(self.unit, f"not collected: {', '.join(missing)}")
        try:
            return Value(float(self.formula(*(counters[name] for name in self.counters))), self.unit)
        except ZeroDivisionError:
            return Value.missing(self.unit, f"divides by zero: {', '.join(self.counters)} leave nothing to divide by")


def metric(unit: str, bias: str | None = None) -> Callable[[Callable[..., float]], Metric]:
    """Makes a Metric of a function of counters."""

    def decorate(formula: Callable[..., float]) -> Metric:
        return Metric(formula.__name__, unit, tuple(inspect.signature(formula).parameters), formula, bias)

    return decorate
