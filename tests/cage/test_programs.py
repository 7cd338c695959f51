"""Honest compilers and programs are not hindered: hipcc, HIP programs under the tracer, and the files they use."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.cage import mechanism
from rocm_perf_lab.gate.application.application_check import ApplicationOptions, BaselineProgram
from rocm_perf_lab.gate.verdict import StepOutcome

SOURCE = (Path(__file__).parents[1] / "gate" / "program.hip").read_text()
KEEPS_FILES = """
  const char* places[] = {"result.txt", "/tmp/result.txt"};
  for (const char* place : places) {
    void* file = fopen(place, "w+");
    if (file == nullptr) __builtin_trap();
    fputs("kept", file);
    fclose(file);
  }
"""
FILE_FUNCTIONS = "void* fopen(const char*, const char*);\nint fputs(const char*, void*);\nint fclose(void*);\nint printf("


@pytest.fixture(params=["bubblewrap", "namespaces"])
def by(request, monkeypatch):
    found = next(filter(mechanism.mechanism_works, mechanism.mechanisms_of_kind(request.param)), None)
    assert found, "see the other tests"
    monkeypatch.setattr(mechanism, "best_mechanism", lambda: found)
    return found


def test_a_program_runs_under_the_tracer_as_it_does_outside(by, native_dir, hipcc, tmp_path, monkeypatch):
    """It writes to its current folder and to /tmp; both are gone afterwards."""
    source, program = tmp_path / "program.hip", tmp_path / "program"
    changed = SOURCE.replace('  printf("%g', KEEPS_FILES + '  printf("%g', 1).replace("int printf(", FILE_FUNCTIONS, 1)
    assert changed != SOURCE
    source.write_text(changed)
    subprocess.run([hipcc, "-O2", "-nogpuinc", "--offload-arch=gfx942", source, "-o", program], check=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    application = BaselineProgram(program, (), tmp_path / "runs", ApplicationOptions(device="gfx942"))
    verdict = application.check(program)
    assert verdict.outcome is StepOutcome.PASSED and verdict.evidence.cage == mechanism.kind() == by.kind
    assert application.baseline.runtime_ms > 0 and application.baseline.counters
    assert os.listdir() == [] or not by.overlays
    assert {path.name for path in (tmp_path / "runs").glob("run-1/trace/*")} == {"trace.db"}


def test_hipcc_compiles_for_any_user(caged, hipcc):
    """A header lies beside the source, in a path that the command line names; the output stays in the writable folder."""
    (caged.folder / "program.hip").write_text('#include "own.h"\n' + SOURCE)
    (caged.elsewhere / "own.h").write_text("")
    for path in (caged.folder / "program.hip", caged.elsewhere / "own.h"):
        path.chmod(0o644)
    words = [
        "hipcc",
        "-O2",
        "-nogpuinc",
        "--offload-arch=gfx942",
        f"-I{caged.elsewhere}",
        "program.hip",
        "-o",
        caged.out / "made",
    ]
    ended = caged.run(list(map(str, words)), seconds=120.0)
    assert ended.succeeded, ended
    assert os.access(caged.out / "made", os.X_OK) and [path.name for path in caged.out.iterdir()] == ["made"]
    for path in (caged.folder / "program.hip", caged.elsewhere / "own.h", caged.out / "made"):
        path.unlink()
