"""Inputs on which the baseline's own result depends on the order of workgroups say nothing of a candidate."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.isolate import capture

pytestmark = pytest.mark.usefixtures("hipcc")
PROGRAM = Path(__file__).with_name("overlap.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
STORE = "  out[i % n] = i * 0.5f;"
LATE = "  if (i < 192) for (int k = 0; k < 9; ++k) *(volatile float*)(out + i % n);\n"


SUM = "  __hip_atomic_fetch_add(out, 1.0f / (i + 1), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);"


@contextlib.contextmanager
def judging(program: Path, folder: Path):
    subprocess.run([*COMMAND, program, "-o", folder / "overlap"], check=True)
    captured = capture([str(folder / "overlap")], "wrapped", 0, folder, device="gfx942")
    options = GateOptions(equivalence=EquivalenceOptions(device="gfx942", seed=1), measured=False)
    with judge_of(read(program, COMMAND), "wrapped", [captured], options) as gate:
        yield lambda text: gate.judge(text.encode())


@pytest.fixture(scope="module")
def judge(native_dir, tmp_path_factory):
    with judging(PROGRAM, tmp_path_factory.mktemp("order")) as judge:
        yield judge


def test_sizes_on_which_threads_write_to_one_place_are_dropped(judge):
    """Three of four waves wait for loads before they store, so that other threads win where n is less than the workgroup."""
    verdict = judge(PROGRAM.read_text().replace(STORE, LATE + STORE))
    assert verdict.accepted, verdict.rejection
    (step,) = [step for step in verdict.steps if step.step == "equivalence"]
    cases = step.evidence.captures[0].cases
    assert any("order of workgroups" in outcome for outcome in cases.values()), cases
    assert cases["captured inputs"] == "equal"


def test_a_baseline_that_depends_on_the_order_itself_is_named(native_dir, tmp_path):
    """Sums of floats by atomics: whatever the candidate does, it needs a tolerance."""
    program = tmp_path / PROGRAM.name
    program.write_text(PROGRAM.read_text().replace(STORE, SUM))
    with judging(program, tmp_path) as judge:
        rejection = judge(program.read_text().replace(SUM, SUM.replace("(i + 1)", "(1 + i)"))).rejection
    told = "its result depends on the order of workgroups or waves, as the baseline's does: allow a tolerance with --ulps"
    assert rejection is not None and told in rejection.reason, rejection
