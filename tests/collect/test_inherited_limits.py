"""Conditions that would end every HIP program are reported before one is run, with a separate exit code."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

import needs
from rocm_perf_lab.collect import inherited_limits
from rocm_perf_lab.errors import UnsuitableEnvironmentError

COMMANDS = ["run", "profile", "isolate"]


def started(command: str, program, **environment: str) -> subprocess.CompletedProcess[str]:
    options = ["--kernel", "x"] if command == "isolate" else []
    words = [sys.executable, "-m", "rocm_perf_lab", command, "--device", "gfx942", *options, program, "-n", "100"]
    return subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_folder_for_temporary_files(testbed, command):
    done = started(command, testbed("vcopy"), TMPDIR="/nonexistent")
    assert (done.returncode, done.stdout) == (72, "")
    assert done.stderr.splitlines()[-1].startswith("rocm-perf: error: TMPDIR=/nonexistent cannot be written (No such file")


@pytest.mark.parametrize("command", ["optimize", "prompt", "gate"])
def test_commands_that_build_report_the_same(rocm_perf, tmp_path, command):
    (tmp_path / "app.hip").write_text("__global__ void k(float* c) { c[0] = 1; }\nint main() {}\n")
    options = {"optimize": ["--dry-run"], "gate": ["app.hip"]}.get(command, [])
    done = rocm_perf(command, *options, "--device", "gfx942", "app.hip", environment={"TMPDIR": "/nonexistent"})
    assert done.returncode == 72 and "TMPDIR=/nonexistent cannot be written" in done.stderr, done.stderr


def test_the_first_variable_that_is_set_is_used(monkeypatch, tmp_path):
    for name in ("TMPDIR", "TMP", "TEMP", "TEMPDIR"):
        monkeypatch.delenv(name, raising=False)
    inherited_limits.check(software=False)
    monkeypatch.setenv("TMP", "/nonexistent")
    with pytest.raises(UnsuitableEnvironmentError, match="TMP=/nonexistent"):
        inherited_limits.check(software=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    inherited_limits.check(software=False)


def test_a_full_folder_for_temporary_files(testbed, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode != 0:
        needs.lacking("no right to mount a small disk")
    try:
        (disk / "rest").write_bytes(bytes(48 << 10))
        done = started("run", testbed("vcopy"), TMPDIR=str(disk))
        assert done.returncode == 72 and "No space left on device" in done.stderr, done.stderr
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_limit_on_the_address_space(testbed, command):
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))

    options = ["--kernel", "x"] if command == "isolate" else []
    words = [sys.executable, "-m", "rocm_perf_lab", command, "--device", "gfx942", *options, testbed("vcopy")]
    done = subprocess.run(words, preexec_fn=limited, capture_output=True, text=True, timeout=120)
    assert done.returncode == 72 and "needs 384 GiB of address space, and the limit is 8192 MiB" in done.stderr, done.stderr


def test_the_recommended_limit_is_enough(testbed):
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (384 << 30, 384 << 30))

    words = [sys.executable, "-m", "rocm_perf_lab", "run", "--device", "gfx942", testbed("vcopy"), "-n", "100"]
    done = subprocess.run(words, preexec_fn=limited, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "PASS" in done.stdout, done.stderr
