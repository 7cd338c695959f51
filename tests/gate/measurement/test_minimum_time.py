"""The least time of a dispatch is far below what honest kernels take and far above what a forged clock shows."""

from __future__ import annotations

import os
import subprocess

import pytest

from rocm_perf_lab.analysis.counters import counters_by_symbol
from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.tracer import BuiltinTracer
from rocm_perf_lab.gate.measurement.minimum_time import DispatchWork, min_milliseconds
from rocm_perf_lab.replaying.replay_document import CountedSection
from rocm_perf_lab.rocpd.reader import read_trace

TESTBED = ["vcopy", "softmax_testbed", "reduction", "histogram", "gemm", "stencil", "attention", "pointer_chase"]
MIN_TRIPS_MS = 200 / 2.1e6  # two trips of 100 clocks at the MI300X's 2100 MHz


@pytest.mark.parametrize(
    "work, milliseconds",
    [
        (DispatchWork(waves=1), MIN_TRIPS_MS / 2),
        (DispatchWork(waves=1, written_bytes=768), MIN_TRIPS_MS),
        # 304 CUs with 64 bytes per clock each
        (DispatchWork(waves=1, written_bytes=304 * 64 * 2_100_000), 1.0),
        # 1216 SIMDs with five instructions per clock each
        (DispatchWork(waves=10, instructions=1216 * 5 * 2_100_000.0), 1.0),
        (DispatchWork(waves=1216 * 5 * 2_100_000), 1.0),
        # 32 bytes each at 17.2 TB/s
        (DispatchWork(waves=1, requests=17.2e9 / 32), 1.0),
    ],
)
def test_each_part_alone_bounds_the_time(work, milliseconds):
    assert min_milliseconds("gfx942", work) == pytest.approx(milliseconds, rel=1e-6)


def test_unknown_targets_have_no_bound():
    assert min_milliseconds("gfx9999", DispatchWork(waves=10**9, written_bytes=10**9)) == 0


def test_a_forged_nanosecond_is_below_it():
    packet = {"grid": [192, 1, 1], "workgroup": [64, 1, 1]}
    assert DispatchWork.of(packet, 768, None) == DispatchWork(waves=3, written_bytes=768)
    assert min_milliseconds("gfx942", DispatchWork.of(packet, 768, None)) > 1e-6


def test_partial_workgroups_and_waves_count_as_whole_ones():
    packet = {"grid": [100, 3, 1], "workgroup": [96, 1, 1]}
    counted = CountedSection(instructions=7.0, requests_beyond_l2=5.0)
    assert DispatchWork.of(packet, 1, counted) == DispatchWork(waves=2 * 3 * 2, written_bytes=1, instructions=7.0, requests=5.0)


@pytest.mark.parametrize("name", TESTBED)
def test_honest_kernels_take_much_longer(testbed, tmp_path, name):
    """All dispatches of each testbed kernel together, as the device models them."""
    device = devices.select("gfx942", tmp_path)
    program = testbed(name)
    database = tmp_path / "trace.db"
    tracer = BuiltinTracer.on(device, tmp_path, None)
    tracer.trace(Command((str(program),), program, name), os.environ, database, subprocess.DEVNULL)
    trace = read_trace(database)
    sums = counters_by_symbol(trace, ())
    assert sums
    for symbol in symbols_of(trace):
        values = sums[symbol.kernel.symbol].values
        requests = values["TCC_EA0_RDREQ_sum"] + values["TCC_EA0_WRREQ_sum"]
        written = 64 * values["TCC_EA0_WRREQ_64B_sum"]
        least = min_milliseconds("gfx942", DispatchWork(values["SQ_WAVES"], written, values["SQ_INSTS"], requests))
        assert 0 < least < symbol.total_ns / 1e6 / 2, symbol.name
