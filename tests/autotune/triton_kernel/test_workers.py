"""Warm workers with a script that speaks the protocol without Triton: they catch up, and are replaced when they die."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from rocm_perf_lab.autotune.triton_kernel.workers import Workers
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError, ServedScript

SCRIPT = """
import json, sys, time
def send(**message):
    print(json.dumps(message), flush=True)
for launch in range(2):
    send(event="launch", number=launch)
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "continue":
            print("took", request["values"], file=sys.stderr, flush=True)
            break
        value = request["values"]
        if value == "crash":
            sys.exit("boom")
        if value == "hang":
            time.sleep(60)
        send(event="answer", launch=launch, value=value, **({"error": "bad", "is_dead": True} if value == "bad" else {}))
send(event="end", status=3)
"""


@pytest.fixture
def workers(tmp_path):
    started = Counter()

    def start(worker: int) -> ServedScript:
        started[worker] += 1
        return ServedScript([sys.executable, "-c", SCRIPT], {}, tmp_path / f"stderr-{worker}")

    found = Workers(start, 2, timeout=5.0)
    yield found, started
    found.close()


def ask(workers: Workers, worker: int, value: str) -> int:
    answer = workers.ask(worker, do="evaluate", values=value)
    assert answer["value"] == value
    return answer["launch"]


def test_a_late_worker_catches_up_with_the_launches_that_others_have_passed(workers, tmp_path):
    these, started = workers
    assert these.launch() == ({"event": "launch", "number": 0}, 0) and ask(these, 0, "a") == 0
    these.choose({"BLOCK": 16})
    assert ask(these, 1, "b") == ask(these, 0, "c") == 1 and started == {0: 1, 1: 1}
    assert "took {'BLOCK': 16}" in (tmp_path / "stderr-1").read_text()
    these.choose({})
    assert these.launch() == (None, 3)


def test_a_worker_is_replaced_at_the_launch_where_it_was(workers):
    these, started = workers
    these.choose({"BLOCK": 16})
    assert ask(these, 0, "a") == 1
    with pytest.raises(ScriptExitedError, match="ended with status 1: .*boom"):
        ask(these, 0, "crash")
    assert ask(these, 0, "b") == 1 and started[0] == 2
    assert ask(these, 0, "bad") == 1  # its kernel failed, and every later one would fail too
    assert ask(these, 0, "c") == 1 and started[0] == 3


def test_a_worker_that_hangs_is_killed(workers):
    these, started = workers
    these._timeout = 0.2
    with pytest.raises(ScriptTimeoutError, match="within 0.2 s"):
        ask(these, 0, "hang")
    these._timeout = 5.0
    assert ask(these, 0, "a") == 0 and started[0] == 2
