"""Workgroups that communicate through memory: results do not depend on the host's threads, nothing hangs, grids synchronise."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from hip_compiler import compile_hip


@pytest.fixture(scope="module")
def compiled(repository: Path, native_dir: Path, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("workgroups")

    def build(level: str = "-O3") -> Path:
        program = folder / f"workgroups{level}"
        if not program.exists():
            source = repository / "tests" / "programs" / "workgroups.hip"
            compile_hip("--offload-arch=gfx942", level, "-w", "-o", program, source)
        return program

    return build


def database_of(folder: Path) -> tuple[list, list]:
    """Durations and counters of all dispatches of a profile, in order."""
    with sqlite3.connect(folder / ".rocpd_profile" / "base_results.db") as database:
        durations = database.execute("select name, duration from kernels order by dispatch_id").fetchall()
        counters = database.execute(
            "select dispatch_id, counter_name, sum(counter_value) from pmc_events group by 1, 2 order by 1, 2"
        ).fetchall()
    return durations, counters


def test_order_dependent_kernels_give_the_same_with_any_number_of_host_threads(rocm_perf, tmp_path, compiled) -> None:
    runs = []
    for i, threads in enumerate(("1", "4", "3")):
        folder = tmp_path / f"run{i}"
        done = rocm_perf(
            "profile", "--runs", 1, "-o", folder, compiled(), "order", environment={"ROCM_PERF_DEVICE_THREADS": threads}
        )
        assert done.returncode == 0, done.stderr
        memory = re.findall(r"^\w+ [0-9a-f]{16}$", done.stdout + done.stderr, re.MULTILINE)
        assert len(memory) == 5
        runs.append((memory, *database_of(folder)))
    own = [name for name, _ in runs[0][1] if not name.startswith("__amd")]
    assert len(own) == 5 and len(runs[0][2]) > 300
    for run in runs[1:]:
        assert run == runs[0]


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_only_kernels_that_need_it_run_in_one_order(rocm_perf, compiled, level: str) -> None:
    """Calls are followed if their targets are known from the code, so that kernels without atomics can use all host threads."""
    done = rocm_perf(
        "run", compiled(level), "order", environment={"ROCM_PERF_DEVICE_LOG": "1", "ROCM_PERF_DEVICE_THREADS": "2"}
    )
    assert done.returncode == 0, done.stderr
    reasons = dict(re.findall(r"(\w+)\([^)]*\): the XCDs take turns, for (.*)", done.stderr))
    if level == "-O0":  # here atomics return the old value, whether it is used or not
        assert reasons.keys() >= {"float_sums", "tickets", "tickets_by_call"} and "calls_without_atomics" not in reasons
        return
    assert reasons == {
        "float_sums": "floating-point atomics",
        "tickets": "atomics that return the old value",
        "tickets_by_call": "atomics that return the old value",
    }


@pytest.mark.parametrize("threads", ["1", "4"])
def test_workgroups_that_wait_for_later_ones_do_not_hang(rocm_perf, compiled, threads: str) -> None:
    done = rocm_perf("run", compiled(), "mailbox", environment={"ROCM_PERF_DEVICE_THREADS": threads}, timeout=60)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stderr


@pytest.mark.parametrize("blocks", [1, 9, 608, "all"])
def test_a_grid_that_fits_synchronises(rocm_perf, compiled, blocks) -> None:
    if blocks == "all":
        blocks = int(re.search(r"fits (\d+)", rocm_perf("run", compiled(), "grid", 1).stdout)[1])
        assert blocks % 304 == 0
        refused = rocm_perf("run", compiled(), "grid", blocks + 1)
        assert refused.returncode == 2 and "launch: hipErrorCooperativeLaunchTooLarge" in refused.stdout
    done = rocm_perf("run", compiled(), "grid", blocks, timeout=120)
    assert done.returncode == 0 and "cooperative 1" in done.stdout and "PASS" in done.stdout, done.stderr


def test_a_cooperative_kernel_is_traced(rocm_perf, tmp_path, compiled) -> None:
    done = rocm_perf("profile", "--runs", 1, "-o", tmp_path / "run", compiled(), "grid", 16)
    assert done.returncode == 0, done.stderr
    durations, _ = database_of(tmp_path / "run")
    assert [name.split("(")[0] for name, _ in durations].count("rounds") == 1


@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_vectors_indexed_by_a_variable(rocm_perf, compiled, level: str) -> None:
    done = rocm_perf("run", compiled(level), "vector")
    assert done.returncode == 0 and "PASS" in done.stdout, done.stdout + done.stderr
