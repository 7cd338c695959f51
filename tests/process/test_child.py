"""Signals at any moment of a child's start and life: it is always ended, and so is the wait for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.process.child import wait


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupting():
    def interrupt(*_):
        raise Interrupted

    previous = signal.signal(signal.SIGTERM, interrupt)
    yield
    signal.signal(signal.SIGTERM, previous)


def children() -> str:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text()


def test_an_interrupt_at_any_moment_leaves_no_child(interrupting):
    command, before = resolve(["sleep", "1000"]), children()
    for moment in range(60):
        timer = threading.Timer(moment * 0.0003, os.kill, (os.getpid(), signal.SIGTERM))
        with pytest.raises(Interrupted):
            timer.start()
            execute(command, os.environ, stdout=None)
        timer.join()
        assert children() == before


def test_wait_returns_at_the_end_at_once_or_times_out():
    assert wait(subprocess.Popen([sys.executable, "-c", "import sys; sys.exit(3)"]), 60) == 3
    process = subprocess.Popen(["sleep", "1000"])
    with pytest.raises(subprocess.TimeoutExpired):
        wait(process, 0.05)
    process.kill()
    assert wait(process) == -signal.SIGKILL
