"""Seed, predict, prune and confirm: a quadratic model fitted to a space-filling sample decides what to run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.autotune.strategies import ModelQuality, Strategy

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from rocm_perf_lab.arrays import Floats, Integers

MIN_SEEDS = 10
TRUSTED_R2 = 0.75
_POOL = 100_000
_BATCH = 16
_FOLDS = 5
_TILE = ("BLOCK_M", "BLOCK_N")  # tile of a matrix product; the number of accumulators is the product of the two


class ThreePhaseSearch(Strategy):
    """The model's R2 is computed from predictions for configurations left out of the fit (five folds).

    The model's terms are all parameters, their squares and pairwise products. In a space with BLOCK_M and BLOCK_N, the square
    of the product of these two is added. Each number that is known about the compiled code adds one linear term.
    """

    _model: ModelQuality = {}
    _queue: list[Configuration] | None = None

    def ask(self) -> list[Configuration]:
        if not self.asked:
            return self._seeds()
        if self._queue is None:
            self._queue = self._predicted_order()
        batch, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
        return batch

    def model(self) -> ModelQuality:
        return self._model

    def _seeds(self) -> list[Configuration]:
        """Valid points of a Halton sequence, followed by random ones if there are too few."""
        from scipy.stats import qmc

        pool, complete = self.space.pool(self.generator, _POOL)
        size = min(self.options.budget, len(pool) if complete else self.space.product)
        count = max(MIN_SEEDS, math.ceil(self.options.own_options["seed_fraction"] * size))
        sizes = np.array(self.space.sizes)
        points = qmc.Halton(len(sizes), rng=self.generator).random(50 * count)
        chosen = dict.fromkeys(tuple(row) for row in (points * sizes).astype(int).tolist() if tuple(row) in self.space)
        seeds = list(chosen)[:count]
        return seeds + self.space.sample(self.generator, count - len(seeds), set(seeds))

    def _predicted_order(self) -> list[Configuration]:
        pool = [row for row in map(tuple, self.space.pool(self.generator, _POOL)[0].tolist()) if row not in self.asked]
        good = {row: time for row, time in self.times.items() if time is not None}
        if len(good) < _FOLDS or not pool:
            warning = "too few configurations ran to fit a model: nothing is pruned"
            self._model = {"r2": None, "residual": None, "warning": warning}
            return [pool[index] for index in self.generator.permutation(len(pool))]
        regression, times, r2 = self._fit(good)
        predicted = regression.predict(self._features(pool))
        order = np.argsort(predicted, kind="stable")
        if r2 >= TRUSTED_R2:
            order = order[predicted[order] <= self.options.own_options["prune_factor"] * times.min()]
        return [pool[index] for index in order]

    def _fit(self, good: dict[Configuration, float]) -> tuple[Pipeline, Floats, float]:
        """The fitted model, the times it was fitted to, and its R2."""
        from sklearn.compose import ColumnTransformer
        from sklearn.linear_model import LinearRegression
        from sklearn.metrics import r2_score
        from sklearn.model_selection import cross_val_predict
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures, StandardScaler

        known, times = self._features(list(good)), np.array(list(good.values()))
        parameters = len(self.space.names)
        terms = ColumnTransformer(
            [("parameters", PolynomialFeatures(2), slice(0, parameters))],
            remainder="passthrough",
        )
        regression = make_pipeline(StandardScaler(), terms, LinearRegression())
        left_out = cross_val_predict(regression, known, times, cv=_FOLDS)
        r2 = float(r2_score(times, left_out))
        self._model = {"r2": r2, "residual": float(np.sqrt(np.mean((times - left_out) ** 2)))}
        if r2 < TRUSTED_R2:
            self._model["warning"] = f"R2 of {r2:.2f} is below {TRUSTED_R2}: the model is not trusted and nothing is pruned"
        return regression.fit(known, times), times, r2

    def _features(self, configurations: list[Configuration]) -> Floats:
        """The parameters, one column each, followed by the terms that are not products of two parameters."""
        values = _numeric(self.space, np.array(configurations))
        names, columns = self.space.names, [values]
        if all(name in names for name in _TILE):
            tile = values[:, names.index("BLOCK_M")] * values[:, names.index("BLOCK_N")]
            columns.append(tile[:, None] ** 2)
        if (features := self.options.features) is not None:
            columns.append(np.array([features(self.space.named(row)) for row in configurations], float))
        return np.column_stack(columns)


def _numeric(space: Space, configurations: Integers) -> Floats:
    """An array (count, parameters): the values themselves, or their positions if a parameter's values are not all numbers."""
    columns = []
    for column, choices in enumerate(space.values):
        is_number = all(isinstance(value, (int, float)) for value in choices)
        table = np.array(choices if is_number else range(len(choices)), float)
        columns.append(table[configurations[:, column]])
    return np.stack(columns, axis=1)
