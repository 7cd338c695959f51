"""The script for a GPU: it names each change and passes the options of the run to the gate."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import replace

import pytest

from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.optimize.measure_script import write_script
from rocm_perf_lab.optimize.result import JudgedCandidate, UndecidedCandidate
from rocm_perf_lab.optimize.transforms import Proposal


@pytest.fixture
def undecided(tmp_path):
    proposal = Proposal("unroll", "rows", 3, "unroll the loop of line 3 by $(touch x) 'four'", ())
    judged = JudgedCandidate(proposal, "d" * 64, "", b"", Verdict(()))
    return [UndecidedCandidate("rows(float const*)", judged, tmp_path / name) for name in ("undecided-1.hip", "it's 2.hip")]


def test_the_script_runs_the_gate_once_for_each_change(tmp_path, monkeypatch, undecided):
    monkeypatch.chdir(tmp_path)
    said = tmp_path / "said"
    told = tmp_path / "bin" / "rocm-perf"
    told.parent.mkdir()
    told.write_text(
        f"#!{sys.executable}\nimport os, sys\nopen({str(said)!r}, 'a').write(repr((os.getcwd(), sys.argv[1:])) + '\\n')\n"
    )
    told.chmod(0o755)
    options = replace(BackendOptions(), ulps=4, check=("grep", "-q", "a b"), also=(("./app", "2 3"),))
    program = ["./app", "--name", "it's"]
    script = write_script(tmp_path, tmp_path / "a.hip", program, "make CC='hipcc -O3'", options, undecided)
    done = subprocess.run(
        [script], cwd="/", env=os.environ | {"PATH": f"{told.parent}:{os.environ['PATH']}"}, capture_output=True, text=True
    )
    assert (
        done.returncode == 0
        and done.stdout.splitlines()[0] == f"{undecided[0].judged.proposal.description} in rows(float const*)"
    )
    runs = [eval(line) for line in said.read_text().splitlines()]
    given = [
        "--build",
        "make CC='hipcc -O3'",
        "--ulps",
        "4",
        "--check",
        "grep -q 'a b'",
        "--also",
        shlex.join(["./app", "2 3"]),
    ]
    for (folder, words), one in zip(runs, undecided, strict=True):
        assert folder == str(tmp_path) and words == ["gate", *given, str(tmp_path / "a.hip"), str(one.file), *program]
    assert not (tmp_path / "x").exists()


def test_there_is_no_script_where_nothing_is_undecided(tmp_path):
    assert write_script(tmp_path, tmp_path / "a.hip", ["./app"], None, BackendOptions(), []) is None
    assert not list(tmp_path.iterdir())
