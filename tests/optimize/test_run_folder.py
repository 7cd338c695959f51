"""Runs of several processes at once: each has its own folder, and none resumes a run that another is still executing."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from privilege import without_privilege
from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.journal import FILE
from rocm_perf_lab.optimize.journal_lines import BeginLine

HOLD = """
import pathlib, sys, time
from rocm_perf_lab.optimize.run_folder import lock_run
with lock_run(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_runs_that_start_at_the_same_time_have_separate_folders(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda _: run_folder.new_run(tmp_path / "runs"), range(64)))
    assert sorted(run.name for run in runs) == [f"run-{number:04}" for number in range(1, 65)]
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        run_folder.new_run(tmp_path / "file")


def test_an_active_run_is_not_resumed_until_its_process_is_gone(rocm_perf, tmp_path):
    run = tmp_path / "app.rocm-perf-optimize" / "run-0001"
    run.mkdir(parents=True)
    begun = BeginLine(time="2026-01-01T00:00:00+00:00", source="app.hip", digest="")
    text = json.dumps({"number": 0} | begun.as_json()) + "\n" + '{"event": "ver'
    (run / FILE).write_text(text)
    (tmp_path / "app.hip").write_text("__global__ void k() {}")
    other = subprocess.Popen([sys.executable, "-c", HOLD, run], stdout=subprocess.PIPE)
    try:
        other.stdout.readline()
        done = rocm_perf("optimize", "-y", "--resume", "app.hip")
        assert done.returncode == 73 and "under way in another process" in done.stderr
        assert rocm_perf("optimize", "--history", "app.hip").returncode == 0
        assert (run / FILE).read_text() == text  # the half-written line of the other process is not touched
    finally:
        other.kill()
        other.wait()
    with run_folder.lock_run(run):
        pass


@pytest.mark.parametrize("line", ["1", "[]", "{}", '{"event": 1}', "[" * 100_000, "{"])
def test_damaged_journals_are_named(rocm_perf, tmp_path, line):
    run = tmp_path / "app.rocm-perf-optimize" / "run-0001"
    run.mkdir(parents=True)
    (run / FILE).write_text(line + "\n")
    done = rocm_perf("optimize", "--history", "app.hip")
    assert done.returncode == 73 and f"{FILE} is damaged at byte 0" in done.stderr


@pytest.mark.parametrize("command", [["optimize"], ["llm-optimize", "--provider", "command", "-m", "true"]])
def test_an_unwritable_folder_for_the_result_is_reported_before_anything_is_built(rocm_perf, tmp_path, command):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "app.hip").write_text("__global__ void k() {}")
    (tmp_path / "theirs").chmod(0o555)
    done = rocm_perf(*command, "-y", "theirs/app.hip", preexec_fn=without_privilege)
    assert done.returncode == 73 and "theirs cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
