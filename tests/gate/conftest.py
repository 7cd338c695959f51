"""A program under the gate: built and captured once, with a judge that keeps the baseline's outputs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.isolate import capture

PROGRAM = Path(__file__).with_name("program.hip")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")


@pytest.fixture(scope="session")
def program(tmp_path_factory, hipcc):
    """The source as read, and captures of both of its dispatches."""
    folder = tmp_path_factory.mktemp("gate")
    subprocess.run([*COMMAND, PROGRAM, "-o", folder / "program"], check=True)
    captures = [capture([str(folder / "program")], "rows", n, folder, device="gfx942") for n in (0, 1)]
    return read(PROGRAM, COMMAND), captures


@pytest.fixture(scope="session")
def judge(program):
    """judge(kernel text, ...) -> Verdict on the program with that in place of its kernel; without the measurement."""
    baseline, captures = program
    options = GateOptions(
        equivalence=EquivalenceOptions(device="gfx942", instruction_limit=1_000_000, seed=1, race_seeds=(2,)), measured=False
    )
    with judge_of(baseline, "rows", captures, options) as gate:
        yield lambda text: gate.judge(text.encode())
