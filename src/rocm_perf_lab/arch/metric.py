"""A metric is a function whose parameter names are the hardware counters it needs.

    @metric("bytes")
    def hbm_write_bytes(TCC_EA0_WRREQ_sum, TCC_EA0_WRREQ_64B_sum):
        return ...

Called with the collected counters, it returns its value, or no value and the names of the missing counters. A counter that was
not collected is never assumed to be 0.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

NO_COUNTERS = "no counters were collected"


@dataclass(frozen=True)
class Value:
    """A number in `unit`, or None and the reason why there is none.

    not_collected: the missing counters, if they are the reason.
    """

    value: float | None
    unit: str
    reason: str | None = None
    not_collected: tuple[str, ...] = ()

    @classmethod
    def missing(cls, unit: str, reason: str) -> Value:
        return cls(None, unit, reason)

    @classmethod
    def missing_counters(cls, unit: str, counters: Iterable[str]) -> Value:
        names = tuple(dict.fromkeys(counters))
        return cls(None, unit, _not_collected(names), names)

    @classmethod
    def missing_because(cls, unit: str, values: Iterable[Value]) -> Value:
        """A missing value whose reason combines the reasons of all missing ones among `values`."""
        absent = [value for value in values if value.value is None]
        counters = tuple(dict.fromkeys(name for value in absent for name in value.not_collected))
        reasons = [value.reason for value in absent if value.reason and not value.not_collected]
        reasons += [_not_collected(counters)] if counters else []
        return cls(None, unit, "; ".join(dict.fromkeys(reasons)), counters if len(reasons) == 1 else ())


def _not_collected(counters: tuple[str, ...]) -> str:
    return f"not collected: {', '.join(counters)}"


class InvalidCounters(dict[str, float]):
    """An empty set of counters that records why the collected values cannot be right."""

    def __init__(self, reason: str):
        super().__init__()
        self.reason = reason


@dataclass(frozen=True)
class Metric:
    """name: the function's name. counters: the counters it needs. bias: a known systematic error, printed with the number."""

    name: str
    unit: str
    counters: tuple[str, ...]
    formula: Callable[..., float]
    bias: str | None = None

    def __call__(self, counters: Mapping[str, float]) -> Value:
        if not counters:
            return Value.missing(self.unit, counters.reason if isinstance(counters, InvalidCounters) else NO_COUNTERS)
        missing = [name for name in self.counters if math.isnan(counters.get(name, math.nan))]
        if missing:
            return Value.missing_counters(self.unit, missing)
        try:
            return Value(float(self.formula(*(counters[name] for name in self.counters))), self.unit)
        except ZeroDivisionError:
            return Value.missing(self.unit, f"division by zero in the formula for {', '.join(self.counters)}")


def metric(unit: str, bias: str | None = None) -> Callable[[Callable[..., float]], Metric]:
    """Turn a function of counters into a Metric."""

    def decorate(formula: Callable[..., float]) -> Metric:
        return Metric(formula.__name__, unit, tuple(inspect.signature(formula).parameters), formula, bias)

    return decorate
