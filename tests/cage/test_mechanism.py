"""Where no cage can be made, candidates are refused with a remedy, or run without one if the user allows it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from rocm_perf_lab import cage
from rocm_perf_lab.cage import View, mechanism
from rocm_perf_lab.collect.diagnosis import diagnose
from rocm_perf_lab.errors import NoCageError

PROGRAM = Path(__file__).parents[1] / "optimize" / "program.hip"
BUILD = "hipcc -O2 -nogpuinc SOURCE -o BINARY"


def test_without_bubblewrap_namespaces_are_used(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, *_, **__: None)
    assert mechanism.best_mechanism.__wrapped__() == next(
        filter(mechanism.mechanism_works, mechanism.mechanisms_of_kind("namespaces"))
    )
    assert mechanism.mechanisms_of_kind("bubblewrap") == []


def test_without_either_mechanism_a_command_is_refused_unless_trusted(monkeypatch, tmp_path):
    monkeypatch.setattr(mechanism, "mechanism_works", lambda _: False)
    monkeypatch.setattr(mechanism, "best_mechanism", mechanism.best_mechanism.__wrapped__)
    assert cage.kind() is None
    with pytest.raises(NoCageError, match="install bubblewrap.*--trust-candidates"):
        cage.run(["true"], tmp_path)
    (finding,) = [one for one in diagnose().findings if one.name == "cage"]
    assert finding.status == "optional" and "bubblewrap" in finding.hint
    outside = cage.run(["sh", "-c", "echo here > made; exit 3"], tmp_path, View(trusted=True))
    assert outside.status == 3 and (tmp_path / "made").read_text() == "here\n"


def test_a_trusted_command_ends_with_its_process_group(tmp_path):
    ended = cage.run(["sh", "-c", "sleep 5678.5 & wait"], tmp_path, View(trusted=True), limits=cage.CageLimits(seconds=0.5))
    assert ended.timed_out and ended.status < 0 and ended.seconds < 5


def test_a_folder_that_overlayfs_refuses_is_read_only(monkeypatch, tmp_path):
    """Some file systems cannot be used with overlayfs. This is simulated, since none can be made without privileges."""
    cage.expect_mechanism()  # chosen earlier for the whole process, by what works here
    real = mechanism._succeeds
    monkeypatch.setattr(mechanism, "_succeeds", lambda command: "--tmp-overlay" not in command and real(command))
    monkeypatch.setattr(mechanism, "_layers", {})
    ended = cage.run(["sh", "-c", "cat here; touch made"], tmp_path)
    assert ended.status != 0 and b"Read-only" in ended.stderr
    (tmp_path / "here").write_text("shown")
    assert cage.run(["cat", "here"], tmp_path).stdout == b"shown" and not (tmp_path / "made").exists()


def test_doctor_names_the_mechanism(monkeypatch):
    (finding,) = [one for one in diagnose().findings if one.name == "cage"]
    assert finding.status == "ok" and {"bubblewrap": "bwrap", "namespaces": "user namespaces"}[cage.kind()] in finding.detail


def test_a_mechanism_that_fails_later_does_not_count_as_a_failure_of_the_command(monkeypatch, tmp_path):
    broken = mechanism.Mechanism("bubblewrap", False, "/bin/false", ())
    monkeypatch.setattr(mechanism, "best_mechanism", lambda: broken)
    with pytest.raises(NoCageError, match="could not be made"):
        cage.run(["true"], tmp_path)


def test_the_gate_refuses_to_run_without_a_cage_or_reports_that_it_did(native_dir, hipcc, tmp_path):
    """A cage is such a place: no other cage can be made in it."""
    shutil.copy(PROGRAM, tmp_path)
    loop = "  for (int i = 0; i < columns; ++i) sum"
    (tmp_path / "candidate.hip").write_text(PROGRAM.read_text().replace(loop, "#pragma unroll 4\n" + loop, 1))
    words = ["gate", "--device", "gfx942", "--build", BUILD, "--json"]
    files = ["program.hip", "candidate.hip", "./program"]
    rocm_perf = [sys.executable, "-m", "rocm_perf_lab"]
    refused = cage.run([*rocm_perf, *words, *files], tmp_path)
    assert refused.status == NoCageError.exit_code and b"--trust-candidates" in refused.stderr, refused
    found = os.environ | {"ROCM_PERF_LAB_NATIVE_DIR": str(native_dir)}
    trusted = cage.run([*rocm_perf, *words, "--trust-candidates", *files], tmp_path, environment=found)
    assert b"not confined by a cage" in trusted.stderr, trusted
    assert trusted.status == 0, trusted
    steps = {step["step"]: step for step in json.loads(trusted.stdout)["steps"]}
    assert trusted.status == 0 and steps["application"]["evidence"]["cage"] == "none, as requested"
