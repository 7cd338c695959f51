"""How certain a speed-up is: the ratio of two samples' medians with a bootstrap interval.

Source: B. Efron, R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 13 (percentile interval). Medians are used
because run times have a long upper tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 4000


@dataclass(frozen=True)
class Ratio:
    """candidate / baseline; below 1, the candidate is faster. low, high: ends of the interval at this `confidence`."""

    value: float
    low: float
    high: float
    confidence: float

    @property
    def improvement(self) -> float:
        """The fraction of the baseline's time that is saved."""
        return 1.0 - self.value

    @property
    def sure_improvement(self) -> float:
        """The fraction that is saved at the slow end of the interval."""
        return 1.0 - self.high


def ratio_of_medians(baseline: Sequence[float], candidate: Sequence[float], confidence: float = 0.95, seed: int = 0) -> Ratio:
    """The ratio of the medians of two samples.

    baseline, candidate: times of interleaved runs, in the same unit, all above 0; the runs with the same index form a pair and
    are resampled together.

    Raises ValueError if the samples are empty, of different lengths, or not positive.
    """
    first, second = np.asarray(baseline, float), np.asarray(candidate, float)
    if first.size == 0 or first.shape != second.shape or not (np.all(first > 0) and np.all(second > 0)):
        raise ValueError("two samples of the same length, of times above 0, are needed")
    picks = np.random.default_rng(seed).integers(0, first.size, size=(RESAMPLES, first.size))
    ratios = np.median(second[picks], axis=1) / np.median(first[picks], axis=1)
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Ratio(float(np.median(second) / np.median(first)), float(low), float(high), confidence)
