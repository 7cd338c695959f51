"""Compiles configurations before any of them runs, using all workers at once."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

from rocm_perf_lab.autotune.cache import canonical
from rocm_perf_lab.autotune.triton_kernel.static_features import StaticFeatures, static_features, unlaunchable
from rocm_perf_lab.autotune.triton_kernel.workers import Values, Workers
from rocm_perf_lab.process.child import stoppable
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError


class CompiledConfigurations:
    """failures: maps each configuration that does not compile or does not fit on the target (its values, as written by
    canonical()) to the reason.
    """

    def __init__(self, workers: Workers, stopped: threading.Event, target: str | None):
        self._workers, self._stopped, self._target = workers, stopped, target
        self._features: dict[str, StaticFeatures] = {}
        self.failures: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._features)

    def features(self, values: Values) -> StaticFeatures | None:
        """The features of a compiled configuration; None if it was not or could not be compiled."""
        return self._features.get(canonical(values))

    def compile(self, every: Iterable[Values]) -> None:
        """Compile these configurations into Triton's cache; those that cannot run are added to `failures`."""
        queue: SimpleQueue[Values] = SimpleQueue()
        for values in every:
            queue.put(values)
        with ThreadPoolExecutor(self._workers.count) as pool:
            try:
                for future in [pool.submit(self._work, worker, queue) for worker in range(self._workers.count)]:
                    future.result()
            except BaseException:
                self._stopped.set()
                raise

    def _work(self, worker: int, queue: SimpleQueue[Values]) -> None:
        with stoppable(self._stopped):
            while True:
                try:
                    values = queue.get_nowait()
                except Empty:
                    return
                self._compile(worker, values)

    def _compile(self, worker: int, values: Values) -> None:
        name = canonical(values)
        try:
            answer = self._workers.ask(worker, do="compile", values=values)
        except (ScriptExitedError, ScriptTimeoutError) as error:
            answer = {"error": str(error)}
        if "error" in answer:
            self.failures[name] = answer["error"]
            return
        self._features[name] = static_features(answer, self._target)
        if (why := unlaunchable(self._features[name])) is not None:
            self.failures[name] = why
