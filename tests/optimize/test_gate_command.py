"""`rocm-perf gate`: a change by a person or an agent is judged like one by the optimizer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rocm_perf_lab.gate.judge import STEPS
from slow_variants import every

PROGRAM = Path(__file__).with_name("program.hip")
BUILD = "hipcc -O2 -nogpuinc SOURCE -o BINARY"
pytestmark = pytest.mark.usefixtures("hipcc")


@pytest.fixture
def gate(tmp_path, rocm_perf, native_dir):
    """gate(old, new, ...) judges program.hip with one text in place of another: exit code, verdict, error."""
    shutil.copy(PROGRAM, tmp_path)

    def judged(old: str, new: str, *options: str) -> tuple[int, dict, str]:
        text = PROGRAM.read_text()
        assert old in text
        (tmp_path / "candidate.hip").write_text(text.replace(old, new, 1))
        command = [
            "gate",
            "--device",
            "gfx942",
            "--build",
            BUILD,
            "--json",
            *options,
            "program.hip",
            "candidate.hip",
            "./program",
        ]
        ran = rocm_perf(*command)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["candidate.hip", "program.hip"]
        return ran.returncode, json.loads(ran.stdout) if ran.stdout else {}, ran.stderr

    return judged


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("sums[row] = sum;", "sums[row] = sum", "expected ';'"),
        ("sums[row] = sum;", "sums[row] = sum;  // the same", "nothing was changed"),
        ("int rows, int columns)", "int rows, long columns)", "same name, parameters"),
        ("constexpr int kRows = 128", "constexpr int kRows = 64", "kRows"),
    ],
)
def test_a_change_that_the_source_check_rejects_needs_no_run(gate, old, new, reason):
    code, verdict, _ = gate(old, new)
    assert code == 45 and not verdict["accepted"] and verdict["device"] is None
    assert [step["step"] for step in verdict["steps"]] == list(STEPS)
    assert [step["outcome"] for step in verdict["steps"]] == ["rejected"] + ["skipped"] * (len(STEPS) - 1)
    assert reason in verdict["steps"][0]["reason"]


@pytest.mark.parametrize(
    "arguments, code, told",
    [
        (["program.hip", "missing.hip"], 66, "missing.hip"),
        (["missing.hip", "program.hip"], 66, "missing.hip"),
        (["program.hip"], 2, "CANDIDATE"),
        (["--check", "'", "program.hip", "program.hip"], 2, "--check"),
        (["--keep-env", "A=B", "program.hip", "program.hip"], 2, "--keep-env 'A=B' is not the name of a variable"),
        (["--output", "program.hip", "program.hip", "program.hip"], 2, "--output program.hip is one of the judged sources"),
    ],
)
def test_errors_name_the_cause(tmp_path, rocm_perf, arguments, code, told):
    shutil.copy(PROGRAM, tmp_path)
    ran = rocm_perf("gate", *arguments)
    assert ran.returncode == code and told in ran.stderr.splitlines()[-1] and not ran.stdout


def test_a_program_that_fails_is_named_as_the_user_named_it(tmp_path, rocm_perf, native_dir):
    """The program that was built and run is gone by then, so its path would be of no use."""
    failing = PROGRAM.read_text().rstrip().removesuffix("}") + "return 7; }\n"
    (tmp_path / "app.hip").write_text(failing)
    (tmp_path / "candidate.hip").write_text(failing.replace("sums[row] = sum;", "sums[row] = sum + 0.0f;"))
    ran = rocm_perf("gate", "--device", "gfx942", "--build", BUILD, "app.hip", "candidate.hip")
    assert ran.returncode == 31 and not ran.stdout
    last = ran.stderr.splitlines()[-1]
    assert "./app exited with status 7" in last and "`rocm-perf run ./app`" in last and "/programs/" not in last


JUDGED_IN_FULL = [
    (
        "= sum;",
        "= __builtin_bit_cast(int, sums[row ^ 64]) == 7 ? sum + 0.0f : sum;",
        "rejected",
        "race in global memory",
    ),
    ("  for (int i = 0; i < columns", "#pragma unroll 4\n  for (int i = 0; i < columns", "passed", None),
]


@pytest.mark.parametrize("old, new, outcome, why", every(2, JUDGED_IN_FULL), ids=["race", "honest"])
def test_code_for_another_target_is_judged_in_full(tmp_path, rocm_perf, native_dir, old, new, outcome, why):
    """Code for gfx90a names no scopes: its waits are the releases that the race check looks for."""
    text = PROGRAM.read_text()
    shutil.copy(PROGRAM, tmp_path / "app.hip")
    (tmp_path / "candidate.hip").write_text(text.replace(old, new, 1))
    ran = rocm_perf("gate", "--device", "gfx90a", "--build", BUILD, "--json", "app.hip", "candidate.hip")
    step = next(step for step in json.loads(ran.stdout)["steps"] if step["step"] == "equivalence")
    assert step["outcome"] == outcome and (why is None or why in step["reason"]), ran.stdout


def test_without_a_race_check_nothing_is_judged_in_full(tmp_path, rocm_perf, native_dir):
    """The check does not support code for gfx1030, and would report "no race" without having checked."""
    shutil.copy(PROGRAM, tmp_path / "app.hip")
    (tmp_path / "candidate.hip").write_text(PROGRAM.read_text().replace("sums[row] = sum;", "sums[row] = sum + 1;"))
    words = ["gate", "--device", "gfx1030", "--build", BUILD, "app.hip", "candidate.hip"]
    ran = rocm_perf(*words)
    assert ran.returncode == 69 and not ran.stdout
    assert "does not support code for gfx1030; compile for gfx942" in ran.stderr.splitlines()[-1]
