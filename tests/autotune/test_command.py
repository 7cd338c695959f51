"""`rocm-perf autotune` end to end on small programs, without a GPU."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """#!/bin/sh
echo "$@ mode=$MODE" >> ran
[ "$1" = 3 ] && { echo boom >&2; exit 5; }
[ "$1" = 4 ] && sleep 60
echo "result $1"
"""
SPACE = {
    "parameters": {"a": [1, 2, 3, 4], "text": ["plain", "x; touch pwned", "$(touch pwned)", "--a b"]},
    "fixed": {"n": 7},
    "constraints": ["a != 4 or text == 'plain'"],
}
TUNE = ("autotune", "--space", "space.json", "--measure", "wall", "--runs", "1", "--json", "--timeout", "2")


@pytest.fixture
def program(tmp_path) -> Path:
    path = tmp_path / "program"
    path.write_text(PROGRAM)
    path.chmod(0o755)
    (tmp_path / "space.json").write_text(json.dumps(SPACE))
    return path


def test_values_are_passed_literally_and_failures_are_results(rocm_perf, program, tmp_path):
    words = ["--cmd-template", "./program {a} '{text}' {n}", "--check", "grep -qv 'result 2'"]
    done = rocm_perf(*TUNE, *words, "--write-config", "best.json", "--write-t4", "t4.json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    status = {(one["configuration"]["a"], one["configuration"]["text"]): one["status"] for one in found["evaluations"]}
    kinds = {1: "ok", 2: "wrong-output", 3: "failed", 4: "timeout"}
    texts = SPACE["parameters"]["text"]
    assert status == {(a, text): kinds[a] for a in kinds for text in texts if a < 4 or text == "plain"}
    assert not (tmp_path / "pwned").exists()
    ran = (tmp_path / "ran").read_text().splitlines()
    assert "1 x; touch pwned 7 mode=" in ran and "1 --a b 7 mode=" in ran
    assert found["best"]["configuration"]["a"] == 1 and found["total"] == found["evaluated"] == 13
    assert json.loads((tmp_path / "best.json").read_text()) == {"n": 7} | found["best"]["configuration"]
    again = rocm_perf("autotune", "--simulate", "t4.json", "--strategy", "random", "--json")
    assert json.loads(again.stdout)["best"]["ms"] == found["best"]["ms"]
    assert sum(" of at most " in line for line in done.stderr.splitlines()) == 13  # each one as soon as it is found
    reused = json.loads(rocm_perf(*TUNE, *words).stdout)
    assert reused["reused"] == 13 and (tmp_path / "ran").read_text().splitlines() == ran


def test_building_with_defines_and_the_environment(rocm_perf, program, tmp_path):
    space = {"parameters": {"A": {"values": [1, 2], "to": "define"}, "MODE": {"values": [True, False], "to": "environment"}}}
    (tmp_path / "space.json").write_text(json.dumps(space))
    build = tmp_path / "build"
    build.write_text('#!/bin/sh\n[ "$1" = -DA=2 ] && { echo no such tile; exit 1; }\ncp program "$2"\n')
    build.chmod(0o755)
    done = rocm_perf(*TUNE, "--build-template", "./build {defines} {output}", "--cmd-template", "{output} 1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert sorted((tmp_path / "ran").read_text().splitlines()) == ["1 mode=0", "1 mode=1"]
    failed = [one for one in found["evaluations"] if one["status"] == "build-failed"]
    assert len(failed) == 2 and all("no such tile" in one["reason"] for one in failed)


def test_a_killed_search_resumes(program, tmp_path):
    (tmp_path / "space.json").write_text(json.dumps({"parameters": {"a": list(range(10, 40))}}))
    program.write_text(PROGRAM.replace('echo "result', 'sleep 0.05\necho "result'))
    command = [sys.executable, "-m", "rocm_perf_lab", *TUNE, "--cmd-template", "./program {a}", "--budget", "20"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ran = tmp_path / "ran"
    deadline = time.monotonic() + 60
    while (not ran.exists() or len(ran.read_text().splitlines()) < 5) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    time.sleep(0.3)  # the running program ends by itself
    before = ran.read_text().splitlines()
    resumed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    found = json.loads(resumed.stdout)
    assert found["evaluated"] == 20 and found["reused"] in (len(before) - 1, len(before))
    # At most the configuration that was running when the search was killed ran again.
    after = ran.read_text().splitlines()
    assert len(set(after)) == 20 and len(after) <= 21


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--cmd-template", "./program {a} {text} {none}"], 46, "{none}, which is not a parameter"),
        (["--cmd-template", "./program {a}"], 46, "parameter text occurs in no template"),
        (["--cmd-template", "./program {a} '{text}"], 46, "cannot be split"),
        (["--cmd-template", "./none {a} {text}", "--budget", "3"], 66, "./none does not exist"),
        (["--cmd-template", "./program {a} {text}", "--check", "./none"], 66, "./none does not exist"),
        (["--cmd-template", "{output} {a} {text}", "--build-template", "no-such-compiler"], 66, "no-such-compiler"),
        (["--cmd-template", "{output} {a} {text}", "--build-template", "false", "--budget", "1"], 47, "false exited with"),
        (["--cmd-template", "./program {a} {text}", "--budget", "many"], 2, "--budget many"),
        (["--cmd-template", "./program {a} {text}", "--budget", "0.000001s"], 47, "--budget 0.000001s; raise it"),
        ([], 2, "--cmd-template"),
    ],
)
def test_wrong_command_lines(rocm_perf, program, words, code, said):
    done = rocm_perf(*TUNE, *words)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == code and last.startswith("rocm-perf: error: ") and said in last and done.stdout == ""
    assert not (program.parent / "ran").exists()


HANGS = """#!/bin/sh
sh -c 'echo $$ > pid.$0.new; mv pid.$0.new pid.$0; exec sleep 600' $1 &
wait
"""
WAYS = [["--cmd-template", "./program {a}"], ["--build-template", "./program {a}", "--cmd-template", "{output}"]]


@pytest.fixture
def hanging(program, tmp_path):
    (tmp_path / "space.json").write_text(json.dumps({"parameters": {"a": [1, 2, 3]}}))
    program.write_text(HANGS)
    return ["autotune", "--space", "space.json", "--measure", "wall", "--no-cache"]


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_takes_too_long_leaves_no_process(rocm_perf, hanging, way, process_is_gone, tmp_path):
    done = rocm_perf(*hanging, *way, "--timeout", "2", "--budget", "1")
    assert done.returncode == 47 and "still running after 2 s" in done.stderr
    (pid,) = tmp_path.glob("pid.?")
    assert process_is_gone(int(pid.read_text()))


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_ends_all_workers_and_their_programs(hanging, way, process_is_gone, tmp_path):
    command = [sys.executable, "-m", "rocm_perf_lab", *hanging, *way, "--workers", "2"]
    search = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(pids := list(tmp_path.glob("pid.?"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    search.send_signal(signal.SIGINT)
    said = search.communicate(timeout=60)[1]
    assert search.returncode == 130 and said.splitlines()[-1] == "rocm-perf: interrupted"
    assert len(pids) == 2 and all(process_is_gone(int(pid.read_text())) for pid in pids)


def test_another_database_given_as_the_cache_stays_unchanged(rocm_perf, program, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "trace.db")) as database:
        database.execute("CREATE TABLE rocpd_string (id INTEGER)")
    before = (tmp_path / "trace.db").read_bytes()
    done = rocm_perf(*TUNE, "--cmd-template", "./program {a} {text}", "--cache", "trace.db")
    assert done.returncode == 73 and "trace.db is a database of another kind" in done.stderr
    assert (tmp_path / "trace.db").read_bytes() == before
