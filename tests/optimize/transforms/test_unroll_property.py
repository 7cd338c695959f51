"""Random kernels: where unrolling is forbidden, nothing changes; where it is proposed, results are the same bit for bit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_results import COMMAND, same_results
from loop_kernels import generate
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, unroll

pytestmark = pytest.mark.usefixtures("hipcc")
FACTORS = (2, 3, 4, 8)  # the same for all loops of a program


def check(seed: int, kernels: int, folder: Path, rocm_perf_in) -> int:
    """Returns how many loops were unrolled."""
    program = generate(seed, kernels)
    factor = FACTORS[seed % len(FACTORS)]
    source = read(folder / "baseline.hip", COMMAND, text=program.text.encode())
    edits = []
    for name, loops in program.kernels.items():
        answers = {answer.line: answer for answer in unroll.propose(source, source.kernel(name), (factor,))}
        for loop in loops:
            answer = answers.pop(loop.line, None)
            if loop.refused is not None:
                assert isinstance(answer, Refusal) and loop.refused in answer.reason, (seed, name, loop, answer)
            elif isinstance(answer, Proposal):
                edits += answer.edits
            else:  # fewer iterations than the factor
                assert answer is None, (seed, name, loop, answer)
        assert not answers, (seed, name, answers)
    same_results(folder, source, edits, kernels, rocm_perf_in)
    return len(edits)


def test_unrolled_loops_give_the_same_bits_and_forbidden_ones_stay(tmp_path, native_dir, rocm_perf_in):
    assert check(1, 24, tmp_path, rocm_perf_in) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 22))
def test_hundreds_of_kernels(seed, tmp_path, native_dir, rocm_perf_in):
    assert check(seed, 24, tmp_path, rocm_perf_in) >= 8


def test_a_change_of_fused_operations_is_rejected(tmp_path, native_dir, rocm_perf):
    """With hipcc's default contraction, the unrolled form of kernel k5 of seed 3 fuses different products."""
    source = read(tmp_path / "program.hip", COMMAND, text=generate(3, 6).text.encode())
    (proposal,) = [one for one in unroll.propose(source, source.kernel("k5"), (8,)) if isinstance(one, Proposal)]
    for name, text in (("program.hip", source.text), ("unrolled.hip", apply_edits(source.text, proposal.edits))):
        (tmp_path / name).write_bytes(text)
    options = ["--device", "gfx942", "--build", "hipcc -O2 -nogpuinc SOURCE -o BINARY", "--json", "--seed", "1"]
    done = rocm_perf("gate", *options, "program.hip", "unrolled.hip", "./program")
    (rejection,) = [step for step in json.loads(done.stdout)["steps"] if step["outcome"] == "rejected"]
    assert rejection["step"] == "equivalence" and "elements differ" in rejection["reason"], rejection
