"""Other sizes: a change that is wrong only for them is rejected with --also, and the judged runs are reported."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("sized.hip")
BUILD = "hipcc -O2 -nogpuinc SOURCE -o BINARY"
STORE = "    out[i] = sum;\n    sum +="
pytestmark = pytest.mark.usefixtures("hipcc")


@pytest.fixture
def gate(tmp_path, rocm_perf, native_dir):
    """gate(text, options...) -> exit code, steps by name, the notes."""
    shutil.copy(PROGRAM, tmp_path)

    def judged(text: str, *options: str):
        (tmp_path / "candidate.hip").write_text(text)
        words = ["--device", "gfx942", "--build", BUILD, "--json", *options, "sized.hip", "candidate.hip", "./sized"]
        ran = rocm_perf("gate", *words)
        steps = {step["step"]: step for step in json.loads(ran.stdout)["steps"]} if ran.stdout else {}
        return ran.returncode, steps, ran.stderr

    return judged


HONEST = PROGRAM.read_text().replace(STORE, "    sum +=")
UP_TO_90 = HONEST.replace("k < width;", "k < (width > 90 ? 90 : width);")


def test_sizes_that_the_program_was_not_run_with(gate):
    assert STORE not in HONEST and UP_TO_90 != HONEST
    code, steps, _ = gate(UP_TO_90)
    assert code == 0 and "judged at 128 threads in groups of 64" in steps["equivalence"]["reason"]
    drawn = steps["equivalence"]["evidence"]
    code, steps, _ = gate(UP_TO_90, "--also", "./sized -n 120")
    assert code == 45 and steps["equivalence"]["outcome"] == "rejected"
    again = steps["equivalence"]["evidence"]  # without --seed, each judgement draws its own
    assert again["seed"] != drawn["seed"] and again["race_seeds"] != drawn["race_seeds"]
    assert steps["equivalence"]["reason"].startswith("with `-n 120`, on captured inputs: out[0]: baseline")


@pytest.mark.slow
def test_without_replays_the_program_itself_is_run_with_them(gate):
    code, steps, _ = gate(UP_TO_90, "--also", "./sized -n 120", "--equivalence", "program")
    assert code == 45 and steps["application"]["reason"].startswith("with -n 120 it prints something else: line 1 is")


@pytest.mark.slow
def test_the_judged_sizes_are_reported(gate):
    code, steps, _ = gate(HONEST, "--also", "sized -n 40", "--also", "./sized -n 3", "--seed", "77")
    assert code == 0
    evidence = steps["equivalence"]["evidence"]
    assert [one["arguments"] for one in evidence["captures"]] == ["", "-n 40", "-n 3"] and evidence["seed"] == 77
    assert {tuple(one["grid"]) for one in evidence["captures"]} == {(128, 1, 1)}
    assert "(`-n 40`)" in steps["equivalence"]["reason"] and "(`-n 3`)" in steps["equivalence"]["reason"]
    assert "with the same output, also with `-n 40`, also with `-n 3`" in steps["application"]["reason"]
    assert steps["application"]["evidence"]["arguments"] == [[], ["-n", "40"], ["-n", "3"]]
    assert len(steps["measurement"]["evidence"]["baseline_ms"]) == 1


@pytest.mark.slow
def test_a_judgement_can_be_repeated(gate):
    words = (HONEST, "--also", "sized -n 40", "--also", "./sized -n 3", "--seed", "77")
    once, again = (gate(*words)[1]["equivalence"]["evidence"] for _ in range(2))
    assert again == once


@pytest.mark.slow
def test_an_instantiation_launched_only_with_other_arguments_is_judged_too(gate, tmp_path):
    typed = PROGRAM.read_text().replace("__global__ void sums(", "template <int Step> __global__ void sums(")
    launch = "sums<<<2, 64>>>((float*)in, (float*)out, count, width);"
    both = [launch.replace("sums", f"sums<{step}>") for step in (1, 2)]
    typed = typed.replace(launch, f"{both[0]}\n  if (width == 40) {both[1]}")
    (tmp_path / "sized.hip").write_text(typed)
    wrong = typed.replace(STORE, "    sum +=").replace("in[i + k];", "in[i + k] * (Step == 2 && k > 30 ? 0.0f : 1.0f);")
    code, steps, _ = gate(wrong)
    assert code == 0
    *same, left = steps["equivalence"]["evidence"]["unproven"]
    assert "launches with `out = in` (if both point to the same memory, it leaves different contents there)" in same
    assert left.startswith("`void sums<2>(") and left.endswith("(also changed, but not launched)")
    assert steps["equivalence"]["reason"].endswith(f"; unproven: {', '.join([*same, left])}")
    code, steps, _ = gate(wrong, "--also", "./sized -n 40")
    assert code == 45


@pytest.mark.parametrize(
    "words, told",
    [("-n 40", "does not begin with the program"), ("./other -n 4", "does not begin"), ("'", "cannot split --also")],
)
def test_what_is_no_program_of_ours(gate, words, told):
    code, _, said = gate(HONEST, "--also", words)
    assert code == 2 and told in said.splitlines()[-1]


def test_sizes_are_suggested(tmp_path, rocm_perf, native_dir):
    shutil.copy(PROGRAM, tmp_path)
    options = [
        "--device",
        "gfx942",
        "--build",
        BUILD,
        "--json",
        "--auto-approve",
        "--accept",
        "modelled",
        "--transforms",
        "unroll",
        "--factors",
        "2",
    ]
    ran = rocm_perf("optimize", *options, "--max-iters", "1", "sized.hip", "./sized")
    (line,) = [line for line in ran.stderr.splitlines() if "--also" in line]
    assert line.endswith(f"judged at these sizes only; try --also {shlex.quote('./sized -n 48')}")
