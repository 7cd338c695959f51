"""Modelled kernels approach the hardware's limits but never exceed them; families of kernels get faster or slower in step."""

from __future__ import annotations

import itertools
import os
import re
import sqlite3

import pytest

from hip_compiler import compile_hip

CUS = 304
CLOCK = 2.1  # GHz; MI300X data sheet, as are the peaks below


@pytest.fixture(scope="module")
def program(native_dir, repository, tmp_path_factory):
    built = tmp_path_factory.mktemp("limits") / "limits"
    source = repository / "tests" / "programs" / "limits.hip"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", built, source)
    return built


@pytest.fixture(scope="module")
def run(program, tmp_path_factory, rocm_perf_in) -> dict[str, tuple[int, float]]:
    """Kernel -> (duration in ns, cycles with waves on the device)."""
    return profiled(program, tmp_path_factory.mktemp("run"), rocm_perf_in)


def profiled(program, folder, rocm_perf_in) -> dict[str, tuple[int, float]]:
    options = ("--runs", 1, "--device-option", "flush-l2")  # so that no kernel benefits from the previous one's data
    rocm_perf_in(folder, "profile", *options, "-o", folder / "run", program)
    with sqlite3.connect(folder / "run" / ".rocpd_profile" / "base_results.db") as database:
        rows = database.execute(
            "select k.name, k.duration, sum(p.counter_value) / 32 from kernels k"
            " join pmc_events p on p.dispatch_id = k.dispatch_id"
            " where p.counter_name = 'SQ_BUSY_CYCLES' group by k.dispatch_id order by k.dispatch_id"
        ).fetchall()
    found = {re.sub(r"^void |\(.*", "", name): (ns, busy) for name, ns, busy in rows}
    for name, (ns, busy) in found.items():
        print(f"{name:28} {ns:>9} ns {busy:>10.0f} cycles")
    return found


# Kernel, its total work, the device's peak rate of such work per cycle, and the least plausible share of the peak.
PEAKS = [
    ("peak_fma", CUS * 512 * 256 * 16 * 2, CUS * 128, 0.75),  # FP32 operations; packed instructions would do twice as many
    ("peak_mfma", CUS * 8 * 128 * 4 * 2 * 32 * 32 * 8, CUS * 2048, 0.75),  # FP16 operations: 1307 TFLOP/s
    ("peak_lds", CUS * 16 * 256 * 64 * 16, CUS * 128, 0.7),  # bytes; 128 per cycle and CU
    ("peak_stream_read", 256 << 20, 5300 / CLOCK, 0.6),  # bytes; HBM 5300 GB/s
    ("peak_stream_copy", 2 * (256 << 20), 5300 / CLOCK, 0.6),
]


@pytest.mark.parametrize("kernel, work, peak, least", PEAKS)
def test_a_limit_is_approached_and_not_passed(kernel, work, peak, least, run):
    ns, busy = run[kernel]
    assert busy / CLOCK <= ns
    share = work / busy / peak
    print(f"{kernel}: {share:.2f} of the peak while waves run, {work / (ns * CLOCK) / peak:.2f} over the dispatch")
    assert work / (ns * CLOCK) <= peak
    if "copy" not in kernel:  # its last writes reach memory after its waves have ended
        assert share <= 1
    assert work / (ns * CLOCK) / peak >= least


# Family, its members in order, and the least and greatest factor by which each step may multiply the time.
CURVES = [
    ("waves<{}>", (1, 2, 4, 8), 0.95, 1.15),  # resident together: the latencies are paid once
    ("in_flight<{}>", (1, 2, 4, 8, 16), 0.4, 0.75),  # each step halves the waiting time
    ("strided<{}>", (1, 4, 8, 16, 32), 1.0, 2.5),  # each step doubles the lines, up to one per lane
    ("ways<{}>", (1, 2, 4, 8), 1.7, 2.2),  # one after the other
    ("banks<{}>", (1, 2, 4, 8, 16, 32), 1.0, 2.1),  # as many passes as lanes per bank
]


@pytest.mark.parametrize("family, members, least, most", CURVES)
def test_each_step_of_a_family_costs_what_it_should(family, members, least, most, run):
    busy = [run[family.format(member)][1] for member in members]
    steps = [after / before for before, after in itertools.pairwise(busy)]
    print(family, [f"{cycles:.0f}" for cycles in busy])
    assert all(least <= step <= most for step in steps), steps


def test_the_ends_of_the_curves_are_far_apart(run):
    def ratio(family, worst, best):
        return run[family.format(worst)][1] / run[family.format(best)][1]

    assert ratio("in_flight<{}>", 1, 16) > 6
    assert ratio("strided<{}>", 32, 1) > 3
    assert ratio("banks<{}>", 32, 1) > 1.4


@pytest.mark.slow
def test_times_are_the_same_in_every_run_and_with_any_number_of_host_threads(program, run, tmp_path, rocm_perf_in, monkeypatch):
    monkeypatch.setenv("ROCM_PERF_DEVICE_THREADS", "1" if (os.cpu_count() or 1) > 1 else "2")
    again = profiled(program, tmp_path, rocm_perf_in)
    assert again == run
