"""Sequential and guided by a model: a Gaussian process on the logarithm of time, fitted again as results come.

What runs next is the most promising by expected improvement, of a shortlist from the whole space and of the neighbourhoods of
the best. Part is drawn from the model instead (Thompson's sampling), and sometimes one is drawn blindly: expected improvement
alone stays in a local optimum that the model is sure of. Batches do one of two things:

- Two in three look for details: most of the batch are neighbours of the best, as long as it has some, since a model that is
  sure of nothing better would leave it before it is at its foot.
- One in three looks elsewhere, by a smooth model and without neighbours: what the results make likely sees details near them,
  and may miss the trend that leads away.

Batches grow with what is known: early results change the model most, and a fit costs more the more there are.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import ThreadpoolController

from rocm_perf_lab.autotune.gaussian_process import GaussianProcess
from rocm_perf_lab.autotune.neighbourhood import Pool
from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.autotune.strategies import ModelQuality, Options, Strategy

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats, Integers, Reals

_START, _ENDS, _ENDS_OF = 8, 4, 64  # the first; how many of them are those nearest to the ends of lists, of how many
_BATCH, _GROWTH, _LARGEST_BATCH = 2, 0.06, 64
_SMOOTH = 1 / 3  # part of the batches for which the model is a smooth one
_BESIDE = 0.7  # part of the other batches that are neighbours of the best, the fastest by the model first
_DRAWN = 0.25  # part of a batch that is drawn from the model
_BLIND = 0.1  # part of a batch that is drawn without regard to the model
_MOST_FITTED, _MOST_SMOOTH = 150, 250  # of the two models; half of them the best, the others drawn from the rest
_STEPS, _PATIENCE = 3, 1.05  # of the walk over the model's lengths: after how many times the results of the last
_BEST, _FAR = 3, 200  # the best, whose neighbours are candidates, and how many two steps away are drawn from
_RANDOM = 50  # candidates drawn from all
_SHORTLIST, _CLOSER = 200, 1000  # how many, of how many that the model thinks fastest
_STALE = 1.1  # the shortlist is made anew at this many times the results
_FLOOR = (0.02, 0.2)  # added to how far above the best: so far below the median's excess, differences do not count
_LEAST_TIME = 1e-9  # a time of 0 has no logarithm


class SequentialSearch(Strategy):
    _pool: Pool | None = None
    _process: GaussianProcess | None = None
    _walked = 0  # results at the last walk
    _noted = 0  # how many of `asked` the pool knows of

    def __init__(self, space: Space, generator: np.random.Generator, options: Options):
        super().__init__(space, generator, options)
        self._shortlists: dict[bool, Integers] = {}  # of the smooth model and of the other
        self._listed = {True: 0, False: 0}  # results when they were made

    def ask(self) -> list[Configuration]:
        with _one_thread():
            return self._next()

    def _next(self) -> list[Configuration]:
        if self._pool is None and sum(time is not None for time in self.times.values()) < 2:
            return self._first()  # also where all fail: then there is nothing to learn from
        pool = self._note_asked()
        configurations, values = list(self.times), self._values()
        order = np.argsort(values, kind="stable")
        best = [configurations[at] for at in order[:_BEST]]
        pool.add_neighbours(best)
        rest = pool.unasked()
        if not len(rest):
            return []
        smooth = self.generator.random() < _SMOOTH
        process = self._fit(pool, configurations, values, order, smooth)
        least = values.min()
        if len(values) >= _STALE * self._listed[smooth]:
            self._listed[smooth], self._shortlists[smooth] = len(values), _most_promising(pool, process, rest, least)
        near = [pool.near(pool.at[row]) for row in best]
        count = min(_LARGEST_BATCH, max(_BATCH, int(_GROWTH * len(values))))
        candidates = self._candidates(pool, near, self._shortlists[smooth], rest)
        beside = pool.unasked(near[0][0][:0] if smooth else near[0][0])
        chosen = self._chosen(process.predict(pool.points[candidates]), candidates, beside, count, least)
        return [tuple(row) for row in pool.rows[chosen].tolist()]

    def model(self) -> ModelQuality:
        """R2 and residual of the logarithms of excess time, each predicted without itself."""
        if self._process is None:
            return {}
        errors = self._process.errors()
        spread = float(np.var(self._fitted))
        r2 = 1 - float(np.mean(errors**2)) / spread if spread > 0 else None
        return {"r2": r2, "residual": float(np.sqrt(np.mean(errors**2)))}

    def _first(self) -> list[Configuration]:
        """Half of them at the ends of the lists of values: optima often are, and a trend shows best between ends."""
        ends: list[Configuration] = []
        if not self.asked:
            drawn = self.space.sample(self.generator, _ENDS_OF, self.asked.keys())
            ends = sorted(drawn, key=self._off_ends)[:_ENDS]
        return [*ends, *(row for row in self.promising(_START) if row not in ends)][:_START]

    def _off_ends(self, row: Configuration) -> int:
        """How many of the values are neither the first nor the last of theirs."""
        return sum(0 < place < size - 1 for place, size in zip(row, self.space.sizes, strict=True))

    def _note_asked(self) -> Pool:
        pool = self._pool = self._pool or Pool(self.space, self.generator)
        new = list(islice(self.asked, self._noted, None))
        pool.add(new)
        pool.without(new)
        self._noted = len(self.asked)
        return pool

    def _values(self) -> Floats:
        """What the model is of: logarithms of how far above the best. What failed counts as slow as the slowest.

        The logarithm of a logarithm's excess: a program's times span factors, and what matters is order among the best. How
        much it matters is another each time, since one floor for all would suit some spaces only.
        """
        times = np.array(list(self.times.values()), float)  # None becomes NaN
        logarithms = np.log(np.maximum(np.where(np.isnan(times), np.nanmax(times), times), _LEAST_TIME))
        excess = logarithms - logarithms.min()
        floor = np.exp(self.generator.uniform(*np.log(_FLOOR)))
        found: Floats = np.log(excess + floor * (float(np.median(excess)) or 1.0))
        return found

    def _candidates(self, pool: Pool, near: list[tuple[Integers, Integers]], shortlist: Integers, rest: Integers) -> Integers:
        """Positions in the pool, ascending."""
        far = pool.unasked(np.concatenate([two for _, two in near]))
        drawn = [self.generator.choice(some, most) for some, most in ((far, _FAR), (rest, _RANDOM)) if len(some)]
        return pool.unasked(np.unique(np.concatenate([shortlist, *(one for one, _ in near), *drawn])))

    def _fit(
        self, pool: Pool, configurations: list[Configuration], values: Floats, order: Integers, smooth: bool
    ) -> GaussianProcess:
        chosen = order
        most = _MOST_SMOOTH if smooth else _MOST_FITTED
        if len(order) > most:
            chosen = np.append(order[: most // 2], self.generator.choice(order[most // 2 :], most - most // 2, replace=False))
        points, self._fitted = pool.points[[pool.at[configurations[at]] for at in chosen]], values[chosen]
        process = self._process = self._process or GaussianProcess(points.shape[1], self.generator)
        if smooth:
            process.fit_smooth(points, self._fitted)
            return process
        walks = len(order) >= _PATIENCE * self._walked
        self._walked = len(order) if walks else self._walked
        process.fit(points, self._fitted, _STEPS if walks else 0)
        return process

    def _chosen(
        self, predicted: tuple[Reals, Reals], candidates: Integers, beside: Integers, count: int, best: float
    ) -> Integers:
        """Positions. beside: those among the candidates of which a part of _BESIDE is taken first, as far as there are any."""
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


def _most_promising(pool: Pool, process: GaussianProcess, rest: Integers, best: float) -> Integers:
    """Of all candidates. How sure it is costs most to predict, so first comes a selection without: what is far from all
    results is alike uncertain.
    """
    if len(rest) > _CLOSER:
        rest = rest[np.argpartition(process.means(pool.points[rest]), _CLOSER)[:_CLOSER]]
    gain = _expected_improvement(*process.predict(pool.points[rest]), best)
    return rest[np.argsort(-gain, kind="stable")[:_SHORTLIST]]


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _one_thread() -> AbstractContextManager[object]:
    """More threads wait for each other longer than they compute on matrices of this size, and take what programs need."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1)
    return limited


def _expected_improvement(mean: Reals, spread: Reals, best: float) -> Reals:
    """Jones, Schonlau and Welch 1998, equation 15."""
    from scipy.special import ndtr

    gain = best - mean
    ratio = gain / spread
    expected: Reals = gain * ndtr(ratio) + spread * np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi)
    return expected
