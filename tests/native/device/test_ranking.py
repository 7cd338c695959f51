"""The timing model ranks better code ahead of worse code, as hardware does."""

from __future__ import annotations

import sqlite3
import sys

import pytest

from hip_compiler import compile_hip

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def durations(native_dir, repository, tmp_path_factory, rocm_perf_in) -> dict[str, int]:
    """Kernel name -> modelled ns of its last dispatch beyond the launch overhead, which is the same for all."""
    folder = tmp_path_factory.mktemp("ranking")
    program = folder / "ranking"
    source = repository / "tests" / "programs" / "ranking.hip"
    compile_hip("--offload-arch=gfx942", "-O3", "-o", program, source)
    rocm_perf_in(folder, "profile", "--runs", 1, "-o", folder / "run", program)
    with sqlite3.connect(folder / "run" / ".rocpd_profile" / "base_results.db") as database:
        rows = database.execute("select name, duration from kernels order by start").fetchall()
    table = tomllib.loads((repository / "src" / "rocm_perf_lab" / "arch" / "timing_gfx942.toml").read_text())
    overhead = table["launch_overhead_ns"]["value"]
    times = {name.split("(")[0]: duration - overhead for name, duration in rows}
    for name, duration in sorted(times.items()):
        print(f"{name:24} {duration:>8} ns")
    return times


# (better, worse, at least this many times faster). Where the factor follows from the work, it is stated:
RANKING = [
    ("loads_unrolled", "loads_one_by_one", 3.0),  # eight loads share a latency
    ("copy_contiguous", "copy_strided", 2.0),  # one line per float instead of one per 32
    ("branch_uniform", "branch_divergent", 1.5),  # both sides, one after the other
    ("products_matrix", "products_vector", 4.0),  # 2048 against 256 operations per cycle and CU
    ("lds_conflict_free", "lds_conflicts", 2.0),  # 64 passes instead of 2
    ("atomics_crowded", "atomics_on_one", 2.0),
    ("atomics_spread", "atomics_crowded", 1.1),
    ("stores_streaming", "stores_usual", 1.05),  # the table stays in the L2
]


@pytest.mark.parametrize("better, worse, factor", RANKING)
def test_better_code_is_faster(durations, better, worse, factor):
    assert durations[worse] > factor * durations[better]


def test_more_waves_hide_latency(durations):
    # Eight times the loads in nearly the same time.
    assert durations["chase_many_waves"] < 1.5 * durations["chase_one_wave"]


def test_a_line_on_its_way_to_another_wave_is_waited_for(durations):
    """It is in the L1's tags already, but not its data."""
    assert durations["lines_just_touched"] == pytest.approx(durations["lines_first_touched"], rel=0.1)


def test_atomics_on_one_word_are_serialised(durations):
    """2048 requests of 64 lanes from all XCDs: 4 cycles each, and 63 for the other lanes."""
    assert durations["atomics_on_one"] == pytest.approx(2048 * (4 + 63) / 2.1, rel=0.1)


def test_a_chain_of_loads_costs_its_latencies(durations):
    """256 dependent loads by one lane from its own line: all but the first hit the L1, 120 cycles each at 2.1 GHz."""
    expected = 256 * 120 / 2.1  # ns
    assert durations["chase_one_wave"] == pytest.approx(expected, rel=0.5)


def test_matrix_time_follows_from_its_rate(durations):
    """512 instructions of 8192 operations in each of 4 waves on each CU, at 2048 operations per cycle."""
    cycles = 4 * 512 * 8192 / 2048
    assert durations["products_matrix"] == pytest.approx(cycles / 2.1, rel=0.2)
