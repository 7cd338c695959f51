"""Search strategies, one file each, behind one interface. A strategy never runs anything."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

import numpy as np

from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.autotune.strategy_registry import STRATEGIES, defaults
from rocm_perf_lab.extras import absent_modules, missing_extra

_CHOICE = 4  # this many configurations are drawn for each one wanted; those with the highest occupancy are kept


@dataclass(frozen=True)
class Options:
    """budget: the maximum number of evaluations. own_options: the strategy's own options by name; missing ones take their
    defaults.

    occupancy: maps a configuration's values to its theoretical occupancy (0..1), if that is known before anything runs.
    features: maps values to a tuple of fixed length that describes the compiled code, if all configurations have already been
    compiled. first: configurations that were good in similar searches; they are proposed first.
    """

    budget: int
    own_options: Mapping[str, float] = field(default_factory=dict)
    occupancy: Callable[[dict[str, object]], float] | None = None
    features: Callable[[dict[str, object]], tuple[float, ...]] | None = None
    first: Sequence[Configuration] = ()


class ModelQuality(TypedDict, total=False):
    """How good a model is: its R2 and residual, None if there were too few results, and a warning if it is unreliable."""

    r2: float | None
    residual: float | None
    warning: str


class Strategy(ABC):
    """Proposes configurations and learns from their results.

    propose() returns a batch of valid configurations, never repeating one, and an empty batch when there are no more. The size
    of a batch never depends on the number of workers. tell() receives a configuration's time, or None if it failed. propose()
    may be called again before all results of the previous batch are known.
    """

    def __init__(self, space: Space, generator: np.random.Generator, options: Options):
        self.space = space
        self.generator = generator
        self.options = options
        self.asked: dict[Configuration, None] = {}
        self.times: dict[Configuration, float | None] = {}

    def propose(self) -> list[Configuration]:
        first = [] if self.asked else list(self.options.first)
        batch = [*first, *(row for row in self.ask() if row not in first)]
        self.asked |= dict.fromkeys(batch)
        return batch

    def tell(self, configuration: Configuration, time: float | None) -> None:
        self.times[configuration] = time

    @abstractmethod
    def ask(self) -> list[Configuration]:
        """A batch of configurations that are not in `asked`."""

    def model(self) -> ModelQuality:
        """The quality of the model; empty without a model."""
        return {}

    def promising(self, count: int) -> list[Configuration]:
        """Random configurations that are not in `asked`. If occupancy is known, several times as many are drawn, and those with
        the highest occupancy are returned.
        """
        occupancy = self.options.occupancy
        if occupancy is None:
            return self.space.sample(self.generator, count, self.asked.keys())
        drawn = self.space.sample(self.generator, _CHOICE * count, self.asked.keys())
        return sorted(drawn, key=lambda row: -occupancy(self.space.named(row)))[:count]


def create(name: str, space: Space, seed: int, options: Options) -> Strategy:
    """The strategy called `name`, one of STRATEGIES. The same seed and the same results lead to the same proposals.

    Raises UnavailableError if the packages that it needs are not installed.
    """
    registered = STRATEGIES[name]
    if registered.extra is not None and absent_modules(registered.extra):
        raise missing_extra(f"the strategy {name} needs scikit-learn", registered.extra)
    kind = getattr(importlib.import_module(f"{__name__}.{registered.module}"), registered.name)
    options = replace(options, own_options=defaults(name) | dict(options.own_options))
    strategy: Strategy = kind(space, np.random.default_rng(seed), options)
    return strategy
