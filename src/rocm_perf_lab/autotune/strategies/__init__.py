"""Search strategies, one file each, behind one interface. A strategy never runs anything."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict

import numpy as np

from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.autotune.strategy_registry import STRATEGIES, defaults

_CHOICE = 4  # first configurations are taken from this many times as many, by what is known of them


@dataclass(frozen=True)
class Options:
    """budget: evaluations at most. own: the strategy's own options, by name; what is missing has its default.

    occupancy: of values by name, the theoretical occupancy within 0..1 as far as it is known before anything runs.
    """

    budget: int
    own: Mapping[str, float] = field(default_factory=dict)
    occupancy: Callable[[dict[str, object]], float] | None = None


class ModelQuality(TypedDict, total=False):
    """What a model is worth: its R2 and residual, None where there were too few results, and what speaks against it."""

    r2: float | None
    residual: float | None
    warning: str


class Strategy(ABC):
    """Proposes configurations and learns what came of them.

    propose() returns a batch: valid configurations, none ever twice, empty when there are no more. Its size never depends on
    how many workers evaluate it. tell() takes the time of each, None of one that failed. It may be asked again before all were
    told.
    """

    def __init__(self, space: Space, generator: np.random.Generator, options: Options):
        self.space = space
        self.generator = generator
        self.options = options
        self.asked: dict[Configuration, None] = {}
        self.times: dict[Configuration, float | None] = {}

    def propose(self) -> list[Configuration]:
        batch = self.ask()
        self.asked |= dict.fromkeys(batch)
        return batch

    def tell(self, configuration: Configuration, time: float | None) -> None:
        self.times[configuration] = time

    @abstractmethod
    def ask(self) -> list[Configuration]:
        """A batch of configurations that are not in `asked`."""

    def model(self) -> ModelQuality:
        """Empty without one."""
        return {}

    def promising(self, count: int) -> list[Configuration]:
        """Drawn at random; where occupancy is known, those of high occupancy out of several times as many."""
        occupancy = self.options.occupancy
        if occupancy is None:
            return self.space.sample(self.generator, count, self.asked.keys())
        drawn = self.space.sample(self.generator, _CHOICE * count, self.asked.keys())
        return sorted(drawn, key=lambda row: -occupancy(self.space.named(row)))[:count]


def create(name: str, space: Space, seed: int, options: Options) -> Strategy:
    """The strategy called `name`, one of STRATEGIES. The same seed proposes the same, given the same answers."""
    registered = STRATEGIES[name]
    kind = getattr(importlib.import_module(f"{__name__}.{registered.module}"), registered.name)
    options = replace(options, own=defaults(name) | dict(options.own))
    strategy: Strategy = kind(space, np.random.default_rng(seed), options)
    return strategy
