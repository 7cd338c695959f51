"""Judgements of scripts without Triton. A NumPy function replaces the kernel and writes 2 x to the first n numbers of y. A
wrong candidate differs only in its error.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import CaptureError, NoKernelsError, SourceError
from rocm_perf_lab.gate.triton_kernel import judge as judging
from rocm_perf_lab.gate.triton_kernel.inputs import store_contents
from rocm_perf_lab.gate.triton_kernel.launching_script import LaunchDescription
from rocm_perf_lab.gate.triton_kernel.recorded_launch import ArgumentWord, RecordedArgument, RecordedBuffer, RecordedLaunch
from rocm_perf_lab.gate.triton_kernel.repeated_launches import RepetitionResult
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.triton_launches import ScriptExitedError

SOFTWARE = Device(False, "gfx942", "software gfx942", {}, (), ())
LENGTH, CODE = 64, "0" * 64
STEPS = ["launch", "equivalence", "measurement", "application"]


def doubled(x: np.ndarray, y: np.ndarray, n: int, order: bool) -> np.ndarray:
    """order: whether waves run in another order than usual."""
    return np.concatenate([2 * x[:n], y[n:]])


@dataclass
class Kernel:
    """A script with one kernel. source: the kernel as the interpreter runs it, None without an interpreter. ms: the time of a
    launch. fails: why a launch with this n fails. races: what the race check finds. keys: those of the launches.
    """

    code: Callable[[np.ndarray, np.ndarray, int, bool], np.ndarray] = doubled
    source: Callable[[np.ndarray, np.ndarray, int, bool], np.ndarray] | None = doubled
    ms: float = 1.0
    fails: Callable[[int], str | None] = lambda n: None
    compiles: Callable[[int], bool] = lambda n: True
    races: tuple[str, ...] = ()
    keys: tuple[int, ...] = (LENGTH,)
    kind: str = "float32"
    status: int = 0
    dies: int | None = None  # at this launch
    kernel: str = "double"
    script: Path = field(default=Path("train.py"))


class Script:
    def __init__(self, kernel: Kernel, files: Path):
        self.kernel, self.files, self.at = kernel, files, 0

    def next(self) -> LaunchDescription | int:
        if self.at == self.kernel.dies:
            raise ScriptExitedError("ended with status 1: boom")
        if self.at == len(self.kernel.keys):
            return self.kernel.status
        array = {"kind": "array", "dtype": self.kernel.kind}
        arguments = {"x": array, "y": array, "n": {"kind": "number", "value": LENGTH}}
        key = {"rows": self.kernel.keys[self.at]}
        return LaunchDescription({"key": key, "arguments": arguments, "parameters": ["x", "y", "n"], "constants": []})

    def record(self, numbers) -> RecordedLaunch:
        n = numbers.get("n", LENGTH)
        if not self.kernel.compiles(n):
            raise SourceError(f"n = {n} does not compile", "")
        contents = {name: store_contents(np.arange(LENGTH, dtype=np.float32).tobytes(), self.files) for name in "xy"}
        buffers = [RecordedBuffer(names=[name], size=4 * LENGTH, shift=0, contents=contents[name]) for name in "xy"]
        words = {"x": ArgumentWord(memory=0, offset=0), "y": ArgumentWord(memory=1, offset=0), "n": ArgumentWord(bits=n)}
        return RecordedLaunch(
            name=str(id(self.kernel)), code=CODE, grid=[3, 2, 1], threads=64, shared=0, scratch_bytes=[],
            arguments=[RecordedArgument(name=name, words=[word]) for name, word in words.items()], buffers=buffers,
        )  # fmt: skip

    def interpret(self, numbers, contents):
        if self.kernel.source is None:
            return "it calls a library"
        x, y = (np.frombuffer((self.files / contents[name]).read_bytes(), np.float32) for name in "xy")
        left = {"x": x, "y": self.kernel.source(x, y, numbers.get("n", LENGTH), False)}
        return {
            name: self.files / store_contents(array.astype(np.float32).tobytes(), self.files) for name, array in left.items()
        }

    def go_on(self) -> None:
        self.at += 1


class Repetition:
    """Runs recorded launches as the device would."""

    kernels: dict[str, Kernel] = {}
    asked: list[tuple[str, ...]] = []

    def __init__(self, _device, _view, files: Path, scratch: Path, seconds: float):
        assert seconds == 120
        self.files, self.scratch, self.runs = files, scratch, 0

    def run(self, launches, options=()) -> RepetitionResult:
        self.runs += 1
        Repetition.asked.append(tuple(options))
        (folder := self.scratch / f"run-{self.runs}" / "results").mkdir(parents=True)
        times, races = [], []
        for number, launch in enumerate(launches):
            kernel, n = Repetition.kernels[launch.name], launch.arguments[2].words[0].bits
            if (why := kernel.fails(n)) is not None:
                return RepetitionResult(folder, times, why, races, "f00d")
            x, y = (np.frombuffer((self.files / one.contents).read_bytes(), np.float32) for one in launch.buffers)
            races += kernel.races if options else ()
            for index, array in enumerate((x, kernel.code(x, y, n, bool(options)))):
                (folder / f"{number}-{index}").write_bytes(array.astype(np.float32).tobytes())
            times.append(kernel.ms)
        return RepetitionResult(folder, times, None, races, "f00d")

    def forget(self, repeated: RepetitionResult) -> None:
        assert repeated.folder.is_dir()


@pytest.fixture
def judged(monkeypatch):
    """judged(candidate, baseline, ...) -> (verdict, its steps' outcomes, the cases of the first launch)."""

    def run(candidate: Kernel, baseline: Kernel | None = None, **asked):
        baseline = baseline or Kernel()
        Repetition.kernels = {str(id(one)): one for one in (baseline, candidate)}
        Repetition.asked = []

        @contextlib.contextmanager
        def launching(kernel, _device, _scratch, files, *_):
            yield Script(kernel, files)

        replaced = types.SimpleNamespace(launching=launching, Repetition=Repetition, software_device=lambda *_: SOFTWARE)
        for name, value in vars(replaced).items():
            monkeypatch.setattr(judging, name, value)
        verdict = judging.judge(TritonGateRequest(baseline, candidate, "gfx942", seed=5, **asked), lambda _: None)
        captures = next((step.evidence.captures for step in verdict.steps if getattr(step.evidence, "captures", None)), [])
        return verdict, [step.outcome.value for step in verdict.steps], captures[0].cases if captures else {}

    return run


def rejection(verdict) -> tuple[str, str]:
    """(step, reason) of the only step that rejects; those after it are skipped, unless all launches were judged."""
    assert not verdict.accepted
    outcomes = [step.outcome.value for step in verdict.steps]
    at = outcomes.index("rejected")
    after = "passed" if verdict.steps[at].step == "measurement" else "skipped"
    assert outcomes[:at] == ["passed"] * at and set(outcomes[at + 1 :]) <= {after}
    assert [step.step for step in verdict.steps] == STEPS[: len(outcomes)]
    return verdict.steps[at].step, verdict.steps[at].reason


def test_a_faster_kernel_with_the_same_results_is_accepted(judged):
    verdict, outcomes, cases = judged(Kernel(ms=0.75, keys=(64, 128), status=3), Kernel(keys=(64, 128), status=3))
    assert verdict.accepted and outcomes == ["passed"] * 4
    launch, equivalence, measurement, application = verdict.steps
    assert launch.reason == "launched as the baseline is; launches with different numbers: 2"
    assert measurement.reason == "25.00% of the kernel's time saved, modelled"
    evidence = measurement.evidence
    assert (evidence.baseline_ms, evidence.candidate_ms, evidence.ratio) == ([2.0], [1.5], 0.75)
    assert evidence.cold_caches and evidence.timing == "modelled"
    assert application.reason == "its script ends with status 3, as the baseline's does"
    assert application.evidence.timing_parameters == "f00d"
    assert set(cases.values()) == {"equal"} and f"n={LENGTH - 1}, random" in cases and "every number 1, random" in cases
    assert sum("interpreter" in name for name in cases) == 1
    first, second = equivalence.evidence.captures
    assert (first.arguments, second.arguments) == ("rows=64", "rows=128")
    assert (first.dispatch, second.dispatch, first.grid, first.workgroup) == (0, 1, [192, 2, 1], [64, 1, 1])
    count = len(first.cases) + len(second.cases)
    assert equivalence.reason == f"the same results in {count} cases, and no race"
    options = {one for asked in Repetition.asked for one in asked}
    assert len({one for one in options if one.startswith("race-check=")}) == 2


def one_too_many(x, y, n, order):
    return doubled(x, y, min(n + 1, LENGTH), order)


def only_of_positive(x, y, n, order):
    return doubled(np.abs(x), y, n, order)


def by_order(x, y, n, order):
    return doubled(x + order, y, n, order)


@pytest.mark.parametrize(
    "candidate, step, said",
    [
        (Kernel(code=one_too_many), "equivalence", f"n={LENGTH - 1}, random: y[{LENGTH - 1}]: baseline "),
        (Kernel(code=only_of_positive), "equivalence", "as launched, "),
        (Kernel(code=by_order), "equivalence", "as launched, captured inputs, in a different order of waves: y[0]: baseline "),
        (Kernel(races=("a race",)), "equivalence", "as launched, captured inputs: a race"),
        (Kernel(fails=lambda n: "a fault"), "equivalence", "as launched, captured inputs: a fault"),
        (Kernel(fails=lambda n: "a fault" if n < 9 else None), "equivalence", "every number 1, random: a fault"),
        (Kernel(source=only_of_positive), "equivalence", "interpreter: its code does not compute what its source says: y["),
        (Kernel(compiles=lambda n: n == LENGTH), "launch", f"n={LENGTH - 1}: n = {LENGTH - 1} does not compile"),
        (Kernel(keys=(65,)), "launch", "it is launched with rows=65, the baseline with rows=64"),
        (Kernel(keys=()), "launch", "it ends with status 0 and does not launch the kernel with rows=64"),
        (Kernel(keys=(64, 65)), "launch", "it launches the kernel with rows=65, which the baseline does not"),
        (Kernel(kind="float64"), "launch", "x is float64, but float32 in the baseline"),
        (Kernel(kind="float16"), "launch", "x is float16, but float32 in the baseline"),
        (Kernel(dies=0), "launch", "it ended with status 1: boom"),
        (Kernel(dies=1, ms=0.5), "application", "it ended with status 1: boom"),
        (Kernel(ms=0.5, status=2), "application", "its script ends with status 2, but the baseline's with 0"),
        (Kernel(ms=1.5), "measurement", "50.00% slower, modelled: less than the required 2.0%"),
        (Kernel(ms=0.99), "measurement", "1.00% of the kernel's time saved, modelled: less than the required 2.0%"),
    ],
)
def test_a_wrong_candidate_is_rejected_with_the_reason(judged, candidate, step, said):
    at, reason = rejection(judged(candidate)[0])
    assert at == step and said in reason, (at, reason)


def test_a_difference_names_its_place_and_its_case(judged):
    verdict, _, cases = judged(Kernel(code=one_too_many))
    evidence = verdict.steps[1].evidence
    assert evidence.case == f"n={LENGTH - 1}, random" and cases[evidence.case] == "differs"
    assert (evidence.difference.element, evidence.difference.differing, evidence.difference.of) == ("y[63]", 1, LENGTH)
    assert all(result == "equal" for case, result in cases.items() if case != evidence.case)


def test_faults_of_the_baseline_are_not_held_against_a_candidate(judged):
    verdict, _, cases = judged(Kernel(ms=0.5, races=("a race",)), Kernel(races=("another",)))
    assert verdict.accepted
    baseline = Kernel(compiles=lambda n: n != LENGTH - 1, fails=lambda n: "a fault" if n == 1 else None)
    verdict, _, cases = judged(Kernel(ms=0.5), baseline)
    assert verdict.accepted and verdict.steps[1].reason.endswith("; 2 further cases were dropped")
    assert cases[f"n={LENGTH - 1}"] == "dropped: the baseline does not compile for it"
    assert cases["every number 1, random"] == "dropped: the baseline itself fails: a fault"


@pytest.mark.parametrize(
    "ours, theirs, said",
    [
        (None, doubled, "not interpreted: it calls a library, in the baseline"),
        (doubled, None, "not interpreted: it calls a library"),
        (only_of_positive, only_of_positive, "not interpreted: y["),
    ],
)
def test_an_interpreter_that_cannot_be_used_is_ignored(judged, ours, theirs, said):
    if ours is None and theirs is doubled:
        theirs = only_of_positive  # would speak against it
    verdict, _, cases = judged(Kernel(ms=0.5, source=theirs), Kernel(source=ours))
    (result,) = (result for case, result in cases.items() if "interpreter" in case)
    assert verdict.accepted and result.startswith(said)


def test_results_may_differ_by_the_requested_tolerance(judged):
    def rounded(x, y, n, order):
        return np.nextafter(doubled(x, y, n, order), np.float32(np.inf)).astype(np.float32)

    candidate = Kernel(code=rounded, source=None, ms=0.5)
    assert rejection(judged(candidate)[0])[0] == "equivalence"
    verdict, _, _ = judged(candidate, ulps=1)
    assert verdict.accepted and verdict.steps[1].reason.startswith("results within 1 ULP in ")


@pytest.mark.parametrize(
    "baseline, error, said",
    [
        (Kernel(keys=()), NoKernelsError, r"train\.py launches no kernel called double \(status 0\)"),
        (Kernel(dies=0), CaptureError, "the baseline ended with status 1: boom"),
        (Kernel(fails=lambda n: "a fault"), CaptureError, "the baseline itself fails when it is repeated: a fault"),
        (Kernel(compiles=lambda n: False), CaptureError, "the baseline's launch cannot be recorded: n = 64 does not compile"),
    ],
)
def test_a_fault_of_the_baseline_gives_an_error_and_no_verdict(judged, baseline, error, said):
    with pytest.raises(error, match=said):
        judged(Kernel(), baseline)


def test_the_first_launches_are_judged_and_all_are_recorded(judged):
    keys = tuple(range(10, 16))
    verdict, _, _ = judged(Kernel(ms=0.5, keys=keys), Kernel(keys=keys))
    assert verdict.accepted and len(verdict.steps[1].evidence.captures) == judging.MAX_LAUNCHES == 4
    assert rejection(judged(Kernel(ms=0.5, keys=keys[:-1]), Kernel(keys=keys))[0])[0] == "launch"
