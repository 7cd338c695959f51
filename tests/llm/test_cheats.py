"""The tricks from the tests of the gate, proposed by a model: each passes through the loop, and nothing of it stays."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from gate_judge import judge_of
from model_run import fenced
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.isolate import capture
from rocm_perf_lab.llm.budget import Budget
from rocm_perf_lab.llm.candidate import MAX_REPAIRS
from rocm_perf_lab.llm.entry import LlmRequest, loop_on
from rocm_perf_lab.llm.file_to_optimize import of_program
from rocm_perf_lab.llm.loop import LlmLoopOptions
from rocm_perf_lab.llm.providers import Answer, ModelOptions
from rocm_perf_lab.llm.redact import Redactor
from rocm_perf_lab.optimize import run_folder
from rocm_perf_lab.optimize.backend import ProfileSummary
from rocm_perf_lab.optimize.build_target import find_build_target
from rocm_perf_lab.optimize.builders import complaint
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.targets import Target

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("hipcc")]
GATE = Path(__file__).parents[1] / "gate"
PROGRAM = GATE / "program.hip"
COMMAND = ("hipcc", "-O2", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")


def tricks() -> dict[str, str]:
    """The tricks from the gate's own tests that fit into a kernel and the text right before it."""
    spec = importlib.util.spec_from_file_location("gate_tests", GATE / "test_judge.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.SOURCE
    start = text.index("__global__ void rows(")
    end = text.index("\n}\n", start) + 2
    return {
        name: source[start : len(source) - (len(text) - end)]
        for name, (source, _, _) in module.CHEATS.items()
        if source.startswith(text[:start]) and source.endswith(text[end:])
    }


class World:
    """The real compiler and gate on the gate's test program; only the profile is invented."""

    def __init__(self, captures):
        self._captures = captures

    def read(self, text):
        return read(PROGRAM, COMMAND, text=text)

    def profile(self, source):
        target = Target("rows", "rows(float const*)", 2, 1.0, 1.0, 0.9, 0.9, "latency-bound")
        return ProfileSummary(1.0, "modelled", "0", "gfx942", [target], [], None, target.demangled, 1.0)

    def context(self, source, survey, target):
        return "make rows faster"

    def complaint(self, source):
        return complaint(source, "gfx942")

    @contextlib.contextmanager
    def gate(self, source, target):
        options = GateOptions(equivalence=EquivalenceOptions(device="gfx942", instruction_limit=1_000_000))
        with judge_of(source, "rows", self._captures, options) as judge:
            yield judge


class Cheater:
    endpoint = "the suite"

    def __init__(self, answers):
        self._answers = iter(answers)

    def ask(self, messages, progress):
        return Answer(fenced(next(self._answers) + "\n"), "cheater")


def test_no_trick_gets_through(tmp_path, native_dir):
    subprocess.run([*COMMAND, PROGRAM, "-o", tmp_path / "program"], check=True)
    captures = [capture([str(tmp_path / "program")], "rows", n, tmp_path, device="gfx942") for n in (0, 1)]
    source = tmp_path / "program.hip"
    shutil.copy(PROGRAM, source)
    found = tricks()
    assert len(found) >= 20
    build_target = find_build_target((str(source), "./program"), None, " ".join((*COMMAND, "SOURCE", "-o", "BINARY")))
    options = LlmLoopOptions(max_iterations=1, candidates=-(-len(found) // (MAX_REPAIRS + 1)))
    answers = [*found.values(), *list(found.values())[:MAX_REPAIRS]]
    request = LlmRequest((), ModelOptions("openai", "m"), in_place=True, loop=options)
    journal, redactor = Journal(run_folder.new_run(tmp_path / "runs")), Redactor(tmp_path)
    outcome = loop_on(
        of_program(build_target), request, journal, World(captures), Cheater(answers), Budget(None, None, 0), redactor,
        lambda _judged: True, lambda _place, _messages: None, print,
    ).optimize()  # fmt: skip
    assert len(outcome.attempts) >= len(found) and all(one.step for one in outcome.attempts)
    assert {one.step for one in outcome.attempts} >= {"equivalence", "source", "compile"}
    assert not outcome.optimized.accepted and source.read_bytes() == PROGRAM.read_bytes()
