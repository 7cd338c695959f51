"""Each transformation speeds up a kernel that the compiler cannot improve by itself, as measured by the gate (modelled)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.optimize.transforms import TRANSFORMS, Proposal
from slow_variants import every

PROGRAM = Path(__file__).with_name("gains.hip")
COMMAND = ("hipcc", "-O3", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
GAINS = {
    "lds-padding": "transpose",
    "restrict": "scaled",
    "hoist": "lines",
    "vector": "quads",
    "launch-bounds": "blocked",
    "split-loop": "scaled",
}
OPTIONS = GateOptions(equivalence=EquivalenceOptions(level="program", device="gfx942"))  # the same bits: see their own tests


@pytest.fixture(scope="module")
def program(native_dir, tmp_path_factory, hipcc):
    folder = tmp_path_factory.mktemp("gains")
    subprocess.run([*COMMAND, PROGRAM, "-o", folder / "gains"], check=True)
    return folder / "gains"


@pytest.mark.parametrize("name, kernel", every(2, GAINS.items()))
def test_the_gate_accepts_each_transformation_and_measures_its_gain(program, tmp_path, name, kernel):
    source = read(PROGRAM, COMMAND)
    proposal = next(p for p in TRANSFORMS[name](source, source.kernel(kernel), (4,)) if isinstance(p, Proposal))
    captured = capture([str(program), kernel], kernel, 0, tmp_path, device="gfx942")
    with judge_of(source, kernel, [captured], OPTIONS) as judge:
        verdict = judge.judge(apply_edits(source.text, proposal.edits), proposal.promises)
    assert verdict.accepted, verdict.rejection
