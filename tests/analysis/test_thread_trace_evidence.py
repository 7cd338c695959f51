"""What a thread trace adds to the evidence, and what it cannot show."""

from __future__ import annotations

import types

import pytest

from rocm_perf_lab.analysis.thread_trace_evidence import from_thread_trace
from rocm_perf_lab.arch.metric import Value


def fraction(number: float | None) -> Value:
    return Value(number, "fraction")


def traced(wait=0.5, stall=0.75, waves=4.0, truncated=0, valu=0.25, mfma=0.125, mix=None):
    """Two instructions take 96 + 4 and 90 + 10 cycles. By default, three accesses were made."""
    costs = [types.SimpleNamespace(latency=latency, idle=idle) for latency, idle in ((96, 4), (90, 10))]
    return types.SimpleNamespace(
        wait_fraction=fraction(wait),
        stall_fraction=fraction(stall),
        valu_fraction=fraction(valu),
        mfma_fraction=fraction(mfma),
        waves=Value(waves, "waves"),
        truncated_waves=truncated,
        hot_instructions=[types.SimpleNamespace(cost=one) for one in costs],
        mix={"vector memory": 2, "scalar memory": 1, "LDS": 9} if mix is None else mix,
    )


ACCESSES = {"memory_instructions_per_wave": 0.75, "wait_cycles_per_memory_instruction": 0.5 * 200 / 3}
BUSY = {"valu_busy_fraction": 0.25, "mfma_busy_fraction": 0.125}


def numbers(found) -> dict[str, float]:
    return {name: value.value for name, value in found.items()}


@pytest.mark.parametrize("grid, busy", [(None, {}), (0.0, {}), (0.99, {}), (1.0, BUSY), (40.0, BUSY)])
def test_how_busy_units_are_needs_a_grid_that_fills_the_device(grid, busy):
    assert numbers(from_thread_trace(traced(), grid)) == {"wait_fraction": 0.5, "issue_wait_fraction": 0.25} | ACCESSES | busy


@pytest.mark.parametrize(
    "wait, stall, found",
    [
        (0.25, 0.75, {"wait_fraction": 0.25, "issue_wait_fraction": 0.5}),
        (0.5, 0.5, {"wait_fraction": 0.5, "issue_wait_fraction": 0.0}),
        (0.5, 0.375, {"wait_fraction": 0.5, "issue_wait_fraction": 0.0}),
        (0.5, None, {"wait_fraction": 0.5}),
        (None, 0.5, {}),
    ],
)
def test_stalls_that_are_not_waits(wait, stall, found):
    assert numbers(from_thread_trace(traced(wait, stall, mix={}), None)) == found


@pytest.mark.parametrize(
    "given, counts",
    [
        ({}, True),
        ({"mix": {"vector memory": 3}}, True),
        ({"mix": {"scalar memory": 3}}, True),
        ({"mix": {"LDS": 9}}, False),
        ({"waves": None}, False),
        ({"waves": 0.0}, False),
        ({"truncated": 1}, False),
        ({"wait": None}, False),
    ],
)
def test_accesses_are_counted_if_every_wave_is_whole(given, counts):
    found = numbers(from_thread_trace(traced(**given), None))
    assert {name: found.get(name) for name in ACCESSES} == (ACCESSES if counts else dict.fromkeys(ACCESSES))
