"""Concurrently runs tasks that wait for other processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from rocm_perf_lab.process.child import raise_if_stopped, stoppable

_LOOK_SECONDS = 0.5
Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """The results, in task order. If any tasks fail, raises the error of the first failed task in task order; tasks that are
    still running then end as if by Ctrl-C.
    """
    stopped = threading.Event()

    def run(task: Callable[[], Result]) -> Result:
        with stoppable(stopped):
            return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        try:
            futures = [pool.submit(run, task) for task in tasks]
            for future in futures:
                while wait([future], _LOOK_SECONDS).not_done:
                    raise_if_stopped()
                future.result()
            return [future.result() for future in futures]
        finally:
            stopped.set()


def mapped(workers: int, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield function(item) for each item, in order, with `workers` running at a time.

    With one worker, each call is made when its result is requested. Calls that are still running when the caller stops
    requesting results, or is interrupted, end as if by Ctrl-C.
    """
    if workers == 1:
        yield from map(function, items)
        return
    stopped, pool = threading.Event(), ThreadPoolExecutor(workers)

    def until_stopped(item: Item) -> Result:
        with stoppable(stopped):
            return function(item)

    try:
        yield from pool.map(until_stopped, items)
    except BaseException:
        stopped.set()  # an interrupt reaches only this thread
        raise
    finally:
        pool.shutdown(cancel_futures=True)
