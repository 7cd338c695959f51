"""The search loop: a strategy proposes, the cache remembers, workers evaluate, and the strategy receives the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeVar

from rocm_perf_lab.autotune.cache import Cache
from rocm_perf_lab.autotune.evaluation_outcome import LOST, EvaluationOutcome
from rocm_perf_lab.autotune.space import Configuration, Space
from rocm_perf_lab.autotune.strategies import Strategy
from rocm_perf_lab.process.child import DeferredInterrupts

_LOOK_SECONDS = 0.2
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class EvaluatedConfiguration:
    """values: by parameter name. reused: whether the outcome came from the cache."""

    values: dict[str, object]
    outcome: EvaluationOutcome
    reused: bool


def timed_evaluations(evaluated: Iterable[EvaluatedConfiguration]) -> list[tuple[float, EvaluatedConfiguration]]:
    """The configurations that ran, each with its time in ms."""
    return [(ms, evaluation) for evaluation in evaluated if (ms := evaluation.outcome.ms) is not None]


def best_of(evaluated: Iterable[EvaluatedConfiguration]) -> EvaluatedConfiguration | None:
    """The fastest configuration that did not fail; the first if several tie; None if all failed."""
    fastest = min(timed_evaluations(evaluated), key=lambda timed: timed[0], default=None)
    return fastest[1] if fastest is not None else None


@dataclass
class SearchLoop:
    """evaluate(values, worker) runs one configuration. budget: the maximum number of evaluations, including reused ones.
    seconds: a time limit, if there is one.

    Unless the loop is asynchronous, results do not depend on the number of workers: a batch is completed before the strategy is
    asked for the next, and the strategy receives results in batch order. In an asynchronous loop, the strategy receives each
    result immediately, and no worker waits for another.
    """

    space: Space
    strategy: Strategy
    evaluate: Callable[[dict[str, object], int], EvaluationOutcome]
    cache: Cache | None
    budget: int
    seconds: float | None = None
    workers: int = 1
    asynchronous: bool = False
    on_evaluation: Callable[[EvaluatedConfiguration, int], None] = lambda _evaluate_one, _number: None
    stop: Callable[[], None] = lambda: None  # makes evaluate() return soon, on an error or an interrupt

    def run(self) -> list[EvaluatedConfiguration]:
        """Run the search and return the results in the order in which the strategy received them."""
        self._done: list[EvaluatedConfiguration] = []
        self._deadline = None if self.seconds is None else time.monotonic() + self.seconds
        self._free: SimpleQueue[int] = SimpleQueue()
        for worker in range(self.workers):
            self._free.put(worker)
        if self.workers == 1 and not self.asynchronous:
            self._run_here()
        else:
            self._run_in_threads()
        return self._done

    def _run_here(self) -> None:
        try:
            while batch := self._next_batch():
                for configuration in batch:
                    if (evaluation := self._evaluate_one(configuration)) is None:
                        return
                    self._tell(configuration, evaluation)
        except BaseException:
            self.stop()
            raise

    def _run_in_threads(self) -> None:
        """Interrupts act only where this thread checks for them: elsewhere, they might leave a lock of the pool held."""
        with DeferredInterrupts() as interrupts:
            pool = ThreadPoolExecutor(self.workers)
            try:
                if self.asynchronous:
                    self._run_asynchronously(pool, interrupts)
                else:
                    self._run_in_batches(pool, interrupts)
            except BaseException:
                self.stop()
                raise
            finally:
                pool.shutdown(cancel_futures=True)

    def _next_batch(self) -> list[Configuration]:
        left = self.budget - len(self._done)
        return self.strategy.propose()[:left] if left > 0 else []

    def _run_in_batches(self, pool: ThreadPoolExecutor, interrupts: DeferredInterrupts) -> None:
        while batch := self._next_batch():
            futures = [pool.submit(self._evaluate_one, configuration) for configuration in batch]
            for configuration, future in zip(batch, futures, strict=True):
                _wait({future}, interrupts)
                if (evaluation := future.result()) is None:
                    return
                self._tell(configuration, evaluation)

    def _run_asynchronously(self, pool: ThreadPoolExecutor, interrupts: DeferredInterrupts) -> None:
        flying: dict[Future[EvaluatedConfiguration | None], Configuration] = {}
        waiting: list[Configuration] = []
        while True:
            while len(flying) < min(self.workers, self.budget - len(self._done)):
                if not (waiting := waiting or self.strategy.propose()):
                    break
                configuration = waiting.pop(0)
                flying[pool.submit(self._evaluate_one, configuration)] = configuration
            if not flying:
                return
            for future in _wait(flying.keys(), interrupts):
                if (evaluation := future.result()) is None:
                    return
                self._tell(flying.pop(future), evaluation)

    def _tell(self, configuration: Configuration, evaluation: EvaluatedConfiguration) -> None:
        self._done.append(evaluation)
        self.strategy.tell(configuration, evaluation.outcome.ms)
        self.on_evaluation(evaluation, len(self._done))

    def _evaluate_one(self, configuration: Configuration) -> EvaluatedConfiguration | None:
        """The result of one configuration; None if the time is up. Unless it is LOST, a new result is cached right
        away, before waiting for other workers.
        """
        if self._deadline is not None and time.monotonic() > self._deadline:
            return None
        values = self.space.named(configuration)
        known = self.cache.get(values) if self.cache else None
        if known is not None:
            return EvaluatedConfiguration(values, known, True)
        worker = self._free.get()
        try:
            outcome = self.evaluate(values, worker)
        finally:
            self._free.put(worker)
        if self.cache and outcome.status != LOST:
            self.cache.put(values, outcome)
        return EvaluatedConfiguration(values, outcome, False)


def _wait(futures: Collection[Future[_Result]], interrupts: DeferredInterrupts) -> set[Future[_Result]]:
    """Wait until at least one future is done, and return all that are."""
    while True:
        interrupts.check()
        if done := wait(futures, _LOOK_SECONDS, FIRST_COMPLETED).done:
            return done
