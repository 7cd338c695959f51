"""The thread trace recorded on an MI300X: the findings against plain CSV and JSON, and against AMD's own wait records."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from rocm_perf_lab.analysis.thread_trace import findings, read, read_all
from rocm_perf_lab.analysis.thread_trace.waits import WaitChains
from rocm_perf_lab.arch.families import family_of
from thread_trace_files import assert_sums_close, csv_sums, wave_files

NAME = "ui_output_agent_5600_dispatch_2"


@pytest.fixture(scope="module")
def recorded(shared_data) -> Path:
    return shared_data / "att" / "gfx942_ck_bmm"


@pytest.fixture(scope="module")
def records(recorded) -> list[dict]:
    return list(wave_files(recorded / NAME).values())


@pytest.fixture(scope="module")
def found(recorded):
    return findings(read(recorded / NAME), family_of("gfx942"))


def test_every_part_is_read(recorded):
    (trace,) = read_all(recorded)
    assert trace.missing == {}
    assert (trace.dispatch, trace.gfxip, len(trace.waves)) == (2, 9, 4)


def test_sums_are_consistent(recorded, found):
    hits, latency, stall, idle = assert_sums_close(recorded / NAME)
    assert (hits, latency, stall, idle) == (7000, 130376, 97792, 8456)  # as recorded
    ours = {
        (one.code_object, one.vaddr): (one.cost.hits, one.cost.latency, one.cost.stall, one.cost.idle)
        for one in found.hot_instructions
    }
    assert ours == {place: sums for place, sums in csv_sums(recorded / f"stats_{NAME}.csv").items() if sums[0]}
    assert found.instructions.value == hits
    spent = latency + idle
    assert found.stall_fraction.value == stall / spent
    assert found.issue_fraction.value == (latency - stall) / spent
    assert found.idle_fraction.value == idle / spent


def test_the_instruction_mix_is_that_of_the_records(records, found):
    categories = Counter(instruction[1] for record in records for instruction in record["wave"]["instructions"])
    assert found.mix["vector ALU"] == categories[6]
    assert found.mix["scalar memory"] == categories[1] and found.mix["LDS"] == categories[5]
    assert found.mix["vector memory"] == categories[3] + categories[4]
    assert found.mix["branch"] == categories[7] + categories[8]
    assert sum(found.mix.values()) == 7000


def test_rates_follow_from_the_records(records, found):
    """Each wave has a SIMD to itself, so a SIMD's cycles are those of its wave."""
    waves = [record["wave"] for record in records]
    assert len({wave["simd"] for wave in waves}) == len(waves)
    cycles = sum(max(wave["end"], max(row[0] + row[3] for row in wave["instructions"])) - wave["begin"] for wave in waves)
    instructions = [row for wave in waves for row in wave["instructions"]]
    assert found.ipc.value == pytest.approx(len(instructions) / cycles)
    assert found.valu_fraction.value == pytest.approx(sum(row[3] - row[2] for row in instructions if row[1] == 6) / cycles)
    # 32x32x8 in half precision: 16384 operations at 512 per cycle and SIMD.
    code = found.trace.code
    matrix = {line for line, text in zip(code.line.tolist(), code.text, strict=True) if text.startswith("v_mfma_f32_32x32x8")}
    assert found.mfma_fraction.value == pytest.approx(32 * sum(row[4] in matrix for row in instructions) / cycles)
    waits = sum(row[2] for row in instructions if row[1] == 9)
    assert found.wait_fraction.value == pytest.approx(waits / (130376 + 8456))


def test_wait_chains_are_those_that_amd_recorded(records, found):
    """The instructions that every wait of every wave waited for."""
    trace = found.trace
    chains = WaitChains(trace.code, trace.waves, trace.gfxip)
    total = 0
    for record, wave, rows, waits in zip(records, trace.waves, chains.rows, chains.of_wave, strict=True):
        lines = trace.code.line[rows]
        ours = [[int(lines[wait.record]), sorted(int(lines[i]) for i in wait.accesses)] for wait in waits if wait.accesses]
        theirs = [[line, sorted(access for access, _ in accesses)] for line, accesses in record["wave"]["waitcnt"]]
        assert ours == theirs, wave.file
        total += len(theirs)
    assert total > 300


def test_latencies_are_from_issue_to_the_end_of_the_wait(records, found):
    """Only vector memory accesses, which complete in order, and waits for them alone that took longer than an empty wait."""
    text = dict(zip(found.trace.code.line.tolist(), found.trace.code.text, strict=True))
    cycles = []
    for record in records:
        issued: list[int] = []
        for time, category, stall, latency, line in record["wave"]["instructions"]:
            if category in (3, 4):
                issued.append(time + stall)
            if left := re.fullmatch(r"s_waitcnt vmcnt\((\d+)\)( lgkmcnt\(\d+\))?", text[line]):
                assert left[2] is None, "what both counters waited for is another test's"
                kept = max(0, len(issued) - int(left[1]))
                done, issued = issued[:kept], issued[kept:]
                if done and stall > 4:
                    cycles.append(time + latency - done[-1])
    assert len(cycles) > 20
    assert found.memory_latency["vector"].value == pytest.approx(sum(cycles) / len(cycles))


def test_waves_over_time(recorded, found):
    events = json.loads((recorded / NAME / "occupancy.json").read_text())["0"]
    of_cu = sorted((event[0], 1 if event[4] else -1) for event in events if event[1] == 1)
    busy = count = most = before = 0
    for time, change in of_cu:
        busy += count * (time - before)
        count, before = count + change, time
        most = max(most, count)
    span = of_cu[-1][0] - of_cu[0][0]
    assert (found.occupancy.peak, found.occupancy.mean) == (most, pytest.approx(busy / span))
    assert sum(found.occupancy.waves) * found.occupancy.width == pytest.approx(busy, rel=1e-5)
