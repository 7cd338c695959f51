"""Sequential and guided by a model: a Gaussian process on the logarithm of time, fitted again as results come.

What runs next promises the greatest expected improvement among the neighbourhoods of the best and a random part of the rest.
Part of a batch is drawn from the model instead (Thompson's sampling), and sometimes one is drawn blindly: expected improvement
alone stays in a local optimum that the model is sure of. Batches grow with what is known: early results change the model most,
and a fit costs more the more there are.
"""

from __future__ import annotations

import numpy as np

from rocm_perf_lab.autotune.gaussian_process import GaussianProcess
from rocm_perf_lab.autotune.neighbourhood import Pool
from rocm_perf_lab.autotune.space import Configuration
from rocm_perf_lab.autotune.strategies import Strategy

_START = 12
_BATCH, _GROWTH, _LARGEST_BATCH = 2, 0.06, 16
_DRAWN = 0.25  # part of a batch that is drawn from the model
_BLIND = 0.1  # part of a batch that is drawn without regard to the model
_MOST_FITTED = 150  # half of them the best, the others drawn from the rest
_STEPS, _PATIENCE = 3, 1.05  # of the walk over the model's lengths: after how many times the results of the last
_BEST, _FAR = 3, 200  # the best, whose neighbours are candidates, and how many two steps away are drawn from
_RANDOM = 75  # candidates drawn from all, for each place in a batch: the more there are, the fewer local optima keep the search
_FLOOR = 0.1  # added to how far above the best: so far below the median's excess, differences do not count
_LEAST_TIME = 1e-9  # a time of 0 has no logarithm


class Search(Strategy):
    _pool: Pool | None = None
    _process: GaussianProcess | None = None
    _walked = 0  # results at the last walk

    def ask(self) -> list[Configuration]:
        if self._pool is None and sum(time is not None for time in self.times.values()) < 2:
            return self.promising(_START)  # also where all fail: then there is nothing to learn from
        self._pool = self._pool or Pool(self.space, self.generator)
        self._pool.add(self.asked)
        self._pool.without(self.asked)
        configurations, values = list(self.times), self._values()
        order = np.argsort(values, kind="stable")
        best = [configurations[at] for at in order[:_BEST]]
        self._pool.add_neighbours(best)
        count = min(_LARGEST_BATCH, max(_BATCH, int(_GROWTH * len(self.times))))
        candidates = self._candidates([self._pool.at[row] for row in best], _RANDOM * count)
        if not len(candidates):
            return []
        self._fit(configurations, values, order)
        return [tuple(row) for row in self._pool.rows[self._chosen(candidates, count, values.min())].tolist()]

    def model(self) -> dict[str, object]:
        """R2 and residual of the logarithms of excess time, each predicted without itself."""
        if self._process is None:
            return {}
        errors = self._process.errors()
        spread = float(np.var(self._fitted))
        r2 = 1 - float(np.mean(errors**2)) / spread if spread > 0 else None
        return {"r2": r2, "residual": float(np.sqrt(np.mean(errors**2)))}

    def _values(self) -> np.ndarray:
        """What the model is of: logarithms of how far above the best. What failed counts as slow as the slowest.

        The logarithm of a logarithm's excess: a program's times span factors, and what matters is order among the best.
        """
        worst = max(time for time in self.times.values() if time is not None)
        times = np.array([worst if time is None else time for time in self.times.values()])
        logarithms = np.log(np.maximum(times, _LEAST_TIME))
        excess = logarithms - logarithms.min()
        return np.log(excess + _FLOOR * (float(np.median(excess)) or 1.0))

    def _candidates(self, best: list[int], everywhere: int) -> np.ndarray:
        """Positions in the pool, ascending. everywhere: how many are drawn from all."""
        pool, rest = self._pool, self._pool.unasked()
        if len(rest) <= everywhere:
            return rest
        near = [pool.near(position) for position in best]
        far = pool.unasked(np.concatenate([two for _, two in near]))
        drawn = [self.generator.choice(some, most) for some, most in ((far, _FAR), (rest, everywhere)) if len(some)]
        return pool.unasked(np.unique(np.concatenate([*(one for one, _ in near), *drawn])))

    def _fit(self, configurations: list[Configuration], values: np.ndarray, order: np.ndarray) -> None:
        chosen = order
        if len(order) > _MOST_FITTED:
            half = _MOST_FITTED // 2
            chosen = np.append(order[:half], self.generator.choice(order[half:], _MOST_FITTED - half, replace=False))
        points, self._fitted = self._pool.points[[self._pool.at[configurations[at]] for at in chosen]], values[chosen]
        self._process = self._process or GaussianProcess(points.shape[1], self.generator)
        walks = len(order) >= _PATIENCE * self._walked
        self._walked = len(order) if walks else self._walked
        self._process.fit(points, self._fitted, _STEPS if walks else 0)

    def _chosen(self, candidates: np.ndarray, count: int, best: float) -> np.ndarray:
        mean, spread = self._process.predict(self._pool.points[candidates])
        count = min(len(candidates), count)
        drawn, blind = (int(part * count + self.generator.random()) for part in (_DRAWN, _BLIND))
        order = np.argsort(-_expected_improvement(mean, spread, best), kind="stable")
        chosen = order[: count - drawn].tolist()
        for _ in range(drawn):
            draw = mean + spread * self.generator.standard_normal(len(mean))
            draw[chosen] = np.inf
            chosen.append(int(draw.argmin()))
        if blind := min(blind, len(candidates) - count):
            chosen[-blind:] = self.generator.choice(np.setdiff1d(order, chosen), blind, replace=False).tolist()
        return candidates[chosen]


def _expected_improvement(mean: np.ndarray, spread: np.ndarray, best: float) -> np.ndarray:
    """Jones, Schonlau and Welch 1998, equation 15."""
    from scipy.special import ndtr

    gain = best - mean
    ratio = gain / spread
    return gain * ndtr(ratio) + spread * np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi)
