"""File names may hold any bytes, and the current folder may be gone: every command exits with a documented code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rocpd_database
from rocm_perf_lab.errors import exit_codes
from rocpd_database import Dispatch

BYTES = os.fsdecode(b"n\xff")


@pytest.fixture
def run(tmp_path):
    """run("analyze", ...) in a folder whose name is not UTF-8: the completed process, with bytes."""
    folder = tmp_path / BYTES
    folder.mkdir()

    def run(*words: object) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "rocm_perf_lab", *map(os.fspath, words)]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
        assert done.returncode in dict(exit_codes()) and b"Traceback" not in done.stderr, done.stderr
        assert done.returncode != 70, done.stderr
        return done

    run.folder = folder
    return run


def test_a_trace_with_any_name_is_analysed(run):
    trace = rocpd_database.write(run.folder / f"{BYTES}.db", [Dispatch("fill", 0, 1000)])
    for form in ([], ["--json"]):
        done = run("analyze", *form, trace.name)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["run_directory"] == f"{BYTES}.rocm-perf"
    written = {path.name for path in (run.folder / f"{BYTES}.rocm-perf").iterdir()}
    assert {"profile.json", "dag.json", "dispatches.parquet"} <= written


def test_a_program_with_any_name_is_run_profiled_captured_replayed_and_exported(run, testbed):
    program = run.folder / BYTES
    shutil.copy(testbed("vcopy"), program)
    words = ["--device", "gfx942", f"./{BYTES}", "-n", "100"]
    assert b"PASS" in run("run", *words).stdout
    profile = run("profile", "--json", *words)
    assert profile.returncode == 0, profile.stderr
    assert json.loads(profile.stdout)["run_directory"].endswith(f"{BYTES}.rocm-perf")
    captured = run("isolate", "--json", "--kernel", "vecCopy", *words)
    assert captured.returncode == 0 and os.path.isdir(json.loads(captured.stdout)["capture"]), captured.stderr
    replayed = run("replay", "full-vm", "--iterations", "1", "--json")
    assert replayed.returncode == 0 and json.loads(replayed.stdout)["timing"]["source"] == "modelled", replayed.stderr
    assert run("replay", "export", "-o", BYTES + "_export").returncode == 0
    assert (run.folder / f"{BYTES}_export" / "README.md").read_text().startswith("# n\\udcff_export: one dispatch of `vecCopy")


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", f"{BYTES}.db"],
        ["analyze", "--json", f"{BYTES}.db"],
        ["profile", "--device", "gfx942", f"./{BYTES}"],
        ["run", f"./{BYTES}"],
        ["isolate", "--kernel", "x", f"./{BYTES}"],
        ["replay", "full-vm", "--capture-dir", BYTES],
        ["replay", "export", BYTES],
        ["optimize", "--dry-run", f"./{BYTES}"],
        ["prompt", "--kernel", "x", BYTES],
        ["gate", "--kernel", "x", BYTES, BYTES],
        ["autotune", "--simulate", BYTES],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_missing_file_is_named_in_one_line(run, words, native_dir):
    done = run(*words)
    assert done.returncode in (2, 34, 38, 65, 66)
    assert len([line for line in done.stderr.splitlines() if line.startswith(b"rocm-perf: error: ")]) == 1, done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", "/no/such.db"],
        ["profile", "--device", "gfx942", "true"],
        ["isolate", "--device", "gfx942", "--kernel", "x", "true"],
        ["replay", "full-vm"],
        ["replay", "export"],
        ["autotune", "--simulate", "/no/such.json"],
        ["counters"],
        ["schema"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_the_current_folder_is_gone(words, tmp_path, native_dir):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$0" && rmdir "$0" && exec "$@"'
    command = ["sh", "-c", script, gone, sys.executable, "-m", "rocm_perf_lab", *words]
    repository = Path(__file__).parents[2] / "src"
    environment = os.environ | {"PYTHONPATH": str(repository)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode in (0, 66) and "defect" not in done.stderr, done.stderr
    if done.returncode and "/no/such" not in done.stderr:
        assert "the current folder has been removed; change to one that exists" in done.stderr
