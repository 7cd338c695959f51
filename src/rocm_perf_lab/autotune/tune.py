"""The search: a strategy proposes, the cache remembers, workers evaluate, and the strategy hears of it in its own order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rocm_perf_lab.autotune.cache import Cache
from rocm_perf_lab.autotune.outcome import OK, Outcome
from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.autotune.strategies import Strategy


@dataclass(frozen=True)
class Evaluated:
    """values: by name. reused: whether it came from the cache."""

    values: dict[str, object]
    outcome: Outcome
    reused: bool


def best_of(evaluated: Iterable[Evaluated]) -> Evaluated | None:
    """The fastest that did not fail, the first of equals."""
    good = [one for one in evaluated if one.outcome.status == OK]
    return min(good, key=lambda one: one.outcome.ms, default=None)


@dataclass
class Search:
    """evaluate(values, worker) runs one configuration. budget: evaluations, those reused included; seconds: or a time.

    Results do not depend on the number of workers: a batch is complete before the strategy is asked again.
    """

    space: Space
    strategy: Strategy
    evaluate: Callable[[dict[str, object], int], Outcome]
    cache: Cache | None
    budget: int
    seconds: float | None = None
    workers: int = 1
    heard: Callable[[Evaluated, int], None] = lambda _one, _number: None

    def run(self) -> list[Evaluated]:
        """In the order in which the strategy proposed them."""
        done: list[Evaluated] = []
        end = None if self.seconds is None else time.monotonic() + self.seconds
        with ThreadPoolExecutor(self.workers) as pool:
            while len(done) < self.budget and (batch := self.strategy.ask()[: self.budget - len(done)]):
                for at in range(0, len(batch), self.workers):
                    if end is not None and time.monotonic() > end:
                        return done
                    for configuration, one in self._together(pool, batch[at : at + self.workers]):
                        done.append(one)
                        self.strategy.tell(configuration, one.outcome.ms)
                        self.heard(one, len(done))
        return done

    def _together(self, pool: ThreadPoolExecutor, configurations: list[Configuration]):
        if len(configurations) == 1:  # in this thread, which an interrupt reaches
            return [(configurations[0], self._one(configurations[0], 0))]
        return list(zip(configurations, pool.map(self._one, configurations, range(len(configurations))), strict=True))

    def _one(self, configuration: Configuration, worker: int) -> Evaluated:
        values = self.space.named(configuration)
        known = self.cache.get(values) if self.cache else None
        if known is not None:
            return Evaluated(values, known, True)
        outcome = self.evaluate(values, worker)
        if self.cache:
            self.cache.put(values, outcome)
        return Evaluated(values, outcome, False)
