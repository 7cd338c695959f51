"""`rocm-perf optimize` from end to end on the software device: one kernel gains, two are left unchanged with a reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from published_schemas import expect_published
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.hip_source.edits import unified_diff

PROGRAM = Path(__file__).with_name("program.hip")
BUILD = "hipcc -O2 -nogpuinc SOURCE -o BINARY"
pytestmark = pytest.mark.usefixtures("hipcc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, native_dir) -> Path:
    folder = tmp_path_factory.mktemp("optimize")
    shutil.copy(PROGRAM, folder)
    return folder


@pytest.fixture(scope="module")
def outcome(folder, rocm_perf_in) -> dict:
    options = [
        "--device",
        "gfx942",
        "--build",
        BUILD,
        "--transforms",
        "unroll,unroll-strided",
        "--factors",
        "4",
        "--max-iters",
        "2",
    ]
    options += ["--max-regression", "vgpr=0.5,dram=0.2", "--auto-approve", "--accept", "modelled", "--json", "--seed", "5"]
    done = rocm_perf_in(folder, "optimize", *options, "program.hip", "./program")
    found = json.loads(done.stdout)
    assert f"page for browsers: {found['run']}/report.html" in done.stderr
    return found


def test_a_kernel_that_waits_for_independent_loads_gains(outcome):
    (iteration,) = outcome["iterations"]
    assert outcome["accepted"] and outcome["timing"] == "modelled" and iteration["kernel"].startswith("sum_rows(")
    assert outcome["final_ms"] == iteration["runtime_ms"] < outcome["baseline_ms"]
    assert outcome["improvement"] == pytest.approx(1 - outcome["final_ms"] / outcome["baseline_ms"])
    (proposal,) = [one for one in outcome["proposals"] if one["verdict"] and one["verdict"]["accepted"]]
    steps = {step["step"]: step for step in proposal["verdict"]["steps"]}
    assert [step["outcome"] for step in steps.values()] == ["passed"] * 6
    cases = steps["equivalence"]["evidence"]["captures"][0]["cases"]
    assert set(cases.values()) == {"equal", "no race"} and {"NaN and infinity", f"order {seeds.orders(5)[1]}"} <= cases.keys()
    assert steps["equivalence"]["evidence"]["seed"] == 5
    assert steps["application"]["evidence"]["stdout_compared"]


def test_the_page_of_the_run_shows_the_change(outcome, opened, expect_accessible):
    tab = opened(Path(outcome["run"]) / "report.html")
    assert tab.inner_text("#gain") == f"{outcome['improvement']:.1%} of the time in the program's kernels saved by 1 change"
    kept = tab.locator("#proposals > details[open]")
    assert kept.count() == 1 and "#pragma unroll 4" in kept.locator(".diff .added").inner_text()
    expect_accessible(tab)


def test_counters_that_changed_explain_the_gain(outcome):
    (iteration,) = outcome["iterations"]
    moved = {one["counter"]: one for one in iteration["counters"]}
    assert moved["SQ_WAVE_CYCLES"]["after"] < moved["SQ_WAVE_CYCLES"]["before"]
    # Two waves load one number per lane and column; four numbers of a row are adjacent, so unrolled they are one load.
    loads = moved["SQ_INSTS_VMEM_RD"]
    assert (loads["before"], loads["after"]) == (2 * 48, 2 * 48 / 4)
    assert "75% fewer vector loads (SQ_INSTS_VMEM_RD) cause waits, for the same lines from L2" in iteration["why"]


def test_kernels_that_cannot_gain_are_left_unchanged_with_a_reason(outcome):
    reasons = {one["kernel"].split("(")[0]: one["reason"] for one in outcome["left_alone"]}
    assert "barrier" in reasons["rounds"] and "can gain the required 2.0%, by" in reasons["walk"]
    assert not [one for one in outcome["proposals"] if one["kernel"] == "rounds"]


def test_the_source_stays_unchanged_and_the_result_is_beside_it(outcome, folder):
    assert (folder / "program.hip").read_bytes() == PROGRAM.read_bytes()
    optimized, patch = map(Path, outcome["written"])
    assert [optimized.name, patch.name] == ["program.optimized.hip", "program.optimized.patch"]
    assert patch.read_text() == unified_diff(PROGRAM.read_bytes(), optimized.read_bytes(), "program.hip")
    before, after = PROGRAM.read_text().splitlines(), optimized.read_text().splitlines()
    (place,) = [number for number, line in enumerate(after) if line.strip() == "#pragma unroll 4"]
    assert after[:place] + after[place + 1 :] == before and "i < columns" in after[place + 1]


def test_the_journal_has_every_step(outcome, folder):
    entries = [json.loads(line) for line in (Path(outcome["run"]) / "journal.jsonl").read_text().splitlines()]
    events = [entry["event"] for entry in entries]
    assert events[:3] == ["target", "backup", "begin"] and events[-1] == "end"
    for event in ("build", "profile", "application baseline", "gate", "capture", "proposal", "verdict", "answer", "accepted"):
        assert event in events, event
    assert next(entry for entry in entries if entry["event"] == "build repeats")["same"]
    profile = next(entry for entry in entries if entry["event"] == "profile")
    assert profile["timing_parameters"] == outcome["timing_parameters"]
    gate = next(entry for entry in entries if entry["event"] == "gate")
    assert gate["seed"] == 5 and gate["race_seeds"] == list(seeds.orders(5)) and gate["level"] == "full"
    assert gate["measurement_seed"] == seeds.resampling(5)
    assert gate["max_regression"] == {"runtime": 0.05, "vgpr": 0.5, "occupancy": 0.15, "lds": 0.3, "dram": 0.2}


def test_history_is_shown_and_there_is_nothing_to_resume(outcome, folder, rocm_perf_in, rocm_perf):
    (entry,) = entries = json.loads(rocm_perf_in(folder, "optimize", "--history", "--json", "./program").stdout)
    expect_published("optimize --history", entries)
    expect_published("optimize", outcome)
    assert entry["ended"] and entry["accepted"] == [outcome["iterations"][0]["description"]]
    again = rocm_perf(
        "optimize", "--resume", "--auto-approve", "--build", BUILD, "-o", folder / "program.rocm-perf-optimize",
        folder / "program.hip", "./program",
    )  # fmt: skip
    assert again.returncode == 66 and "nothing is left to resume" in again.stderr


def test_a_dry_run_judges_and_writes_nothing(folder, tmp_path, rocm_perf_in):
    shutil.copy(PROGRAM, tmp_path)
    options = ["--device", "gfx942", "--build", BUILD, "--kernel", "sum_rows", "--transforms", "unroll", "--dry-run", "--json"]
    found = json.loads(rocm_perf_in(tmp_path, "optimize", *options, "program.hip", "./program").stdout)
    assert [one["parameters"]["factor"] for one in found["proposals"]] == [2, 4, 8]
    assert not any(one["verdict"] for one in found["proposals"]) and not found["written"] and not found["accepted"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["program.hip", "program.rocm-perf-optimize"]
