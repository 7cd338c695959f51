"""Trees that end in one wave: which, and that results keep their bits for all sizes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.optimize.transforms import Proposal, wave_tail

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
PROGRAM = Path(__file__).with_name("trees.hip")
COMMAND = ("hipcc", "-O2", "--offload-arch=gfx942")
PROPOSED = ("total", "highest")
REFUSED = {
    "all_used": "not its first element alone",
    "neighbours": "other elements than those of a thread",
    "other_thread": "not the threads below the distance alone",
}
OPTIONS = GateOptions(equivalence=EquivalenceOptions(level="program", device="gfx942"))  # the same bits: below


@pytest.fixture(scope="module")
def source():
    return read(PROGRAM, COMMAND)


@pytest.mark.parametrize("name", REFUSED)
def test_other_trees_stay_as_they_are(source, name):
    (answer,) = wave_tail.propose(source, source.kernel(name), ())
    assert not isinstance(answer, Proposal) and REFUSED[name] in answer.reason, answer


def test_every_size_keeps_its_bits(source, tmp_path, rocm_perf_in):
    edits = [edit for name in PROPOSED for edit in proposal(source, name).edits]
    changed = apply_edits(source.text, edits)
    assert changed.count(b"__shfl_down") == 2
    before = printed(tmp_path / "before", source.text, rocm_perf_in)
    assert printed(tmp_path / "after", changed, rocm_perf_in) == before and len(before) == 4 * 8


def test_the_gate_accepts_it_and_sees_it_gain(source, tmp_path):
    subprocess.run([*COMMAND, PROGRAM, "-o", tmp_path / "trees"], check=True)
    captured = capture([str(tmp_path / "trees"), "1000"], "highest", 4, tmp_path / "capture", device="gfx942")
    with judge_of(source, "highest", [captured], OPTIONS) as judge:
        verdict = judge.judge(apply_edits(source.text, proposal(source, "highest").edits))
    assert verdict.accepted, verdict.rejection


def proposal(source, name: str) -> Proposal:
    (found,) = wave_tail.propose(source, source.kernel(name), ())
    assert isinstance(found, Proposal), found
    return found


def printed(folder: Path, text: bytes, rocm_perf_in) -> list[str]:
    folder.mkdir()
    (folder / "program.hip").write_bytes(text)
    subprocess.run([*COMMAND, "program.hip", "-o", "program"], cwd=folder, check=True)
    return rocm_perf_in(folder, "run", "--device", "gfx942", "./program").stdout.splitlines()
