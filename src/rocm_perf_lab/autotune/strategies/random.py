"""Uniform random search without repetition: the yardstick for the other strategies."""

from __future__ import annotations

from rocm_perf_lab.autotune.space import Configuration
from rocm_perf_lab.autotune.strategies import Strategy

_BATCH = 64


class RandomSearch(Strategy):
    def ask(self) -> list[Configuration]:
        return self.space.sample(self.generator, _BATCH, self.asked.keys())
