"""Sequential and guided by a model: extremely randomised trees on the logarithm of time, fitted again as results come.

What runs next promises the greatest expected improvement among the neighbourhoods of the best and a random part of the rest.
A lower confidence bound instead stays in a local optimum of some spaces. Batches grow with what is known: early results change
the model most, and a fit costs more the more there are.
"""

from __future__ import annotations

import numpy as np

from rocm_perf_lab.autotune import features
from rocm_perf_lab.autotune.space import Configuration
from rocm_perf_lab.autotune.strategies import Strategy

_START = 20
_POOL = 30_000
_BATCH, _GROWTH = 4, 0.1
_TREES = 25
_LEAST_SPREAD = 1e-6
_RANDOM, _BEST, _RADIUS = 2000, 5, 2  # candidates drawn at random; near the best, in how many parameters they differ at most


class Search(Strategy):
    _pool: np.ndarray | None = None
    _model: dict[str, object] = {}

    def ask(self) -> list[Configuration]:
        if not self.times:
            return self.space.sample(self.generator, _START)
        if self._pool is None:
            self._set_pool(*self.space.pool(self.generator, _POOL))
        good = sorted((time, row) for row, time in self.times.items() if time is not None)
        if not good:
            return self.space.sample(self.generator, _START, self.times.keys())
        best = [row for _, row in good[:_BEST]]
        if not self._complete:
            self._add([*self.times, *(near for row in best for near in self.space.neighbours(row))])
        candidates = self._candidates(best)
        if not len(candidates):
            return []
        gain = self._expected_improvement(candidates)
        count = max(_BATCH, int(_GROWTH * len(self.times)))
        return [tuple(self._pool[at].tolist()) for at in candidates[np.argsort(-gain, kind="stable")[:count]]]

    def model(self) -> dict[str, object]:
        return self._model

    def _set_pool(self, pool: np.ndarray, complete: bool) -> None:
        self._pool, self._complete = pool, complete
        self._at = {row: at for at, row in enumerate(map(tuple, pool.tolist()))}
        self._features = features.with_products(self.space, pool)

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
        """Of the logarithm of time, as the trees' mean and spread foretell it; Jones et al. 1998, equation 15."""
        from scipy.stats import norm
        from sklearn.ensemble import ExtraTreesRegressor

        worst = max(time for time in self.times.values() if time is not None)
        times = np.log([worst if time is None else time for time in self.times.values()])
        known = self._features[[self._at[row] for row in self.times]]
        seed = int(self.generator.integers(1 << 31))
        forest = ExtraTreesRegressor(_TREES, random_state=seed).fit(known, times)
        unknown = self._features[candidates]
        each = np.array([tree.tree_.predict(unknown)[:, 0] for tree in forest.estimators_])
        gain, spread = times.min() - each.mean(axis=0), np.maximum(each.std(axis=0), _LEAST_SPREAD)
        return gain * norm.cdf(gain / spread) + spread * norm.pdf(gain / spread)
