"""The clock that the power limit allows, used only with the device option `sustained`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hip_compiler import compile_hip

PROGRAM = Path(__file__).parents[2] / "programs" / "power.hip"
PEAK_MHZ, XCDS, LAUNCH_NS = 2100, 8, 1190
GEMM_MHZ = (1115, 1207, 1230)  # AMD's measurements of hipBLASLt on an MI300X, with FP16, BF16 and FP8
MULTIPLY_ADD_MHZ = (1400, 1490)  # recorded by RRZE's gpu-roofline with 934 and 1012 multiply-adds for each pair of numbers


@pytest.fixture(scope="module")
def found(tmp_path_factory, rocm_perf_in):
    """found(options...): duration in ns and clock in MHz of each kernel."""
    folder = tmp_path_factory.mktemp("power")
    compile_hip("-O3", "--offload-arch=gfx942", PROGRAM, "-o", folder / "power")
    known: dict[tuple[str, ...], dict[str, tuple[int, float]]] = {}

    def run(*options: str) -> dict[str, tuple[int, float]]:
        if options not in known:
            run_directory = folder / f"run{len(known)}"
            more = [word for option in options for word in ("--device-option", option)]
            rocm_perf_in(folder, "profile", "--runs", 1, "--no-deep-analysis", *more, "-o", run_directory, folder / "power")
            known[options] = clocks(run_directory / ".rocpd_profile" / "base_results.db")
        return known[options]

    return run


def clocks(path: Path) -> dict[str, tuple[int, float]]:
    with sqlite3.connect(path) as database:
        rows = database.execute(
            "select k.name, k.duration, sum(p.counter_value) from kernels k join pmc_events p on p.dispatch_id = k.dispatch_id "
            "where p.counter_name = 'GRBM_GUI_ACTIVE' group by k.dispatch_id"
        ).fetchall()
    return {name.partition("(")[0]: (ns, cycles / XCDS * 1000 / (ns - LAUNCH_NS)) for name, ns, cycles in rows}


def test_a_short_load_runs_at_the_peak_clock(found):
    for name, (_, mhz) in found().items():
        assert mhz == pytest.approx(PEAK_MHZ, rel=0.01), name


def test_arithmetic_lowers_a_sustained_clock_as_recorded(found):
    usual, sustained = found(), found("sustained")
    for name, recorded in (("vector", MULTIPLY_ADD_MHZ), ("matrix", GEMM_MHZ)):
        (ns, _), (longer_ns, mhz) = usual[name], sustained[name]
        assert 0.95 * min(recorded) <= mhz <= 1.05 * max(recorded), name
        assert longer_ns - LAUNCH_NS == pytest.approx((ns - LAUNCH_NS) * PEAK_MHZ / mhz, rel=0.1), name


def test_a_kernel_that_waits_for_memory_takes_as_long_as_before(found):
    usual, sustained = found(), found("sustained")
    assert sustained["memory"][0] == usual["memory"][0]
    assert sustained["memory"][1] < 0.9 * PEAK_MHZ, "although its clock is lower"
    assert sustained["alone"] == usual["alone"], "one wave is far below the limit"


def test_a_higher_limit_is_never_slower(found):
    runs = [found(f"timing.power_limit_w={watts}") for watts in (500, 750, 100_000)]
    assert runs[1] == found("sustained")
    for name, usual in found().items():
        times = [run[name][0] for run in runs]
        assert times == sorted(times, reverse=True), name
        assert times[-1] == usual[0], name
