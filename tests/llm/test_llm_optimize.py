"""`rocm-perf llm-optimize` from end to end on the software device, with a scripted model behind real HTTP, and canaries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from model_run import GEMM, KEY, LDS, PROGRAM, SOFTMAX, TILED, fenced
from model_server import Server, says
from published_schemas import expect_published
from rocm_perf_lab.cli import cli
from rocm_perf_lab.errors import RocmPerfError, UnavailableError
from rocm_perf_lab.llm.providers import ModelOptions, provider_of

pytestmark = pytest.mark.usefixtures("hipcc")
BUILD = "hipcc -O2 -nogpuinc SOURCE -o BINARY"
ENVIRONMENT_CANARY, FILE_CANARY = "environment-canary-4711", "file_canary_0815"
# Rejected by the gate's replays: it takes the contents of memory for its own earlier result.
CHEAT = LDS.replace("  const float* x", "  if (out[block_x() * cols] != 0) return;\n  const float* x", 1)
# Each would bring a file's text into the compiler's messages, and so into the next question.
THIEF = '#include "{file}"\n' + TILED
QUIET_THIEF = TILED.replace("float sum = 0;", 'static_assert(__has_include("{file}") == FILE);\n  float sum = 0;')


@pytest.fixture(scope="module")
def run(tmp_path_factory, native_dir):
    """(outcome, server, folder) of a run in which the model first cheats and steals, and then behaves as it should."""
    folder = tmp_path_factory.mktemp("llm") / "project"
    folder.mkdir()
    shutil.copy(PROGRAM, folder)
    secret = folder.parent / "secret.txt"
    secret.write_text(f"{FILE_CANARY} x;\n")
    answers = [CHEAT, LDS, THIEF.replace("{file}", str(secret)), QUIET_THIEF.replace("{file}", str(secret)), TILED]
    with Server([says(fenced(answer)) for answer in answers]) as server:
        check = "sh -c 'test -z \"$OPENAI_API_KEY\" && grep -q [0-9]'"
        options = [
            "--device",
            "gfx942",
            "--build",
            BUILD,
            "--max-iters",
            "2",
            "--auto-approve",
            "--accept",
            "modelled",
            "--json",
            "--check",
            check,
        ]
        command = ["llm-optimize", "--base-url", server.url, "--model", "scripted", *options, "program.hip", "./program"]
        done = started(folder, *command)
    assert done.returncode == 0, done.stderr
    expect_published("llm-optimize", json.loads(done.stdout))
    return json.loads(done.stdout), server, folder


def started(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OPENAI_API_KEY": KEY, "CANARY": ENVIRONMENT_CANARY}
    command = [sys.executable, "-m", "rocm_perf_lab", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL
    )


def test_known_good_rewrites_are_accepted_in_turn(run):
    outcome, _, folder = run
    assert [one["kernel"] for one in outcome["iterations"]] == [SOFTMAX, GEMM]
    assert outcome["accepted"] and outcome["timing"] == "modelled" and outcome["improvement"] > 0.5
    profiles = [json.loads(line) for line in journal(outcome).splitlines() if '"event": "survey"' in line]
    assert [entry["answer"]["dominant"] for entry in profiles] == [SOFTMAX, GEMM]
    for iteration in outcome["iterations"]:
        assert iteration["kernel_time_ratio"] < 0.5 and iteration["counters"]
    text = (folder / "program.optimized.hip").read_text()
    expected = PROGRAM.read_text().replace(kernel_of("softmax_naive"), LDS).replace(kernel_of("gemm_naive"), TILED)
    around = ("namespace {", "}  // namespace")  # the text around new functions
    lines = [line for line in text.splitlines() if line.strip() and line not in around and "_parts" not in line]
    assert sorted(lines) == sorted(line for line in expected.splitlines() if line.strip())
    assert (folder / "program.hip").read_text() == PROGRAM.read_text()


def kernel_of(name: str) -> str:
    text = PROGRAM.read_text()
    start = text.rindex("__global__", 0, text.index(f"void {name}("))
    return text[start : text.index("\n}\n", start) + 2]


def journal(outcome) -> str:
    return (Path(outcome["run"]) / "journal.jsonl").read_text()


def test_tricks_are_rejected_where_they_should_be(run):
    steps = [(one["iteration"], one["answer"], one["step"]) for one in run[0]["answers"]]
    assert steps == [(1, 1, "equivalence"), (1, 2, None), (2, 1, "answer"), (2, 2, "answer"), (2, 3, None)]
    assert run[0]["stopped"]["reason"] == "iterations" and run[0]["tokens"] == {"input": 5000, "output": 1000}


def test_nothing_secret_is_in_a_question_or_the_journal(run):
    outcome, server, folder = run
    assert all(headers["authorization"] == f"Bearer {KEY}" for headers in server.headers)
    told = [json.dumps(body) for body in server.requests]
    assert "one fenced C++ block" in told[0] and "of the critical path" in told[0] and "outputs filled" in told[1]
    page = (Path(outcome["run"]) / "report.html").read_text()
    assert "of the time in the program's kernels saved by 2 changes" in page and "scripted (openai)" in page
    for text in (*told, journal(outcome), page):
        for canary in (KEY, ENVIRONMENT_CANARY, FILE_CANARY):
            assert canary not in text
    assert not any(str(folder) in text for text in told)


def test_the_journal_replays_without_the_server(run):
    outcome, _, folder = run
    done = started(folder, "llm-optimize", "--replay-journal", outcome["run"], "--json")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["written"] == [] and {**again, "written": 0, "source": 0} == {**outcome, "written": 0, "source": 0}


@pytest.mark.parametrize(
    "options, status, words",
    [
        (["program.hip"], 2, "name one with --model"),
        (["--model", "m", "program.hip"], 2, "--auto-approve or --dry-run"),
        (["--model", "m", "--provider", "anthropic", "-y", "program.hip"], 48, "ANTHROPIC_API_KEY"),
        (["--model", "m", "-y", "--base-url", "localhost", "program.hip"], 2, "not an HTTP address"),
        (["--model", "m", "-y", "--base-url", "http://me:pw@localhost/", "program.hip"], 2, "key in the environment"),
        (["--model", "m", "-y", "--base-url", "http://localhost/v1", "--max-cost", "1", "program.hip"], 2, "--price"),
        (["--model", "m", "-y", "--resume", "program.hip"], 66, "no run to resume"),
        (["--model", "m", "-y", "missing.hip"], 66, "missing.hip does not exist"),
        (["--replay-journal", "."], 66, "is not a run of"),
    ],
)  # fmt: skip
def test_a_wrong_request_gives_one_error_and_its_exit_code(tmp_path, monkeypatch, options, status, words):
    shutil.copy(PROGRAM, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(RocmPerfError) as error:
        cli.main(["llm-optimize", *options], standalone_mode=False)
    assert error.value.exit_code == status and words in str(error.value) and KEY not in str(error.value)


def test_a_missing_sdk_is_named_with_its_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(UnavailableError, match=r"rocm-perf-lab\[llm\]"):
        provider_of(ModelOptions("anthropic", "m"), {})
