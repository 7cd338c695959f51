"""Computes the bootstrap interval for a ratio of two means."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats

_AT_ONCE = 1 << 20  # resampled values in memory
_SEED = 0


def ratio_of_means(new: Floats, base: Floats, confidence: float, resamples: int) -> tuple[float, float]:
    """The confidence interval (low, high) for mean(new) / mean(base). The same samples always yield the same interval.

    Bias-corrected and accelerated (BCa): B. Efron, JASA 82, 1987, equations 2.3 and 6.6, with the jackknife over both samples
    (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, equation 14.15). If a sample does not vary, plain
    percentiles are used.
    """
    generator = np.random.default_rng(_SEED)
    ratios = _resampled_means(new, resamples, generator) / _resampled_means(base, resamples, generator)
    tail = (1 - confidence) / 2
    levels = np.array([tail, 1 - tail])
    if np.ptp(new) and np.ptp(base):
        levels = _corrected(levels, ratios, new, base)
    low, high = np.quantile(ratios, levels)
    return float(low), float(high)


def _resampled_means(sample: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    rows = max(1, _AT_ONCE // len(sample))
    parts = [min(rows, resamples - done) for done in range(0, resamples, rows)]
    return np.concatenate([generator.choice(sample, (part, len(sample))).mean(axis=1) for part in parts])


def _corrected(levels: Floats, ratios: Floats, new: Floats, base: Floats) -> Floats:
    normal = NormalDist()
    ratio = new.mean() / base.mean()
    equal = np.isclose(ratios, ratio, rtol=1e-9, atol=0)  # ignoring rounding, which depends on the unit
    below = (np.count_nonzero((ratios < ratio) & ~equal) + np.count_nonzero(equal) / 2) / len(ratios)
    bias = normal.inv_cdf(min(max(below, 0.5 / len(ratios)), 1 - 0.5 / len(ratios)))
    acceleration = _acceleration(_leave_one_out_means(new) / base.mean(), new.mean() / _leave_one_out_means(base))
    z = np.array([normal.inv_cdf(level) for level in levels]) + bias
    return np.array([normal.cdf(value) for value in bias + z / (1 - acceleration * z)])


def _leave_one_out_means(sample: Floats) -> Floats:
    """The sample's means with each value left out in turn."""
    means: Floats = (sample.sum() - sample) / (len(sample) - 1)
    return means


def _acceleration(*jackknifes: Floats) -> float:
    cubes = squares = 0.0
    for values in jackknifes:
        influence = (len(values) - 1) * (values.mean() - values) / len(values)
        cubes += float((influence**3).sum())
        squares += float((influence**2).sum())
    return cubes / squares**1.5 / 6 if squares else 0.0
