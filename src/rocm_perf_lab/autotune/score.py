"""How much better a search is than random search: P_t = (F_t - S_rand(t)) / (S_opt - S_rand(t)).

F_t is the best time after t evaluations, S_rand(t) its exact expectation in a random search without repetition, and S_opt the
space's best time. A score of 0 is as good as random search, and 1 means that the first evaluation found the optimum.
Methodology: Willemsen et al., "A methodology for comparing optimization algorithms for auto-tuning", Future Generation Computer
Systems 159 (2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats


class RandomSearchScale:
    """The scale for one recorded space. A failed configuration counts as if it took as long as the slowest.

    cutoff: the part of the way from the median to the optimum that random search should cover within the budget.
    """

    def __init__(self, times: Iterable[float | None], cutoff: float = 0.95):
        times = list(times)
        good = np.array([time for time in times if time is not None])
        self.best, self.worst, median = float(good.min()), float(good.max()), float(np.median(good))
        self._ascending = np.sort([self.worst if time is None else time for time in times])
        goal = median - cutoff * (median - self.best)
        self.expected = self._random_until(goal)
        self.budget = len(self.expected)

    def _random_until(self, goal: float) -> Floats:
        """S_rand(1), S_rand(2), ... down to the first that reaches the goal."""
        total = len(self._ascending)
        later = np.arange(total - 1, -1, -1.0)  # the number of configurations slower than each
        steps, none_better, expected = np.diff(self._ascending), np.ones(total), []
        for drawn in range(total):
            none_better *= np.maximum(later - drawn, 0) / (total - drawn)
            expected.append(self.best + float(steps @ none_better[:-1]))
            if expected[-1] <= goal:
                break
        return np.array(expected)

    def score(self, trace: Sequence[float | None]) -> float:
        """P averaged over all evaluations of the budget. A search that stops early keeps its best time until the end."""
        times = np.array([self.worst if time is None else time for time in trace[: self.budget]])
        best_times = np.minimum.accumulate(times)
        best_times = np.append(best_times, np.full(self.budget - len(best_times), best_times[-1]))
        left = self.best - self.expected
        # Where random search itself has reached the optimum, nothing can be gained, and P counts as 0.
        return float(np.mean(np.divide(best_times - self.expected, left, out=np.zeros_like(left), where=left < 0)))
