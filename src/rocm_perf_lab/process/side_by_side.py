"""Work that waits for other processes, done at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from rocm_perf_lab.process.child import expect_more, stoppable

_LOOK_SECONDS = 0.5
Item = TypeVar("Item")
Result = TypeVar("Result")


def side_by_side(tasks: Sequence[Callable[[], Result]]) -> list[Result]:
    """The results in the tasks' order. Raises the error of the first task that has one; the others end then, as on Ctrl-C."""
    stopped = threading.Event()

    def run(task: Callable[[], Result]) -> Result:
        with stoppable(stopped):
            return task()

    with ThreadPoolExecutor(len(tasks)) as pool:
        try:
            futures = [pool.submit(run, task) for task in tasks]
            for future in futures:
                while wait([future], _LOOK_SECONDS).not_done:
                    expect_more()
                future.result()
            return [future.result() for future in futures]
        finally:
            stopped.set()


def mapped(workers: int, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """function(item) of each, in the items' order, `workers` at a time; one after the other, as they are asked for, with one
    worker. Those that are not done when the caller stops asking, or is interrupted, end as on Ctrl-C."""
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
        stopped.set()  # an interrupt reaches this thread alone
        raise
    finally:
        pool.shutdown(cancel_futures=True)
