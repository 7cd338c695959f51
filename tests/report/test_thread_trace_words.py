"""What the terminal shows for a thread trace, on both sides of each condition."""

from __future__ import annotations

import types

import pytest

from rocm_perf_lab.report import thread_trace
from rocm_perf_lab.report.thread_trace import describe
from rocm_perf_lab.report.thread_trace_schema import ThreadTraceSection

_NULL = "waves wait_fraction ipc valu_fraction mfma_fraction vector_memory_latency_cycles waited_for time_stack"
NOTHING = dict.fromkeys(_NULL.split()) | {"wait_chains": [], "hot_lines": [], "hot_instructions": []}


def said(**known) -> list[str]:
    shares = {"issue_fraction": 0.25, "stall_fraction": 0.5, "idle_fraction": 0.25, "instructions": 1234}
    found: list[str] = []
    describe(ThreadTraceSection.model_construct(**(NOTHING | shares | known)), found.append)
    return found


def test_shares_of_the_waves_time():
    begin = "1,234 instructions on one CU: 25.0 % issuing, 50.0 % stalled"
    assert said() == [f"Thread trace: waves, {begin}, 25.0 % idle."]
    assert said(waves=7, wait_fraction=0.75) == [f"Thread trace: 7 waves, {begin} (75.0 % in waits and barriers), 25.0 % idle."]


def test_what_the_cu_was_busy_with():
    assert said(ipc=0.0, valu_fraction=0.0, mfma_fraction=0.0, vector_memory_latency_cycles=0.0)[1:] == [
        "0.000 instructions per cycle per SIMD; VALU issuing 0.0 % of the time; "
        "0 cycles per vector memory access that a wave waited for."
    ]
    assert said(mfma_fraction=0.5)[1:] == ["matrix units busy 50.0 %."]
    assert said(vector_memory_latency_cycles=1234.4)[1:] == ["1,234 cycles per vector memory access that a wave waited for."]


def test_where_waves_wait_and_where_cycles_go():
    line = types.SimpleNamespace(source="a.hip:7", waited_cycles=5000, share=0.5)
    chain = types.SimpleNamespace(wait=types.SimpleNamespace(isa="s_waitcnt"), accesses=[types.SimpleNamespace(isa="load")])
    top = types.SimpleNamespace(isa="v_add", share=0.125)
    assert said(waited_for=line, wait_chains=[chain], hot_lines=[line], hot_instructions=[top])[1:] == [
        "Waves wait longest for the accesses of a.hip:7 (5,000 cycles).",
        "Most cycles: a.hip:7 (50.0 %).",
    ]
    assert said(wait_chains=[chain], hot_instructions=[top])[1:] == [
        "Waves wait longest at `s_waitcnt`, for `load`; line numbers need -g.",
        "Most cycles: `v_add` (12.5 %).",
    ]
    assert said(wait_chains=[types.SimpleNamespace(wait=chain.wait, accesses=[])])[1:] == []


@pytest.mark.parametrize(
    "known, notes",
    [
        ({}, []),
        (
            {"truncated_waves": 3},
            ["the trace lost instructions of 3 waves: what they did later is not in the sums"],
        ),
        ({"no_lines": "compile with -g"}, ["no source lines: compile with -g"]),
        ({"no_chains": "no code"}, ["what the waits waited for is not known: no code"]),
    ],
)
def test_notes_say_what_is_missing_and_why(known, notes):
    found = types.SimpleNamespace(**{"truncated_waves": 0, "no_lines": None, "no_chains": None} | known)
    assert thread_trace._notes(found) == notes
