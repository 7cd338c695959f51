"""The modelled figures of one dispatch agree: duration, busy cycles, the waves' lifetimes and the latency of memory."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import tomllib

from hip_compiler import compile_hip

PROGRAM = Path(__file__).parents[2] / "programs" / "agreement.hip"
HOPS = 65536
BYTES = 32 << 20  # more than the L2s hold, less than the Infinity Cache
ENGINES = 32  # SQ_BUSY_CYCLES is summed over them


@pytest.fixture(scope="module")
def parameters(repository) -> dict[str, float]:
    text = (repository / "src" / "rocm_perf_lab" / "arch" / "timing_gfx942.toml").read_text()
    return {name: one["value"] for name, one in tomllib.loads(text).items()}


def dispatches(folder: Path, rocm_perf_in, program: Path, *arguments: object) -> list[tuple[str, int, dict[str, float]]]:
    """Kernel, ns and counters of each dispatch, in order."""
    rocm_perf_in(folder, "profile", "--runs", 1, "-o", folder / "run", program, *arguments)
    with sqlite3.connect(folder / "run" / ".rocpd_profile" / "base_results.db") as database:
        rows = database.execute("select dispatch_id, name, duration from kernels order by start").fetchall()
        values = database.execute(
            "select dispatch_id, counter_name, sum(counter_value) from pmc_events group by 1, 2"
        ).fetchall()
    counters: dict[int, dict[str, float]] = {}
    for dispatch, name, value in values:
        counters.setdefault(dispatch, {})[name] = value
    return [(name, ns, counters[dispatch]) for dispatch, name, ns in rows]


def test_a_chase_takes_the_latency_of_the_level_that_answers(testbed, tmp_path, rocm_perf_in, parameters):
    """One wave does one load after the other, so all times are those of the loads."""
    arguments = ("--bytes", BYTES, "--hops", HOPS, "--kernel", "one", "--repeats", 2)
    found = dispatches(tmp_path, rocm_perf_in, testbed("pointer_chase"), *arguments)
    cold, warm = [one for one in found if "chase_one" in one[0]]
    for (_, ns, counters), level in ((cold, "hbm_latency_cycles"), (warm, "mall_latency_cycles")):
        busy = counters["SQ_BUSY_CYCLES"] / ENGINES
        assert counters["SQ_WAVES"] == 1
        assert busy == pytest.approx(4 * counters["SQ_WAVE_CYCLES"], rel=0.01)
        assert ns == pytest.approx(busy * 1000 / parameters["clock_mhz"] + parameters["launch_overhead_ns"], rel=0.01)
        assert counters["TCC_EA0_RDREQ_sum"] == pytest.approx(HOPS, rel=0.05)
        latency = counters["TCC_EA0_RDREQ_LEVEL_sum"] / counters["TCC_EA0_RDREQ_sum"] + parameters["l2_latency_cycles"]
        assert latency == pytest.approx(parameters[level], rel=0.02)
        assert busy / HOPS == pytest.approx(parameters[level] + 64, rel=0.05)  # and the rest of the loop


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("vcopy", ("-n", 300000)),
        ("reduction", ("-n", 60000)),
        ("stencil", ("-n", 40, "--steps", 2)),
        ("histogram", ("-n", 40000)),
    ],
)
def test_no_wave_outlives_its_dispatch(program, arguments, testbed, tmp_path, rocm_perf_in, parameters):
    found = dispatches(tmp_path, rocm_perf_in, testbed(program), *arguments)
    assert found
    for name, ns, counters in found:
        busy = counters["SQ_BUSY_CYCLES"] / ENGINES
        assert 4 * counters["SQ_WAVE_CYCLES"] / counters["SQ_WAVES"] <= 1.05 * busy, name
        active = counters["GRBM_GUI_ACTIVE"] / parameters["xcds"]
        assert busy <= active <= 1.05 * (ns - parameters["launch_overhead_ns"]) * parameters["clock_mhz"] / 1000, name


def test_times_and_counters_of_random_kernels_agree(tmp_path, rocm_perf_in, parameters):
    """For 200 kernels: the duration is that of the launch and of activity; waves do not live longer; and reads beyond the L2
    take as long as the Infinity Cache or the memory, or wait.
    """
    program = tmp_path / "agreement"
    compile_hip("-O3", "--offload-arch=gfx942", PROGRAM, "-o", program)
    found = [one for one in dispatches(tmp_path, rocm_perf_in, program, 200, 7) if one[0].startswith("drawn")]
    assert len(found) == 200
    overhead, clock = parameters["launch_overhead_ns"], parameters["clock_mhz"] / 1000
    for number, (_, ns, counters) in enumerate(found):
        busy, active = counters["SQ_BUSY_CYCLES"] / ENGINES, counters["GRBM_GUI_ACTIVE"] / parameters["xcds"]
        assert ns == pytest.approx(overhead + active / clock, rel=0.05), number
        assert busy <= active, number
        life = 4 * counters["SQ_WAVE_CYCLES"] / counters["SQ_WAVES"]
        resident = parameters["cus_per_xcd"] * parameters["xcds"] * parameters["simds_per_cu"] * parameters["waves_per_simd"]
        assert max(life, 4 * counters["SQ_WAVE_CYCLES"] / resident) <= 1.05 * busy, number
        if reads := counters["TCC_EA0_RDREQ_sum"]:
            latency = counters["TCC_EA0_RDREQ_LEVEL_sum"] / reads + parameters["l2_latency_cycles"]
            # Beyond the memory's latency, a read waits for bandwidth, but not longer than its wave lives.
            longest = max(parameters["hbm_latency_cycles"], life)
            assert 0.95 * parameters["mall_latency_cycles"] <= latency <= 1.05 * longest, number
