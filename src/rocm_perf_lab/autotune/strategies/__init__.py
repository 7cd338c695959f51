"""Search strategies, one file each, behind one interface. A strategy never runs anything."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.autotune.space import Configuration, Space

STRATEGIES = ("sequential", "three-phase", "random")


@dataclass(frozen=True)
class Options:
    """budget: evaluations at most. seed_fraction, prune_factor: of the three-phase method."""

    budget: int
    seed_fraction: float = 0.2
    prune_factor: float = 1.75


class Strategy(ABC):
    """Proposes configurations and learns what came of them.

    ask() returns a batch: valid configurations, none ever twice, empty when there are no more. Its size never depends on how
    many workers evaluate it. tell() takes the time of each, None of one that failed, in the order of the batch.
    """

    def __init__(self, space: Space, generator: np.random.Generator, options: Options):
        self.space = space
        self.generator = generator
        self.options = options
        self.times: dict[Configuration, float | None] = {}

    @abstractmethod
    def ask(self) -> list[Configuration]: ...

    def tell(self, configuration: Configuration, time: float | None) -> None:
        self.times[configuration] = time

    def model(self) -> dict[str, object]:
        """What the model is worth: {"r2": ..., "residual": ..., "warning": ...}; empty without one."""
        return {}


def create(name: str, space: Space, seed: int, options: Options) -> Strategy:
    """The strategy called `name`, one of STRATEGIES. The same seed proposes the same, given the same answers."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    return module.Search(space, np.random.default_rng(seed), options)
