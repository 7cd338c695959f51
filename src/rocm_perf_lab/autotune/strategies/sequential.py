"""Sequential and guided by a model: a Gaussian process on the logarithm of time, fitted again as results come.

What runs next promises the greatest expected improvement among the neighbourhoods of the best and a random part of the rest.
Batches grow with what is known: early results change the model most, and a fit costs more the more there are. An ensemble of
trees in its place is as fast to start with, but its trees agree where nothing is known, and it stays in local optima.
"""

from __future__ import annotations

import numpy as np

from rocm_perf_lab.autotune.gaussian_process import GaussianProcess
from rocm_perf_lab.autotune.space import Configuration
from rocm_perf_lab.autotune.strategies import Strategy

_START = 12
_POOL = 30_000
_BATCH, _GROWTH = 2, 0.06
_STRAY = 0.5  # how often a batch ends with a random candidate: the way out of a local optimum that the model is sure of
_MOST_FITTED = 250  # half of them the best, the others drawn from the rest
_LEAST_TIME = 1e-9  # a time of 0 has no logarithm
_RANDOM, _BEST, _RADIUS = 2000, 5, 2  # candidates drawn at random; near the best, in how many parameters they differ at most


class Search(Strategy):
    """Coordinates are positions in the lists of values: a list that ascends unevenly (1, 2, 4, 8) is meant to."""

    _pool: np.ndarray | None = None
    _process: GaussianProcess | None = None
    _fitted: np.ndarray  # the logarithms that the process was fitted to

    def ask(self) -> list[Configuration]:
        good = sorted((time, row) for row, time in self.times.items() if time is not None)
        if len(good) < 2:  # also where all fail: then there is nothing to learn from
            return self.space.sample(self.generator, _START, self.times.keys())
        if self._pool is None:
            self._set_pool(*self.space.pool(self.generator, _POOL))
        best = [row for _, row in good[:_BEST]]
        if not self._complete:
            self._add([*self.times, *(near for row in best for near in self.space.neighbours(row))])
        candidates = self._candidates(best)
        if not len(candidates):
            return []
        order = np.argsort(-self._expected_improvement(candidates), kind="stable")
        count = max(_BATCH, int(_GROWTH * len(self.times)))
        chosen = order[:count]
        if len(order) > count and self.generator.random() < _STRAY:
            chosen[-1] = self.generator.choice(order[count:])
        return [tuple(row) for row in self._pool[candidates[chosen]].tolist()]

    def model(self) -> dict[str, object]:
        """R2 and residual of the logarithms, each predicted without itself."""
        if self._process is None:
            return {}
        errors = self._fitted - self._process.left_out()
        spread = float(np.var(self._fitted))
        r2 = 1 - float(np.mean(errors**2)) / spread if spread > 0 else None
        return {"r2": r2, "residual": float(np.sqrt(np.mean(errors**2)))}

    def _set_pool(self, pool: np.ndarray, complete: bool) -> None:
        self._pool, self._complete = pool, complete
        self._at = {row: at for at, row in enumerate(map(tuple, pool.tolist()))}
        varying = [place for place, size in enumerate(self.space.sizes) if size > 1]
        self._points = pool[:, varying] / (np.array(self.space.sizes)[varying] - 1.0)

    def _add(self, rows: list[Configuration]) -> None:
        new = [row for row in dict.fromkeys(rows) if row not in self._at]
        if new:
            self._set_pool(np.concatenate([self._pool, np.array(new, self._pool.dtype)]), False)

    def _candidates(self, best: list[Configuration]) -> np.ndarray:
        """Positions in the pool, ascending."""
        unseen = np.ones(len(self._pool), bool)
        unseen[[self._at[row] for row in self.times]] = False
        rest = np.flatnonzero(unseen)
        if len(rest) <= _RANDOM:
            return rest
        near = np.zeros(len(self._pool), bool)
        for row in best:
            near |= (self._pool != np.array(row)).sum(axis=1) <= _RADIUS
        near[self.generator.choice(rest, _RANDOM, replace=False)] = True
        return np.flatnonzero(near & unseen)

    def _expected_improvement(self, candidates: np.ndarray) -> np.ndarray:
        """Of the logarithm of time. Jones, Schonlau and Welch 1998, equation 15."""
        from scipy.special import ndtr

        rows, logarithms = self._known()
        self._process = self._process or GaussianProcess(self._points.shape[1], self.generator)
        self._process.fit(self._points[rows], logarithms)
        self._fitted = logarithms
        mean, spread = self._process.predict(self._points[candidates])
        gain = logarithms.min() - mean
        ratio = gain / spread
        return gain * ndtr(ratio) + spread * np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi)

    def _known(self) -> tuple[np.ndarray, np.ndarray]:
        """(positions in the pool, logarithms of time) to fit to. What failed counts as slow as the slowest."""
        worst = max(time for time in self.times.values() if time is not None)
        times = np.array([worst if time is None else time for time in self.times.values()])
        chosen = np.arange(len(times))
        if len(times) > _MOST_FITTED:
            order = np.argsort(times, kind="stable")
            half = _MOST_FITTED // 2
            chosen = np.append(order[:half], self.generator.choice(order[half:], _MOST_FITTED - half, replace=False))
        rows = list(self.times)
        return np.array([self._at[rows[at]] for at in chosen]), np.log(np.maximum(times[chosen], _LEAST_TIME))
