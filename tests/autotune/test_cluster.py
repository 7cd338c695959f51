"""`rocm-perf autotune --scheduler` on a real cluster of processes, some of which are killed by programs."""

from __future__ import annotations

import json
import types

import pytest

import needs
from rocm_perf_lab.autotune.cluster import Cluster

distributed = needs.module("distributed")

# a == 5 kills the worker that runs it the first time, a == 6 every time.
PROGRAM = """#!/bin/sh
echo "$1" >> ran
if [ "$1" = 6 ]; then kill -9 $PPID; fi
if [ "$1" = 5 ] && mkdir killed 2> /dev/null; then kill -9 $PPID; fi
"""


@pytest.fixture(scope="module")
def scheduler():
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": 1}):
        resources = {"resources": {"GPU": 1}, "threads_per_worker": 1}
        with distributed.LocalCluster(n_workers=2, processes=True, dashboard_address=None, **resources) as cluster:
            yield cluster.scheduler_address


@pytest.fixture
def tune(rocm_perf, scheduler, tmp_path):
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "program").chmod(0o755)

    def run(values, *words):
        (tmp_path / "space.json").write_text(json.dumps({"parameters": {"a": values}}))
        done = rocm_perf("autotune", "--space", "space.json", "--measure", "wall", "--runs", "1", "--json", "--scheduler",
                         scheduler, "--cmd-template", "./program {a}", *words)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_killed_workers_lose_nothing(tune, tmp_path):
    found = tune(list(range(6)))
    assert {one["configuration"]["a"]: one["status"] for one in found["evaluations"]} == dict.fromkeys(range(6), "ok")
    ran = (tmp_path / "ran").read_text().split()
    assert set(ran) == set("012345") and ran.count("5") > 1
    assert tune(list(range(6)))["reused"] == 6  # stored by the searching process, not by workers
    assert (tmp_path / "ran").read_text().split() == ran


def test_a_configuration_that_kills_every_worker_is_a_result_but_not_cached(tune):
    for _ in range(2):
        found = tune([6, 7], "--workers", "1")
        assert {one["configuration"]["a"]: one["status"] for one in found["evaluations"]} == {6: "lost", 7: "ok"}
    assert found["reused"] == 1


def test_workers_that_offer_no_gpu_do_not_count():
    workers = {"a": {"resources": {"GPU": 2.0}}, "b": {"resources": {}}, "c": {"resources": {"GPU": 1.0, "disk": 5.0}}}
    client = types.SimpleNamespace(scheduler_info=lambda n_workers: {"workers": workers})
    assert Cluster.gpus(types.SimpleNamespace(_client=client)) == 3
