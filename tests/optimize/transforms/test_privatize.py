"""Counts that are first accumulated in LDS: which ones, and that they stay the same for all sizes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.gate.source.promises import NO_PROMISES
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.optimize.transforms import TRANSFORMS, Proposal, load_ahead, privatize
from rocm_perf_lab.optimize.transforms.combined import with_enabled_changes
from slow_variants import every

pytestmark = pytest.mark.usefixtures("hipcc", "native_dir")
PROGRAM = Path(__file__).with_name("counts.hip")
COMMAND = ("hipcc", "-O2", "--offload-arch=gfx942")
PROPOSED = {"by_byte": {256}, "by_pointer": {256}, "by_number": {256, 2048}, "weighed": {256, 2048}}
REFUSED = {
    "uses_result": "no statement of it adds",
    "reads_counts": "it is also used other than for adding",
    "ends_inside": "a thread may end",
    "in_lds": "",
}
OPTIONS = GateOptions(equivalence=EquivalenceOptions(level="program", device="gfx942"))  # identical bits are checked below


@pytest.fixture(scope="module")
def source():
    return read(PROGRAM, COMMAND)


@pytest.mark.parametrize("name", [one for one in REFUSED if REFUSED[one]])
def test_other_kernels_stay_unchanged(source, name):
    answers = list(privatize.propose(source, source.kernel(name), ()))
    assert not any(isinstance(one, Proposal) for one in answers), answers
    assert any(REFUSED[name] in one.reason for one in answers), answers


@pytest.mark.parametrize("last", every(2, [False, True]))
def test_every_size_gives_the_same_counts(source, last, tmp_path, rocm_perf_in):
    edits = []
    for name, bins in PROPOSED.items():
        proposals = [one for one in privatize.propose(source, source.kernel(name), ()) if isinstance(one, Proposal)]
        mine = [one for one in proposals if one.parameters["parameter"] != "total"]
        assert {one.parameters["bins"] for one in mine} == bins
        edits += mine[-last].edits
    (ahead,) = (one for one in load_ahead.propose(source, source.kernel("in_lds"), (4,)) if isinstance(one, Proposal))
    changed = apply_edits(source.text, [*edits, *ahead.edits])
    before = printed(tmp_path / "before", source.text, rocm_perf_in)
    assert printed(tmp_path / "after", changed, rocm_perf_in) == before and len(set(before)) == len(before) == 6 * 4


@pytest.mark.slow
@pytest.mark.parametrize("transformation, kernel", [(privatize, "by_byte"), (load_ahead, "in_lds")])
def test_the_gate_accepts_the_change_and_measures_its_gain(source, tmp_path, transformation, kernel):
    subprocess.run([*COMMAND, PROGRAM, "-o", tmp_path / "counts"], check=True)
    captured = capture([str(tmp_path / "counts"), "20000", "7"], kernel, 0, tmp_path / "capture", device="gfx942")
    answers = transformation.propose(source, source.kernel(kernel), (4,))
    proposal = next(one for one in answers if isinstance(one, Proposal))
    with judge_of(source, kernel, [captured], OPTIONS) as judge:
        verdict = judge.judge(apply_edits(source.text, proposal.edits), proposal.promises)
    assert verdict.accepted, verdict.rejection


def test_a_change_is_proposed_with_the_one_that_it_makes_possible(source):
    """The loop alone may not be changed: judging by its launches, it may add to memory that it reads."""
    kernel = source.kernel("by_pointer")
    answers = {one.NAME: list(one.propose(source, kernel, (4,))) for one in (privatize, load_ahead)}
    assert not any(isinstance(one, Proposal) for one in answers[load_ahead.NAME])
    firsts = [one for one in answers[privatize.NAME] if isinstance(one, Proposal)]
    (both,) = with_enabled_changes(source, kernel, firsts, TRANSFORMS, (4,), lambda text: read(PROGRAM, COMMAND, text=text))
    changed = apply_edits(source.text, both.edits)
    assert (
        b"ahead3" in changed
        and both.promises == NO_PROMISES
        and both.parameters == {"factor": 4, "loads": "bytes[i]"} | firsts[0].parameters
    )


def printed(folder: Path, text: bytes, rocm_perf_in) -> list[str]:
    folder.mkdir()
    (folder / "program.hip").write_bytes(text)
    subprocess.run([*COMMAND, "program.hip", "-o", "program"], cwd=folder, check=True)
    return rocm_perf_in(folder, "run", "--device", "gfx942", "./program").stdout.splitlines()
