"""The timing model's figures, compared with a thread trace of four waves of a matrix multiplication, recorded on an MI300X.

An instruction in a wave's trace is [clock, category, stall, latency, line]; on this family the latency is stall plus issue.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def recording(shared_data):
    """(waves, listing, folder): each wave's JSON, line number -> instruction text, and the folder of the recording."""
    folder = shared_data / "att" / "gfx942_ck_bmm" / "ui_output_agent_5600_dispatch_2"
    listing = {row[2]: row[0] for row in json.loads((folder / "code.json").read_text())["code"]}
    waves = [json.loads(path.read_text())["wave"] for path in sorted(folder.glob("se*_wv*.json"))]
    assert len(waves) == 4
    return waves, listing, folder


@pytest.fixture(scope="module")
def parameters(repository):
    table = tomllib.loads((repository / "src" / "rocm_perf_lab" / "arch" / "timing_gfx942.toml").read_text())
    return {name: entry["value"] for name, entry in table.items()}


def test_issue_cycles_of_every_recorded_instruction(recording, native_dir):
    waves, listing, _ = recording
    lines = subprocess.run([native_dir / "bin" / "rpd_isa_probe", "costs"], check=True, capture_output=True, text=True).stdout
    modelled = {name: int(cycles) for name, cycles, _ in (line.split() for line in lines.splitlines())}
    recorded: dict[str, Counter[int]] = {}
    for wave in waves:
        for _clock, category, stall, latency, line in wave["instructions"]:
            if category in (7, 8, 9, 11):  # branches, waits, the end: see the other tests
                continue
            mnemonic = listing[line].split()[0]
            name = mnemonic.removesuffix("_e32").removesuffix("_e64")
            recorded.setdefault(mnemonic if mnemonic in modelled else name, Counter())[latency - stall] += 1
    compared = {name: counts.most_common(1)[0][0] for name, counts in recorded.items() if name in modelled}
    print(f"{'instruction':28} {'modelled':>8} {'MI300X':>8}")
    for name, cycles in sorted(compared.items()):
        print(f"{name:28} {modelled[name]:>8} {cycles:>8}")
    assert len(compared) >= 50
    assert {name: modelled[name] for name in compared} == compared


def test_a_matrix_instruction_occupies_its_unit(recording, parameters):
    waves, listing, _ = recording
    operations = 2 * 32 * 32 * 8
    expected = operations * parameters["simds_per_cu"] / parameters["matrix_16bit_per_cycle"]
    gaps = Counter()
    for wave in waves:
        starts = [clock + stall for clock, _, stall, _, line in wave["instructions"] if "v_mfma_f32_32x32x8" in listing[line]]
        gaps.update(after - before for before, after in itertools.pairwise(starts))
    assert gaps.most_common(1)[0][0] == expected == 32


def test_waves_start_one_after_the_other(recording, parameters):
    events = json.loads((recording[2] / "occupancy.json").read_text())["0"]
    starts = [event[0] for event in events if event[4] == 1]
    assert len(starts) == 32
    assert {after - before for before, after in itertools.pairwise(starts)} == {parameters["wave_launch_cycles"]}


def test_the_end_and_the_first_instruction_of_a_wave(recording, parameters):
    waves, listing, _ = recording
    for wave in waves:
        assert listing[wave["instructions"][-1][4]] == "s_endpgm"
        assert wave["instructions"][-1][3] == pytest.approx(parameters["wave_end_cycles"], abs=4)
        # Its code must first be fetched from memory.
        start = parameters["workgroup_launch_cycles"] + parameters["mall_latency_cycles"]
        latest = parameters["workgroup_launch_cycles"] + parameters["hbm_latency_cycles"]
        assert start <= wave["instructions"][0][0] - wave["begin"] <= latest


def test_a_taken_branch(recording, parameters):
    waves, listing, _ = recording
    gaps = [
        after[0] - before[0]
        for wave in waves
        for before, after in itertools.pairwise(wave["instructions"])
        if listing[before[4]].split()[0] in ("s_branch", "s_cbranch_execnz")
    ]
    assert Counter(gaps).most_common(1)[0][0] == parameters["taken_branch_cycles"]


def test_latencies_at_waits(recording, parameters):
    """From issue to the end of the wait: an LDS load, and the first scalar loads, which read the arguments from memory."""
    waves, listing, _ = recording
    lds, scalar = [], []
    for wave in waves:
        outstanding: list[tuple[str, int]] = []
        for clock, _, stall, latency, line in wave["instructions"]:
            text = listing[line]
            if text.startswith(("ds_", "s_load")):
                outstanding.append((text, clock + stall))
            if text == "s_waitcnt lgkmcnt(0)" and outstanding:
                name, issued = outstanding[-1]
                if name.startswith("ds_read_b128") and stall > 16:
                    lds.append(clock + latency - issued)
                if name.startswith("s_load") and stall > 16:
                    scalar.append(clock + latency - issued)
                outstanding.clear()
    tick = 4  # of the trace's clock
    assert Counter(lds).most_common(1)[0][0] == pytest.approx(parameters["lds_latency_cycles"], abs=tick)
    least, most = parameters["mall_latency_cycles"], parameters["hbm_latency_cycles"]
    assert scalar and all(least <= latency <= most for latency in scalar)
