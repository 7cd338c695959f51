"""The time of a dispatch includes the work of every workgroup, even of those that are not replayed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from hip_compiler import compile_hip
from rocm_perf_lab.collect import device as devices

KINDS = ["Loads", "Lds", "Vector", "Matrix", "Scalar", "Nops", "Sleeps", "Turns", "Loads_and_lds"]


@pytest.fixture(scope="module")
def durations(native_dir, repository, tmp_path_factory, rocm_perf_in) -> dict[str, list[int]]:
    """Kernel -> modelled ns of its dispatches: first without extra work, and then with it as in the program."""
    folder = tmp_path_factory.mktemp("uneven")
    program, source = folder / "uneven", repository / "tests" / "programs" / "uneven.hip"
    compile_hip("--offload-arch=gfx942", "-O2", "-o", program, source)
    rocm_perf_in(folder, "profile", "--runs", 1, "-o", folder / "run", program)
    with sqlite3.connect(folder / "run" / ".rocpd_profile" / "base_results.db") as database:
        rows = database.execute("select name, duration from kernels order by start").fetchall()
    times = defaultdict(list)
    for name, duration in rows:
        times[name.split("(float")[0].removeprefix("void ")].append(duration)
    for name, of_kernel in times.items():
        print(f"{name:40} {of_kernel}")
    return times


@pytest.mark.parametrize("number", range(len(KINDS)), ids=KINDS)
def test_more_work_counts_wherever_it_is(durations, number):
    """In workgroup 0, the work is replayed; in another workgroup, it must take about as long."""
    (times,) = [times for name, times in durations.items() if f"(Kind){number}" in name or f"<{number}>" in name]
    _, without, replayed, elsewhere = times
    assert replayed - without > 1500
    assert 0.9 * (replayed - without) < elsewhere - without < 1.6 * (replayed - without)


def test_late_workgroups_count_like_early_ones(durations):
    """The extra work is in the first two workgroups of each CU, or in the last two."""
    _, without, early, late, *_ = durations["late"]
    assert early - without > 3000
    assert 0.9 * (early - without) < late - without < 2.1 * (early - without)


def test_one_late_workgroup_holds_up_its_compute_unit(durations):
    """For a compute unit other than the replayed one, and for that one itself."""
    _, without, *_, elsewhere, there = durations["late"]
    least = 60 * 120 / 2.1  # ns: this many consecutive L1 hits
    assert least < elsewhere - without < 3 * least
    assert least < there - without < 3 * least


def test_useless_work_does_not_hide_the_longest_workgroup(durations):
    """It makes the replayed workgroups look more like the one that adds everything up, which must not get shorter for that
    reason."""
    useful, useless = (durations[f"last_adds_up<{flag}>"][-1] for flag in ("false", "true"))
    assert useless > useful


def test_the_time_does_not_depend_on_which_compute_unit_is_chosen(native_dir, tmp_path):
    """One compute unit of each XCD is recorded, and replayed if its work differs from that of the others."""
    program, source = tmp_path / "uneven_xcds", Path(__file__).parent / "runtime" / "uneven_xcds.hip"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", program, source)
    device = devices.select(devices.SOFTWARE_TARGET, tmp_path)
    times = []
    for choice in (0, 3, 7, 42):
        environment = device.environment(os.environ) | {"ROCM_PERF_DEVICE_OPTIONS": f"timed-cu={choice}"}
        times.append(float(subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout))
    assert max(times) < 1.01 * min(times)


def test_useless_work_in_some_workgroups_makes_no_kernel_faster(native_dir, tmp_path):
    """Neither in the first third of them nor in the last."""
    program, source = tmp_path / "uneven_groups", Path(__file__).parent / "runtime" / "uneven_groups.hip"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", program, source)
    environment = devices.select(devices.SOFTWARE_TARGET, tmp_path).environment(os.environ)
    printed = subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout
    _, without, early, late, everywhere = map(float, printed.split())
    assert 0.9 * without < early < 1.1 * everywhere
    assert 0.9 * without < late < 1.1 * everywhere


@pytest.mark.slow
def test_workgroups_that_do_not_fit_into_the_recording_are_sampled(native_dir, tmp_path):
    """At least 6 million instructions on the replayed compute unit: 4 million are recorded, and the rest is sampled."""
    program, source = tmp_path / "long", Path(__file__).parent / "runtime" / "long_compute_unit.hip"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", program, source)
    environment = devices.select(devices.SOFTWARE_TARGET, tmp_path).environment(os.environ)
    printed = subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout
    without, early, late, everywhere = map(float, printed.split())
    assert everywhere == pytest.approx(2 * without, rel=0.1)
    assert early == pytest.approx(1.25 * without, rel=0.1)
    assert late == pytest.approx(1.25 * without, rel=0.1)
