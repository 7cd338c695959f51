"""The configurations from which a model-guided search chooses: their coordinates, and which ones are neighbours."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.autotune.space import Configuration, Space

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask, Reals

_MAX_CONFIGURATIONS = 30_000
_FEATURES = 1.0  # range of a feature's coordinate; a parameter's coordinate has a range of 1


class CandidatePool:
    """All configurations of a space or, if it is large, a sample with neighbours added to it. rows: array (count, parameters).

    points: array (count, coordinates), with one coordinate for each parameter that has more than one value, followed by one for
    each feature that varies. A parameter's coordinate is the position of the value in its list, scaled to 0..1, because a list
    that ascends unevenly (1, 2, 4, 8) does so on purpose. features: as in strategies.Options, scaled to 0.._FEATURES.
    """

    def __init__(
        self,
        space: Space,
        generator: np.random.Generator,
        features: Callable[[dict[str, object]], tuple[float, ...]] | None = None,
    ):
        self._space, self._features = space, features
        rows, self.is_complete = space.pool(generator, _MAX_CONFIGURATIONS)
        self._varying = [index for index, size in enumerate(space.sizes) if size > 1]
        self.index_of: dict[Configuration, int] = {}
        self._expanded: set[Configuration] = set()
        self.rows: Integers = np.empty((0, len(space.sizes)), np.int16)
        self._unasked: Mask = np.empty(0, bool)
        self._extend(rows)

    def add(self, configurations: Iterable[Configuration]) -> None:
        """Add the configurations that are not in the pool yet."""
        new = [row for row in dict.fromkeys(configurations) if row not in self.index_of]
        if new:
            self._extend(np.array(new, np.int16))

    def add_neighbours(self, configurations: Collection[Configuration]) -> None:
        if not self.is_complete:
            self.add(near for row in configurations if row not in self._expanded for near in self._space.neighbours(row))
            self._expanded.update(configurations)

    def exclude(self, asked: Collection[Configuration]) -> None:
        """Remove these configurations, which must be in the pool, from the candidates."""
        self._unasked[[self.index_of[row] for row in asked]] = False

    def unasked(self, positions: Integers | None = None) -> Integers:
        """The positions of all candidates, in ascending order, or of only those among `positions`, in the given order."""
        return self._unasked.nonzero()[0] if positions is None else positions[self._unasked[positions]]

    def neighbours_of(self, position: int) -> tuple[Integers, Integers]:
        """(positions of configurations that differ from this one in one parameter, positions of those that differ in two)."""
        if position not in self._near:
            different = (self._compared != self._compared[position]).sum(axis=1)
            self._near[position] = ((different == 1).nonzero()[0], (different == 2).nonzero()[0])
        return self._near[position]

    def _extend(self, rows: Integers) -> None:
        first = len(self.rows)
        self.rows = np.concatenate([self.rows, rows])
        self.index_of.update((row, first + number) for number, row in enumerate(map(tuple, rows.tolist())))
        self._unasked = np.append(self._unasked, np.ones(len(rows), bool))
        self._compared = self.rows[:, self._varying]
        places = self._compared / (np.array(self._space.sizes)[self._varying] - 1.0)
        self.points = np.column_stack([places, self._scaled_features()]).astype(np.float32)
        self._near: dict[int, tuple[Integers, Integers]] = {}

    def _scaled_features(self) -> Reals:
        """The scaled features of all rows, as an array (count, features that vary)."""
        if self._features is None:
            return np.empty((len(self.rows), 0))
        features = np.array([self._features(self._space.named(tuple(row))) for row in self.rows.tolist()])
        low, extent = features.min(axis=0), np.ptp(features, axis=0)
        varying = extent > 0
        scaled: Reals = _FEATURES * (features - low)[:, varying] / extent[varying]
        return scaled
