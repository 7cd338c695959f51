"""Runs evaluations on the workers of a Dask cluster. Each worker declares its GPU as the resource GPU=1.

Each task carries everything that a worker needs: a Plan, the working folder (on a shared file system), a configuration's values
and, once it is known, how to measure. If a worker goes away, Dask gives its tasks to another worker.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rocm_perf_lab.autotune.bench import Bench, Note, Plan, TuningDevice, bench_of
from rocm_perf_lab.autotune.evaluation_outcome import LOST, EvaluationOutcome
from rocm_perf_lab.dask_cluster import client_of
from rocm_perf_lab.errors import UnavailableError

if TYPE_CHECKING:
    from distributed import Client

_Arguments = ParamSpec("_Arguments")
_Found = TypeVar("_Found")
_RESOURCE = "GPU"
_LOOK_SECONDS = 0.5


class Cluster:
    """Evaluates configurations on the workers. evaluate() may be called from several threads.

    evaluate() raises UnavailableError if workers have different devices, and CancelledError after stop().
    """

    def __init__(self, client: Client, plan: Plan, note: Note):
        self._client, self._plan, self._folder, self._note = client, plan, Path.cwd(), note
        self._stopped = threading.Event()
        if not self.gpus():
            note(f"no worker offers {_RESOURCE}=1 yet: waiting for one")
        self.tuning_device = self._run_task(_describe, plan, self._folder)
        self._measure: str | None = None

    def gpus(self) -> int:
        workers = self._client.scheduler_info(n_workers=-1)["workers"].values()
        return int(sum(worker["resources"].get(_RESOURCE, 0) for worker in workers))

    def evaluate(self, values: dict[str, object], _worker: int) -> EvaluationOutcome:
        from distributed import KilledWorker

        try:
            device, outcome = self._run_task(_evaluate, self._plan, self._folder, values, self._measure)
        except KilledWorker as error:
            return EvaluationOutcome(LOST, f"every worker that ran it disappeared: {' '.join(str(error).split())}")
        if device != self.tuning_device:
            message = f"workers have different devices: {self.tuning_device.description} and {device.description}"
            raise UnavailableError(message, "give --scheduler a cluster of identical GPUs: their times are compared")
        return outcome

    def keep(self, measure: str) -> None:
        """Have the workers measure in the same way as for an earlier result: GPU or WALL."""
        self._measure = measure

    def stop(self) -> None:
        self._stopped.set()

    def _run_task(self, task: Callable[_Arguments, _Found], *arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Found:
        from distributed import TimeoutError as NotYet

        future = self._client.submit(task, *arguments, **named, pure=False, resources={_RESOURCE: 1})
        while not self._stopped.is_set():
            with contextlib.suppress(NotYet, TimeoutError):
                result: _Found = future.result(timeout=_LOOK_SECONDS)
                return result
        future.cancel()
        raise CancelledError


@contextlib.contextmanager
def cluster_of(scheduler: str, plan: Plan, note: Note) -> Iterator[Cluster]:
    with client_of(scheduler) as client:
        yield Cluster(client, plan, note)


_benches: dict[tuple[Plan, Path], Bench] = {}
_open = contextlib.ExitStack()  # stays open for the lifetime of the worker process
_one_at_a_time = threading.RLock()  # tasks change the working folder, which all threads of the process share


def _describe(plan: Plan, folder: Path) -> TuningDevice:
    with _bench(plan, folder) as bench:
        return bench.tuning_device


def _evaluate(
    plan: Plan, folder: Path, values: dict[str, object], measure: str | None
) -> tuple[TuningDevice, EvaluationOutcome]:
    with _bench(plan, folder) as bench:
        if measure is not None:
            bench.evaluation.keep(measure)
        return bench.tuning_device, bench.evaluation(values)


@contextlib.contextmanager
def _bench(plan: Plan, folder: Path) -> Iterator[Bench]:
    """The bench, shared by all tasks of a plan, so that the device is selected only once."""
    with _one_at_a_time:
        before = os.getcwd()
        os.chdir(folder)
        try:
            if (plan, folder) not in _benches:
                _benches[plan, folder] = _open.enter_context(bench_of(plan, plan.program()[1], lambda _text: None))
            yield _benches[plan, folder]
        finally:
            os.chdir(before)
