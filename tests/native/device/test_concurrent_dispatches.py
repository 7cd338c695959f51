"""Kernels that run at the same time share compute units and bandwidth: together they get no more than the device has."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.arch.timing_parameters import timing_parameters
from rocm_perf_lab.collect import device as devices

SOURCE = Path(__file__).parent / "runtime" / "concurrent_kernels.hip"
SUBMISSION_US = 3.0  # how much later the second kernel starts
FIXED_US = 6.0  # mostly from the first event to the end of a kernel that does nothing

Times = tuple[float, float]
Run = Callable[..., tuple[Times, Times]]


@pytest.fixture(scope="module")
def run(native_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Microseconds of both kernels, alone and together."""
    folder = tmp_path_factory.mktemp("concurrent")
    program = folder / "concurrent_kernels"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", program, SOURCE)
    device = devices.select(devices.SOFTWARE_TARGET, folder)

    def run(*work: str, threads: int = 2) -> tuple[Times, Times]:
        environment = device.environment(os.environ) | {"ROCM_PERF_DEVICE_THREADS": str(threads)}
        completed = subprocess.run([program, *work], env=environment, capture_output=True, text=True, timeout=100, check=True)
        rows = [line.split() for line in completed.stdout.splitlines()]
        assert [name for name, *_ in rows] == ["alone", "together"]
        alone, together = ((float(a), float(b)) for _, a, b in rows)
        return alone, together

    return run


@pytest.mark.parametrize("work", ["fma:2432:60", "stream:1216:16"])
def test_two_kernels_that_fill_the_device_take_as_long_as_one_after_the_other(run: Run, work: str) -> None:
    (first, second), (_, end) = run(work, work)
    assert 0.95 * (first + second - 2 * FIXED_US) + FIXED_US < end < first + second + SUBMISSION_US


def test_concurrent_kernels_do_not_exceed_the_memory_bandwidth(run: Run) -> None:
    _, (_, end) = run("stream:1216:16", "stream:1216:16")
    parameters = {name: entry["value"] for name, entry in timing_parameters().items()}
    peak = max(parameters["mall_read_gbps"], parameters["hbm_gbps"])  # GB/s: bytes per ns
    assert 2 * 1216 * 256 * 16 * 16 / (end * 1e3) < peak


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("fma:128:400", "fma:128:400"),  # on different compute units
        ("stream:1216:16", "fma:304:100"),  # one needs the memory, the other the vector units
        ("fma:2432:200", "fma:8:20"),  # a small one gets slots that become free
    ],
)
def test_kernels_that_leave_each_other_room_are_not_slowed_down(run: Run, first: str, second: str) -> None:
    alone, together = run(first, second)
    assert together[0] == alone[0]
    assert alone[1] <= together[1] <= alone[1] + SUBMISSION_US


def test_a_longer_kernel_beside_a_short_one_takes_as_long_as_both_together(run: Run) -> None:
    (first, second), (early, late) = run("fma:2432:50", "fma:2432:150")
    assert early == first
    assert 0.95 * (first + second - 2 * FIXED_US) + FIXED_US < late < first + second + SUBMISSION_US


def test_times_are_the_same_with_any_number_of_host_threads(run: Run) -> None:
    assert len({run("fma:1216:50", "stream:608:8", threads=threads) for threads in (1, 2, 4)}) == 1
