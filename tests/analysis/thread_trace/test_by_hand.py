"""A thread trace small enough to add up by hand."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fuzz import thread_traces
from rocm_perf_lab.analysis.thread_trace import findings, read_all
from rocm_perf_lab.analysis.thread_trace.parse import UnreadableFileError, code_json, wave_json
from rocm_perf_lab.analysis.thread_trace.tables import ThreadTrace, TracedCode, Wave
from rocm_perf_lab.report.thread_trace import thread_trace_section

# text, source line, hits, latency, stall, idle: sums over the two waves below
CODE = [
    ("s_load_dwordx2 s[0:1], s[4:5], 0x0", "k.hip:1", 2, 8, 0, 0),
    ("s_waitcnt lgkmcnt(0)", "k.hip:2", 2, 190, 190, 0),
    ("global_load_dword v1, v0, s[0:1]", "k.hip:3", 2, 8, 0, 0),
    ("global_load_dword v2, v0, s[0:1] offset:4", "k.hip:4", 2, 8, 0, 10),
    ("s_waitcnt vmcnt(1)", "k.hip:5", 2, 504, 504, 0),
    ("s_waitcnt vmcnt(0)", "k.hip:5", 2, 304, 304, 0),
    ("v_add_f32_e32 v1, v1, v2", "k.hip:5", 2, 10, 2, 0),
    ("s_waitcnt vmcnt(0)", "k.hip:6", 2, 8, 8, 0),
    ("s_endpgm", "k.hip:7", 2, 8, 0, 0),
]


def traced() -> ThreadTrace:
    """Two waves, one after the other on one SIMD: the first waits 100 + 504 + 4 cycles, the second 90 + 0 + 300."""
    columns = [np.array([row[column] for row in CODE], np.int64) for column in (2, 3, 4, 5)]
    hits, latency, stall, idle = columns
    code = TracedCode(
        line=np.arange(9), text=[row[0] for row in CODE], source=[row[1] for row in CODE],
        code_object=np.full(9, 1), vaddr=np.arange(9) * 8, hits=hits, latency=latency, stall=stall, idle=idle,
        kernel=np.zeros(9, np.int64), kernels=[("k", "k()")],
    )  # fmt: skip
    first = [
        (0, 1, 0, 4, 0), (4, 9, 100, 100, 1), (104, 4, 0, 4, 2), (118, 4, 0, 4, 3), (122, 9, 504, 504, 4),
        (626, 9, 4, 4, 5), (630, 6, 1, 5, 6), (635, 9, 4, 4, 7), (639, 11, 0, 4, 8),
    ]  # fmt: skip
    second = [
        (1000, 1, 0, 4, 0), (1004, 9, 90, 90, 1), (1094, 4, 0, 4, 2), (1098, 4, 0, 4, 3), (1102, 9, 0, 0, 4),
        (1102, 9, 300, 300, 5), (1402, 6, 1, 5, 6), (1407, 9, 4, 4, 7), (1411, 11, 0, 4, 8),
    ]  # fmt: skip
    waves = [
        Wave("a", 0, 0, 0, 0, 0, 643, np.array(first, np.int64)),
        Wave("b", 0, 0, 0, 1, 1000, 1415, np.array(second, np.int64), truncated=1),
    ]
    return ThreadTrace(Path("t"), 1, 9, 2100.0, code, waves, None, {"events": "none"})


def test_waits_are_explained_by_what_was_outstanding():
    found = findings(traced())
    chains = {
        chain.wait.vaddr: ([(a.instruction.vaddr, a.times, a.ended, a.waited) for a in chain.accesses], chain.unexplained)
        for chain in found.chains
    }
    assert chains == {
        8: ([(0, 2, 2, 190)], 0),  # the scalar load
        32: ([(16, 2, 2, 504)], 0),  # vmcnt(1): the older of the two
        40: ([(24, 2, 2, 304)], 0),
        56: ([], 8),  # nothing was outstanding
    }
    assert [chain.wait.vaddr for chain in found.chains] == [32, 40, 8, 56]  # in descending order of stalls


def test_latencies_are_from_issue_to_the_end_of_the_wait():
    """Waits of four cycles or less found their access complete, so they say nothing about its latency."""
    latency = findings(traced()).memory_latency
    assert latency["scalar"].value == ((4 + 100) - 0 + (1004 + 90) - 1000) / 2
    assert latency["vector"].value == ((122 + 504) - 104 + (1102 + 300) - 1098) / 2
    assert latency["lds"].value is None and latency["lds"].reason == "no wave waited for a single such access"


def test_shares_and_rates():
    found = findings(traced())
    spent = 1048 + 10
    assert (found.instructions.value, found.waves.value, found.truncated_waves) == (18, 2, 1)
    assert found.mix == {
        "wait, barrier, nop": 8, "vector memory": 4, "scalar memory": 2, "vector ALU": 2, "message, end": 2,
    }  # fmt: skip
    assert found.stall_fraction.value == 1008 / spent and found.idle_fraction.value == 10 / spent
    assert found.issue_fraction.value == (1048 - 1008) / spent and found.wait_fraction.value == 1006 / spent
    simd_cycles = 643 + 415
    assert found.ipc.value == 18 / simd_cycles and found.valu_fraction.value == 8 / simd_cycles
    assert found.mfma_fraction.value == 0
    assert [(line.source, line.cost.latency, line.waited) for line in found.hot_lines] == [
        ("k.hip:5", 818, 0), ("k.hip:2", 190, 0), ("k.hip:4", 8, 304), ("k.hip:1", 8, 190), ("k.hip:3", 8, 504),
        ("k.hip:6", 8, 0), ("k.hip:7", 8, 0),
    ]  # fmt: skip
    assert found.waited_for is not None and found.waited_for.source == "k.hip:3"


@pytest.mark.parametrize("number, is_read", [(1 << 62, True), ((1 << 62) + 1, False), (-1, False)])
@pytest.mark.parametrize("name", ["end", "instructions", "code"])
def test_numbers_whose_sums_could_overflow_are_refused(tmp_path, name, number, is_read):
    folder = thread_traces.write(tmp_path / "att", waves=1)
    path = next(folder.glob("ui_*/code.json" if name == "code" else "ui_*/se0_*.json"))
    document = json.loads(path.read_text())
    if name == "code":
        document["code"][1][5] = number
    elif name == "instructions":
        document["wave"]["instructions"][-1][0] = number
    else:
        document["wave"]["end"] = number
    path.write_text(json.dumps(document))
    read = code_json if name == "code" else wave_json
    with nullcontext() if is_read else pytest.raises(UnreadableFileError):
        read(path)


def test_a_file_has_one_name_however_it_was_included(tmp_path):
    path = next(thread_traces.write(tmp_path / "att", waves=1).glob("ui_*/code.json"))
    document = json.loads(path.read_text())
    document["code"][1][3] = "/p/./lib.hpp:9 -> /p/././main.cpp:4"
    path.write_text(json.dumps(document))
    assert code_json(path).source[0] == "/p/lib.hpp:9 -> /p/main.cpp:4"


def test_the_clock_follows_from_its_readings(tmp_path):
    (trace,) = read_all(thread_traces.write(tmp_path / "att"))
    assert trace.clock_mhz == 21000 / 1000 * 100


def test_the_report_has_numbers_or_reasons():
    whole = thread_trace_section(findings(traced()))
    assert (whole.waves, whole.instructions, whole.clock_mhz, whole.latency_is) == (2, 18, 2100.0, "stall + issue")
    assert whole.reasons.pop("time_stack").startswith("only the software device can time")
    assert whole.reasons == {"lds_latency_cycles": "no wave waited for a single such access", "occupancy": "none"}
    lost = thread_trace_section(findings(replace(traced(), waves=None, missing={"waves": "lost", "events": "none"})))
    assert lost.waves is None and lost.reasons["waves"] == "lost" and lost.instructions == 18
