"""`rocm-perf autotune` checks its destinations before anything runs, and never replaces anything but a regular file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

from privilege import without_privilege

TUNE = ("autotune", "--space", "space.json", "--measure", "wall", "--runs", "1", "--cmd-template", "touch ran {a}")


@pytest.fixture
def tune(rocm_perf, tmp_path):
    (tmp_path / "space.json").write_text(json.dumps({"parameters": {"a": ["x"]}}))
    return lambda *words, **options: rocm_perf(*TUNE, *words, **options)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--write-config", "none/best.json"], 73, "mkdir -p"),
        (["--write-t4", "space.json/t4.json"], 73, "space.json"),
        (["--write-report", ""], 73, "cannot be written"),
        (["--write-config", "space.json"], 2, "space.json"),
        (["--write-config", "same", "--write-t4", "./same"], 2, "same"),
        (["--cache", "same", "--write-t4", "same"], 2, "same"),
        (["--profile", "precious"], 73, "precious"),
        (["--profile", "none/run"], 73, "mkdir -p"),
    ],
)
def test_a_destination_that_cannot_be_written_is_refused_before_anything_runs(tune, tmp_path, words, code, said):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").touch()
    space = (tmp_path / "space.json").read_bytes()
    done = tune(*words)
    (line,) = done.stderr.splitlines()
    assert done.returncode == code and line.startswith("rocm-perf: error: ") and said in line
    assert not (tmp_path / "ran").exists() and (tmp_path / "space.json").read_bytes() == space


def test_pipes_links_and_redirected_output_are_written_to_and_not_replaced(tune, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("target")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    with open(tmp_path / "out", "w") as out:
        command = [sys.executable, "-m", "rocm_perf_lab", *TUNE, "--write-config", "pipe", "--write-t4", "link"]
        command += ["--write-report", "/dev/stdout"]
        subprocess.run(command, cwd=tmp_path, stdout=out, check=True, timeout=120)
    reader.join(60)
    assert json.loads(read[0]) == {"a": "x"}
    assert (tmp_path / "link").is_symlink() and json.loads((tmp_path / "target").read_text())["results"]
    said = (tmp_path / "out").read_text()
    assert said.startswith("<!doctype html>") and "1 of 1 configurations evaluated" in said.split("</html>")[-1]


def test_what_permissions_forbid_is_refused_before_anything_runs(tune, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    (tmp_path / "secret").touch(mode=0o100)
    for words in (["--write-config", "locked/x"], ["--profile", "locked/run"], ["--cache", "locked/x"]):
        done = tune(*words, preexec_fn=without_privilege)
        assert done.returncode == 73 and "locked" in done.stderr and len(done.stderr.splitlines()) == 1
    done = tune("--check", "grep -f secret", preexec_fn=without_privilege)
    assert done.returncode == 66 and "secret cannot be read (Permission denied)" in done.stderr
    assert not (tmp_path / "ran").exists()
