"""Parallel tasks: order, errors, and that nothing continues after one has failed."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time

import pytest

from rocm_perf_lab.process.child import wait
from rocm_perf_lab.process.side_by_side import mapped, side_by_side


def test_results_are_in_the_order_of_the_tasks_which_run_in_parallel():
    both = threading.Barrier(2, timeout=20)
    assert side_by_side([lambda: both.wait() * 0 + 1, lambda: both.wait() * 0 + 2]) == [1, 2]


def wait_for_a_child(started: threading.Event) -> None:
    """Sleeps for ten minutes, unless this thread is stopped."""
    child = subprocess.Popen(["sleep", "600"])
    started.set()
    try:
        wait(child)
    finally:
        child.kill()
        child.wait()


def test_the_first_tasks_error_is_raised_and_the_others_children_end():
    started = threading.Event()

    def failing():
        started.wait(20)
        raise ValueError("first")

    began = time.monotonic()
    with pytest.raises(ValueError, match="first"):
        side_by_side([failing, lambda: wait_for_a_child(started)])
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("workers", [1, 3])
def test_mapped_results_are_in_the_order_of_the_items_with_one_task_per_worker_at_a_time(workers):
    running, most, lock = 0, 0, threading.Lock()

    def squared(number):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02 * (4 - number % 4))
        with lock:
            running -= 1
        return number * number

    assert list(mapped(workers, squared, range(9))) == [number * number for number in range(9)]
    assert most == workers


def test_once_no_more_results_are_requested_the_other_children_end():
    started, ended = threading.Event(), threading.Event()

    def item(number):
        if number == 0:
            started.wait(20)
            return
        with contextlib.suppress(KeyboardInterrupt):
            wait_for_a_child(started)
        ended.set()

    results = mapped(2, item, range(2))
    next(results)
    results.close()
    assert ended.is_set()
