"""The analysis of one kernel: times and counters from a small trace, and what the software device makes doubtful."""

from __future__ import annotations

import types
from dataclasses import replace

import pytest

import rocpd_database
from rocm_perf_lab.analysis.bottleneck import Bottleneck
from rocm_perf_lab.analysis.bottleneck_thresholds import LARGER, Factor
from rocm_perf_lab.analysis.counters import counters_by_symbol
from rocm_perf_lab.analysis.device import device_of
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.kernel_findings import (
    _larger,
    _of_thread_trace,
    _with_small_problem_caveat,
    kernel_findings,
)
from rocm_perf_lab.analysis.roofline import MALL_NOTE
from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.analysis.thread_trace.time_stack import TimePart, TimeStack
from rocm_perf_lab.analysis.time_stack_verdict import MADE_SMALL, SMALL_GRID
from rocm_perf_lab.arch.metric import NO_COUNTERS, Value
from rocm_perf_lab.arch.timing_parameters import table_hash
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Dispatch

SMALL = Factor(SMALL_GRID, "grid_waves_per_simd", None, 1.0, "the grid is small", ("launch more", "or larger"), "")
SCRATCH = Factor("scratch", "scratch_bytes", 0.0, None, "it spills", ("use fewer registers",), "")
UNCOALESCED = Factor("uncoalesced", "accesses", 16.0, None, "lanes are apart", ("put them together",), "")


def bottleneck(*factors: Factor) -> Bottleneck:
    advice = tuple(line for factor in factors for line in factor.advice)
    return Bottleneck("under-occupied", "few waves", 0.9, 0.9, "high", (), factors, {}, advice)


def occupancy(device_waves: int | None):
    return types.SimpleNamespace(device_waves=device_waves)


@pytest.mark.parametrize("factors", [(SMALL, SCRATCH, UNCOALESCED), (UNCOALESCED, SCRATCH, SMALL)])
def test_a_small_grid_is_doubtful_on_the_software_device_alone(factors):
    found = bottleneck(*factors)
    assert _with_small_problem_caveat(found, types.SimpleNamespace(software_device=None), occupancy(9728)) is found
    run = _with_small_problem_caveat(found, types.SimpleNamespace(software_device="software gfx942"), occupancy(9728))
    doubted = replace(SMALL, why="the grid is small, unless the problem was made small for the software device")
    assert run.factors == tuple(doubted if factor is SMALL else factor for factor in factors)
    larger = f"{LARGER}: 9,728 waves fill the GPU"
    assert run.advice == tuple(line for factor in factors for line in ((larger,) * (factor is SMALL) + factor.advice))


def test_without_a_small_grid_nothing_is_doubtful():
    found = bottleneck(SCRATCH)
    assert _with_small_problem_caveat(found, types.SimpleNamespace(software_device="software gfx942"), occupancy(1)) is found


@pytest.mark.parametrize("waves, words", [(1234, ": 1,234 waves fill the GPU"), (None, ""), (0, "")])
def test_how_large_a_grid_would_be_large_enough(waves, words):
    assert _larger(occupancy(waves)) == LARGER + words


def test_evidence_of_a_thread_trace_is_noted():
    traced, nothing = types.SimpleNamespace(waves=Value(1234.0, "waves")), types.SimpleNamespace(waves=Value(None, "waves"))
    evidence = Evidence({}, traced=("wait_fraction", "valu_busy_fraction"))
    assert _of_thread_trace(evidence, traced) == (
        "without counters, wait fraction, valu busy fraction are those of the 1,234 waves in the thread trace",
    )
    assert (
        _of_thread_trace(evidence, None) == _of_thread_trace(evidence, nothing) == _of_thread_trace(Evidence({}), traced) == ()
    )


CYCLES = 8 * 1050  # over eight dies: half the cycles of the 2100 MHz peak clock in 1000 ns
COUNTERS = {"SQ_INSTS_VALU": [304 * 525], "GRBM_GUI_ACTIVE": [CYCLES], "SQ_WAVES": [8.0]}


