"""Sequential search guided by a model: a Gaussian process on a logarithmic time scale, refitted as results arrive.

The next configurations are those with the highest expected improvement, both in a shortlist from the whole space and near the
best configurations. Some are drawn from the model instead (Thompson sampling), and some at random: with expected improvement
alone, a search gets stuck in a local optimum once the model is certain about it. There are two kinds of batches:

- Two in three explore details: most of such a batch consists of neighbours of the best configuration, if any are left.
  Without this rule, a search whose model expects nothing better there would move away before finding the minimum.
- One in three looks elsewhere, with a smooth model and no preference for neighbours: a model fitted closely to the results
  picks up details near them, and may miss a trend that leads away from them.

Batches grow with the number of results: early results change the model most, and a fit costs more the more results there are.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import ThreadpoolController

from rocm_perf_lab.autotune.candidate_pool import CandidatePool
from rocm_perf_lab.autotune.gaussian_process import GaussianProcess
from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.autotune.strategies import ModelQuality, Options, Strategy

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats, Integers, Reals

_START, _ENDS, _ENDS_OF = 8, 4, 64  # first batch: its size; how many are at ends of value lists; draws to choose these from
_BATCH, _GROWTH, _MAX_BATCH = 2, 0.06, 64
_SMOOTH = 1 / 3  # share of the batches for which the model is smooth
_BESIDE = 0.7  # share of any other batch taken from the neighbours of the best: those with the lowest predicted times
_DRAWN = 0.25  # share of a batch that is drawn from the model
_BLIND = 0.1  # share of a batch that is drawn at random, regardless of the model
_MAX_FITTED, _MAX_FITTED_SMOOTH = 150, 250  # at most this many results are fitted: half are the best, half drawn from the rest
_STEPS, _PATIENCE = 3, 1.05  # steps of the walk over length scales, and growth in the number of results before the next walk
_BEST, _FAR = 3, 200  # best configurations whose neighbours are candidates; draws from configurations two steps away
_RANDOM = 50  # candidates drawn from all configurations
_SHORTLIST, _CLOSER = 200, 1000  # size of the shortlist, and of the preselection that the model expects to be fastest
_STALE = 1.1  # the shortlist is renewed once the number of results has grown by this factor
_FLOOR = (0.02, 0.2)  # share of the median excess that is added to each excess over the best; smaller differences hardly count
_MIN_TIME = 1e-9  # a time of 0 has no logarithm


class SequentialSearch(Strategy):
    _pool: CandidatePool | None = None
    _process: GaussianProcess | None = None
    _walked = 0  # number of results at the last walk
    _noted = 0  # number of configurations in `asked` that the pool knows about

    def __init__(self, space: Space, generator: np.random.Generator, options: Options):
        super().__init__(space, generator, options)
        self._shortlists: dict[bool, Integers] = {}  # keyed by whether the model is smooth
        self._listed = {True: 0, False: 0}  # number of results when each shortlist was made

    def ask(self) -> list[Configuration]:
        with _one_thread():
            return self._next_batch()

    def _next_batch(self) -> list[Configuration]:
        if self._pool is None and sum(time is not None for time in self.times.values()) < 2:
            return self._first_batch()  # until two configurations have run, there is nothing to learn from
        pool = self._note_asked()
        configurations, values = list(self.times), self._values_to_model()
        order = np.argsort(values, kind="stable")
        best = [configurations[index] for index in order[:_BEST]]
        pool.add_neighbours(best)
        unasked = pool.unasked()
        if not len(unasked):
            return []
        smooth = self.generator.random() < _SMOOTH
        process = self._fit(pool, configurations, values, order, smooth)
        least = values.min()
        if len(values) >= _STALE * self._listed[smooth]:
            self._listed[smooth], self._shortlists[smooth] = len(values), _most_promising(pool, process, unasked, least)
        near = [pool.neighbours_of(pool.index_of[row]) for row in best]
        candidates = self._candidates(pool, near, self._shortlists[smooth], unasked)
        beside = pool.unasked(near[0][0][:0] if smooth else near[0][0])
        chosen = self._choose_batch(
            process.predict(pool.points[candidates]), candidates, beside, _batch_size(len(values)), least
        )
        return [tuple(row) for row in pool.rows[chosen].tolist()]

    def model(self) -> ModelQuality:
        """R2 and residual of leave-one-out predictions of the logarithms of excess time; empty before the first fit."""
        if self._process is None:
            return {}
        errors = self._process.errors()
        spread = float(np.var(self._fitted))
        r2 = 1 - float(np.mean(errors**2)) / spread if spread > 0 else None
        return {"r2": r2, "residual": float(np.sqrt(np.mean(errors**2)))}

    def _first_batch(self) -> list[Configuration]:
        """A batch before the first fit. Half of the very first batch is at the ends of the lists of values, where optima often
        lie and trends are clearest.
        """
        ends: list[Configuration] = []
        if not self.asked:
            drawn = self.space.sample(self.generator, _ENDS_OF, self.asked.keys())
            ends = sorted(drawn, key=self._count_off_ends)[:_ENDS]
        return [*ends, *(row for row in self.promising(_START) if row not in ends)][:_START]

    def _count_off_ends(self, row: Configuration) -> int:
        """How many of the values are neither the first nor the last of their list."""
        return sum(0 < position < size - 1 for position, size in zip(row, self.space.sizes, strict=True))

    def _note_asked(self) -> CandidatePool:
        pool = self._pool = self._pool or CandidatePool(self.space, self.generator, self.options.features)
        new = list(islice(self.asked, self._noted, None))
        pool.add(new)
        pool.exclude(new)
        self._noted = len(self.asked)
        return pool

    def _values_to_model(self) -> Floats:
        """The quantity to model: logarithms of the excess over the best. A failed configuration counts as the slowest.

        The excess is a difference of logarithms of time, because a program's times span orders of magnitude. The logarithm of
        the excess is taken in turn, because what matters is the order among the best. A floor added beforehand determines how
        much that order counts; it is drawn at random each time, since no single floor suits all spaces.
        """
        times = np.array(list(self.times.values()), float)  # None becomes NaN
        logarithms = np.log(np.maximum(np.where(np.isnan(times), np.nanmax(times), times), _MIN_TIME))
        excess = logarithms - logarithms.min()
        floor = np.exp(self.generator.uniform(*np.log(_FLOOR)))
        transformed: Floats = np.log(excess + floor * (float(np.median(excess)) or 1.0))
        return transformed

    def _candidates(
        self, pool: CandidatePool, near: list[tuple[Integers, Integers]], shortlist: Integers, unasked: Integers
    ) -> Integers:
        """The candidates' positions in the pool, in ascending order."""
        far = pool.unasked(np.concatenate([next_nearest for _, next_nearest in near]))
        drawn = [
            self.generator.choice(positions, most) for positions, most in ((far, _FAR), (unasked, _RANDOM)) if len(positions)
        ]
        return pool.unasked(np.unique(np.concatenate([shortlist, *(nearest for nearest, _ in near), *drawn])))

    def _fit(
        self, pool: CandidatePool, configurations: list[Configuration], values: Floats, order: Integers, smooth: bool
    ) -> GaussianProcess:
        chosen = order
        most = _MAX_FITTED_SMOOTH if smooth else _MAX_FITTED
        if len(order) > most:
            chosen = np.append(order[: most // 2], self.generator.choice(order[most // 2 :], most - most // 2, replace=False))
        points, self._fitted = pool.points[[pool.index_of[configurations[index]] for index in chosen]], values[chosen]
        process = self._process = self._process or GaussianProcess(points.shape[1], self.generator)
        if smooth:
            process.fit_smooth(points, self._fitted)
            return process
        walks = len(order) >= _PATIENCE * self._walked
        self._walked = len(order) if walks else self._walked
        process.fit(points, self._fitted, _STEPS if walks else 0)
        return process

    def _choose_batch(
        self, predicted: tuple[Reals, Reals], candidates: Integers, beside: Integers, count: int, best: float
    ) -> Integers:
        """The positions of the next batch. predicted: mean and spread of each candidate. beside: neighbours of the best; if
        there are any, they make up the share _BESIDE of the batch.
        """
        mean, spread = predicted
        count = min(len(candidates), count)
        neighbours, drawn, blind = (int(part * count + self.generator.random()) for part in (_BESIDE, _DRAWN, _BLIND))
        neighbours = min(neighbours, len(beside))
        order = np.argsort(-_expected_improvement(mean, spread, best), kind="stable")
        chosen = order[: max(0, count - neighbours - drawn)].tolist()
        beside = np.setdiff1d(np.searchsorted(candidates, beside), chosen)
        chosen += beside[np.argsort(mean[beside], kind="stable")[: min(neighbours, count)]].tolist()
        while len(chosen) < count:
            draw = mean + spread * self.generator.standard_normal(len(mean))
            draw[chosen] = np.inf
            chosen.append(int(draw.argmin()))
        if blind := min(blind, len(candidates) - count):
            chosen[-blind:] = self.generator.choice(np.setdiff1d(order, chosen), blind, replace=False).tolist()
        positions: Integers = candidates[chosen]
        return positions


def _batch_size(results: int) -> int:
    return min(_MAX_BATCH, max(_BATCH, int(_GROWTH * results)))


def _most_promising(pool: CandidatePool, process: GaussianProcess, candidates: Integers, best: float) -> Integers:
    """The shortlist, chosen from all candidates.

    Uncertainty is the costliest part of a prediction, so a preselection ignores it. This does little harm: far from all
    results, uncertainty hardly varies.
    """
    if len(candidates) > _CLOSER:
        candidates = candidates[np.argpartition(process.means(pool.points[candidates]), _CLOSER)[:_CLOSER]]
    gain = _expected_improvement(*process.predict(pool.points[candidates]), best)
    return candidates[np.argsort(-gain, kind="stable")[:_SHORTLIST]]


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[object]:
    """A context in which linear algebra uses one thread: on matrices of this size, several threads would wait longer than they
    compute, and would take cores away from the programs being tuned.
    """
    limited: AbstractContextManager[object] = _libraries().limit(limits=1)
    return limited


def _expected_improvement(mean: Reals, spread: Reals, best: float) -> Reals:
    """Jones, Schonlau and Welch 1998, equation 15."""
    gain = best - mean
    ratio = gain / spread
    expected: Reals = gain * _normal_distribution(ratio) + spread * np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi)
    return expected


def _normal_distribution(values: Reals) -> Reals:
    """The distribution function of the standard normal distribution."""
    return np.array([0.5 * math.erfc(value) for value in (values * -(0.5**0.5)).tolist()], values.dtype)
