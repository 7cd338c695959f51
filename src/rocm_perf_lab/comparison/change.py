"""How much a number changed, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rocm_perf_lab.statistics.bootstrap import ratio_of_means
from rocm_perf_lab.statistics.student import welch_interval

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats, Integers

    Numbers = Floats | Integers

Method = Literal["runs", "dispatches"]
CONFIDENCE = 0.999
"""The confidence that all intervals of a comparison hold; it is high so that daily comparisons raise no false alarms."""
MIN_CHANGE = 0.01
"""Smaller changes of measured times are not reported, however certain they are: builds differ in where their code is placed."""
_MIN_DISPATCHES = 10  # the minimum for their distribution to be meaningful
_RESAMPLES = 4999


@dataclass(frozen=True)
class Interval:
    """new / base is between low and high with the stated confidence. method: what varied; see ratio_interval()."""

    low: float
    high: float
    confidence: float
    method: Method


def ratio_interval(base: Sequence[Numbers], new: Sequence[Numbers], confidence: float = CONFIDENCE) -> Interval | str:
    """The interval for the ratio of the mean totals, or why there is none. base, new: the dispatches' times, one array per run.

    With two or more runs on each side, the interval reflects the variation between runs: Welch's interval for the difference of
    the logarithms of their totals (B. L. Welch, Biometrika 34, 1947), since a bootstrap interval from so few numbers would be
    far too narrow. If either side has only one run, the dispatches of each side's first run are resampled instead (BCa
    bootstrap: B. Efron, JASA 82, 1987); the interval then ignores how much runs differ, which is not known.
    """
    if not (base and new and all(run.sum() > 0 for run in (*base, *new))):
        return "there are no times"
    if len(base) > 1 and len(new) > 1:
        return _interval_of_runs([math.log(run.sum()) for run in base], [math.log(run.sum()) for run in new], confidence)
    first, second = base[0], new[0]
    if min(len(first), len(second)) < _MIN_DISPATCHES:
        return f"one run with {min(len(first), len(second))} dispatches says nothing about how times vary: profile more --runs"
    return _of_dispatches(np.asarray(first, float), np.asarray(second, float), confidence)


def _interval_of_runs(base: list[float], new: list[float], confidence: float) -> Interval:
    if len(set(base)) == 1 and len(set(new)) == 1:  # no spread at all, as with modelled times
        ratio = math.exp(new[0] - base[0])
        return Interval(ratio, ratio, confidence, "runs")
    low, high = welch_interval(new, base, confidence)
    return Interval(math.exp(low), math.exp(high), confidence, "runs")


def _of_dispatches(base: Floats, new: Floats, confidence: float) -> Interval:
    count = len(new) / len(base)
    if np.ptp(base) == 0 and np.ptp(new) == 0:
        ratio = count * new[0] / base[0]
        return Interval(ratio, ratio, confidence, "dispatches")
    low, high = ratio_of_means(new, base, confidence, _RESAMPLES)
    return Interval(count * low, count * high, confidence, "dispatches")


def relative(base: float, new: float) -> float:
    """new / base - 1; 0 if both are 0, infinite if only base is."""
    if base == 0:
        return 0.0 if new == 0 else math.copysign(math.inf, new)
    return new / base - 1
