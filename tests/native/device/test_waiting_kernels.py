"""Kernels of several queues that wait for each other: all end, with the same times in every run, or a deadlock is reported."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.collect import device as devices

SOURCE = Path(__file__).parent / "runtime" / "waiting_kernels.hip"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(native_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("waiting")
    program = folder / "waiting_kernels"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", program, SOURCE)
    device = devices.select(devices.SOFTWARE_TARGET, folder)

    def run(scenario: str, options: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        environment = device.environment(os.environ) | {"ROCM_PERF_DEVICE_OPTIONS": options} | variables
        return subprocess.run([program, scenario], env=environment, capture_output=True, text=True, timeout=100)

    return run


@pytest.mark.parametrize(
    ("scenario", "result"),
    [
        ("kernels", ""),
        ("many_waves", ""),
        ("counting", ""),
        ("values", "behind the wait: 17"),
        ("host_values", "behind the wait: 17"),
        ("signal_values", "behind the wait: 17"),
        ("ping_pong", f"sum {sum(range(400))}"),
        ("ring", "wrong 0"),
        ("copy_releases", ""),
    ],
)
def test_a_kernel_is_released_by_another_queue(run: Run, scenario: str, result: str) -> None:
    completed = run(scenario)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert completed.stdout.startswith("hipSuccess\n") and result in completed.stdout


@pytest.mark.parametrize("scenario", ["kernels", "many_waves", "ping_pong", "ring"])
def test_times_of_waiting_kernels_repeat(run: Run, scenario: str) -> None:
    """However fast the host is, and however many threads it uses."""
    outputs = {run(scenario, ROCM_PERF_DEVICE_THREADS=str(threads)).stdout for threads in (1, 2, 1)}
    assert len(outputs) == 1
    waiter, other = map(float, re.findall(r"us (\S+) (\S+)", outputs.pop())[0])
    assert waiter > 0 and other > 0


def test_the_host_sees_a_waiting_kernel_and_releases_it(run: Run) -> None:
    completed = run("host_releases")
    assert completed.stdout == "hipErrorNotReady\nhipSuccess\n", completed.stderr


def test_a_deadlock_is_reported_with_the_kernels_their_queues_and_places(run: Run) -> None:
    completed = run("deadlock", "deadlock-after=2")
    assert "hipErrorLaunchFailure" in completed.stdout
    lines = [line for line in completed.stderr.splitlines() if "a deadlock: " in line]
    kernel = (
        r"kernel wait_then_set\(int\*, int\*\) on queue (0x[0-9a-f]+), 1 wave at pc 0x[0-9a-f]+ \(entry \+ 0x[0-9a-f]+\): s_\w+"
    )
    assert len(lines) == 2
    assert all(len(set(re.findall(kernel, line))) == 2 for line in lines), lines


def test_a_stream_that_waits_for_a_value_that_is_never_written_is_named(run: Run) -> None:
    completed = run("alone", "deadlock-after=2")
    assert "streamOpsWait" in completed.stderr and "a deadlock: " in completed.stderr


def test_a_busy_host_thread_can_still_release_a_kernel(run: Run) -> None:
    completed = run("long_work", "deadlock-after=2")
    assert completed.stdout == "hipSuccess\n", completed.stderr