def studied(path, own=None, counters=COUNTERS, on_path=None, traced=None):
    """The analysis of a kernel with a dispatch of 1000 ns, in a trace with a dispatch of another kernel."""
    work = [Dispatch("k", 1000, 2000, counters=counters, workgroup=256, grid=512), Dispatch("other", 3000, 3001)]
    trace = read_trace(rocpd_database.write(path, work, own))
    symbol = next(one for one in symbols_of(trace) if one.name == "k")
    return kernel_findings(trace, symbol, device_of(trace.agents[1]), counters_by_symbol(trace, [])["k"], on_path, None, traced)


@pytest.mark.parametrize("own, busy", [(None, 0.5), ({"timing": "measured"}, 0.5), ({"timing": "modelled"}, 0.25)])
def test_counted_cycles_are_used_where_times_are_measured(tmp_path, own, busy):
    """A modelled clock always runs at its peak, whatever the counter says."""
    found = studied(tmp_path / "t.db", own)
    assert found.evidence.number("valu_busy_fraction") == pytest.approx(busy)
    assert found.counters == {name: value for name, (value,) in COUNTERS.items()}
    assert found.no_counters is None and found.on_path is None and found.sampling is None
    assert found.headroom.program_speedup.reason is not None


def test_a_kernel_without_counters(tmp_path):
    found = studied(tmp_path / "t.db", counters={}, on_path=types.SimpleNamespace(fraction=0.75))
    assert found.no_counters == NO_COUNTERS and found.counters == {}
    assert (found.evidence.number("mean_duration"), found.row, found.occupancy.waves) == (1000.0, 0, 8)
    assert found.bottleneck.name in ("under-occupied", "unknown") and found.evidence.number("scratch_bytes") == 0


UNKNOWN = Value.missing("", "not traced")


def traced(cause: str):
    """A trace that holds only a stack: the cause accounts for 60 of 100 ns and barriers for 20."""
    parts = (TimePart(cause, 60.0, 60, 60), TimePart("barriers", 20.0, 20, 20))
    stack = TimeStack(100, parts, 20, {cause: 40, "barriers": 80}, (), (), (cause, "barriers"), (100, 40, 80, 20))
    names = ("waves", "wait_fraction", "stall_fraction", "valu_fraction", "mfma_fraction")
    return types.SimpleNamespace(stack=stack, mix={}, truncated_waves=0, **dict.fromkeys(names, UNKNOWN))


@pytest.mark.parametrize(
    "device, cause, is_doubtful",
    [("software gfx942", SMALL_GRID, True), (None, SMALL_GRID, False), ("software gfx942", "memory-latency", False)],
)
def test_a_stack_decides_and_a_small_grid_is_doubtful_on_the_software_device(tmp_path, device, cause, is_doubtful):
    found = studied(tmp_path / "t.db", {"device": device} if device else None, traced=traced(cause))
    assert (found.bottleneck.name, found.bottleneck.by, found.headroom.by) == (cause, "experiments", "experiments")
    assert found.bottleneck.advice[:1] == (f"{LARGER}: 9,728 waves fill the GPU",) or not is_doubtful
    assert any(line.startswith(LARGER) for line in found.bottleneck.advice) == is_doubtful
    assert (MADE_SMALL in found.bottleneck.why) == is_doubtful
    assert found.headroom.kernel_speedup.value == pytest.approx(100 / 20)


@pytest.mark.parametrize("parameters, is_known", [(table_hash(), True), ("other", False)])
def test_gains_have_an_error_if_the_models_error_is_known(tmp_path, parameters, is_known):
    own = {"timing": "modelled", "timing_parameters": parameters}
    remedies = studied(tmp_path / "t.db", own, traced=traced("memory-latency")).bottleneck.remedies
    assert [one.cause for one in remedies] == ["memory-latency", "barriers"]
    assert [remedy.gain_at_least is not None for remedy in remedies] == [is_known] * 2


def test_notes_come_from_the_roofline_where_there_is_one(tmp_path):
    requests = {"TCC_BUBBLE_sum": [0.0], "TCC_EA0_RDREQ_sum": [8.0], "TCC_EA0_RDREQ_32B_sum": [0.0],
                "TCC_EA0_WRREQ_sum": [8.0], "TCC_EA0_WRREQ_64B_sum": [8.0]}  # fmt: skip
    assert MALL_NOTE in studied(tmp_path / "t.db", counters=COUNTERS | requests).notes
    assert studied(tmp_path / "other.db").notes == ()
