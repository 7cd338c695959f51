"""Tasks side by side: order, errors, and that nothing goes on after one failed."""

from __future__ import annotations

import subprocess
import threading
import time

import pytest

from rocm_perf_lab.process.child import wait
from rocm_perf_lab.process.side_by_side import side_by_side


def test_results_come_in_the_tasks_order_and_the_tasks_run_at_the_same_time():
    both = threading.Barrier(2, timeout=20)
    assert side_by_side([lambda: both.wait() * 0 + 1, lambda: both.wait() * 0 + 2]) == [1, 2]


def test_the_first_tasks_error_is_raised_and_the_others_children_end():
    started = threading.Event()

    def failing():
        started.wait(20)
        raise ValueError("first")

    def waiting():
        child = subprocess.Popen(["sleep", "600"])
        started.set()
        try:
            wait(child)
        finally:
            child.kill()
            child.wait()

    began = time.monotonic()
    with pytest.raises(ValueError, match="first"):
        side_by_side([failing, waiting])
    assert time.monotonic() - began < 60
