"""One launch of two scripts, by hand: a repetition leaves the given results, and no kernel runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from rocm_perf_lab.errors import CaptureError, SourceError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.triton_kernel.inputs import INPUTS, store_contents
from rocm_perf_lab.gate.triton_kernel.launch_judgement import LaunchJudgement, words_of
from rocm_perf_lab.gate.triton_kernel.launching_script import LaunchDescription
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedBuffer, RecordedLaunch
from rocm_perf_lab.gate.triton_kernel.rejection import JudgementRecord, RejectedError
from rocm_perf_lab.gate.triton_kernel.repeated_launches import RepetitionResult
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError

SEED = 5
FIRST, SECOND = seeds.orders(SEED)
NAMES = [f"as launched, {name}" for name in ("captured inputs", *INPUTS)]


@dataclass(frozen=True)
class Run:
    """A repetition. of: "ours" or "theirs". order: None for the usual one. size: that of the grid, which is n where it
    changes."""

    of: str
    order: int | None
    count: int
    size: int


@dataclass(frozen=True)
class Came:
    """numbers: what each launch leaves."""

    numbers: tuple[int, ...]
    failure: str | None = None
    races: tuple[str, ...] = ()
    failed: int = 0  # the last launches, without a time


def well(run: Run) -> Came:
    return Came((7,) * run.count)


class Repetition:
    def __init__(self, folder: Path, come: Callable[[Run], Came]):
        self.folder, self.come, self.runs, self.forgotten = folder, come, [], 0

    def run(self, launches, options=()) -> RepetitionResult:
        order = next((int(one.split("=")[1]) for one in options if one.startswith("race-check=")), None)
        run = Run(launches[0].name, order, len(launches), launches[0].grid[0])
        self.runs.append((run, [one.buffers[0].contents for one in launches]))
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        came = self.come(run)
        for number, left in enumerate(came.numbers):
            (folder / f"{number}-0").write_bytes(np.array([left], np.int32).tobytes())
        times = [2.0 if run.of == "ours" else 1.0] * (run.count - came.failed)
        return RepetitionResult(folder, times, came.failure, list(came.races), "f00d")

    def forget(self, _repeated) -> None:
        self.forgotten += 1


class Script:
    """interpreted: the number that the interpreter computes, why it has none, or how it fails. fails: how it cannot be recorded
    with n = 8.
    """

    def __init__(self, name: str, files: Path, interpreted: int | str | Exception, fails: Exception | None):
        self.name, self.files, self.interpreted, self.fails = name, files, interpreted, fails

    def record(self, numbers) -> RecordedLaunch:
        if self.fails is not None and numbers == {"n": 8}:
            raise self.fails
        contents = store_contents(np.array([3], np.int32).tobytes(), self.files)
        memory = RecordedBuffer(names=["y"], size=4, shift=0, contents=contents)
        about = {"code": "c" * 64, "threads": 64, "shared": 0, "scratch_bytes": [], "arguments": []}
        return RecordedLaunch(name=self.name, grid=[numbers.get("n", 9), 2, 3], buffers=[memory], **about)

    def interpret(self, numbers, contents):
        if isinstance(self.interpreted, Exception):
            raise self.interpreted
        if isinstance(self.interpreted, str):
            return self.interpreted
        return {"y": self.files / store_contents(np.array([self.interpreted], np.int32).tobytes(), self.files)}


def launched(**numbers: int) -> LaunchDescription:
    arguments = {name: {"kind": "number", "value": value} for name, value in numbers.items()}
    arguments["y"] = {"kind": "array", "dtype": "int32"}
    return LaunchDescription({"key": {"rows": 3}, "arguments": arguments, "parameters": [*arguments], "constants": []})


NINE = launched(n=9)


@pytest.fixture
def judged(tmp_path):
    """judged(come, ...) -> (the findings, the repetition, why it was rejected)."""
    (files := tmp_path / "files").mkdir()

    def judge(
        come=well, ours=NINE, theirs=None, interpreted=("no", "no"), fails=(None, None), raises=RejectedError
    ):  # fmt: skip
        found, repetition, notes = JudgementRecord(), Repetition(tmp_path, come), []
        request = TritonGateRequest(None, None, "gfx942", seed=SEED)
        judgement = LaunchJudgement(request, repetition, files, found, notes.append)
        scripts = [Script(*one) for one in zip(("ours", "theirs"), (files, files), interpreted, fails, strict=True)]
        why = None
        try:
            judgement.judge(ours, theirs or ours, *scripts)
        except raises as error:
            why = error
        assert notes == ["judging rows=3"]
        return found, repetition, why

    return judge


def test_each_size_is_run_in_the_usual_order_and_in_two_others(judged):
    found, repetition, why = judged()
    (section,) = found.launches
    assert why is None and found.ms == [(2.0, 1.0)] and found.parameters == "f00d"
    assert (section.arguments, section.dispatch) == ("rows=3", 0)
    assert (section.grid, section.workgroup) == ([9 * 64, 2, 3], [64, 1, 1])
    runs = [run for run, _ in repetition.runs]
    as_launched = [Run("ours", None, 5, 9), Run("theirs", None, 5, 9), Run("theirs", FIRST, 2, 9), Run("theirs", SECOND, 2, 9)]
    smaller = [Run("ours", None, 1, 8), Run("theirs", None, 1, 8), Run("theirs", FIRST, 1, 8), Run("theirs", SECOND, 1, 8)]
    assert runs[:8] == as_launched + smaller and len(runs) == 4 * 5 == repetition.forgotten
    # Both get the same contents; other orders get the first and the last of them.
    contents = [contents for _, contents in repetition.runs]
    assert contents[0] == contents[1] and contents[2] == contents[3] == [contents[0][0], contents[0][-1]]
    interpreter = [case for case, said in section.cases.items() if said == "not interpreted: no"]
    assert len(interpreter) == 1 and {said for case, said in section.cases.items() if case not in interpreter} == {"equal"}


@pytest.mark.parametrize("other, varied", [(9, {"n", "m"}), (8, {"n"}), (10, {"n"})])
def test_only_numbers_that_both_launches_receive_vary(judged, other, varied):
    found, *_ = judged(ours=launched(n=9, m=9), theirs=launched(n=9, m=other))
    cases = found.launches[0].cases
    assert {name for name in ("n", "m") if f"{name}=8, random" in cases} == varied


@pytest.mark.parametrize(
    "error", [ScriptExitedError("ended"), ScriptTimeoutError("took too long"), SourceError("no memory", "")]
)
def test_a_script_that_cannot_answer(judged, error):
    _, _, why = judged(interpreted=(error, "no"), raises=CaptureError)
    assert why.problem == f"the baseline's launch cannot be interpreted: {error}"
    found, _, why = judged(interpreted=("no", error))
    assert why.step == "equivalence" and why.case.endswith(", interpreter") and why.case not in found.launches[0].cases
    assert why.reason == f"{why.case}: it cannot be run: {error}"
    found, _, why = judged(fails=(error, None))
    cases = found.launches[0].cases
    assert why is None and cases["n=8"] == "dropped: the baseline does not compile for it"
    assert cases["every number 1, random"] == "equal"
    _, _, why = judged(fails=(None, error))
    assert (why.step, why.reason) == ("launch", f"n=8: {error}")


APART = "y[0]: baseline 7, candidate 8; 1 of 1 elements differ"


@pytest.mark.parametrize(
    "ours, theirs, said",
    [
        (7, 7, "equal"),
        ("no", 7, "equal"),
        (7, "no", "not interpreted: no"),
        (7, 8, "differs"),
        (8, 8, f"not interpreted: {APART}, in the baseline"),
        ("no", 8, "not interpreted: no, in the baseline"),
    ],
)
def test_the_source_counts_against_the_code_unless_the_baselines_does_too(judged, ours, theirs, said):
    found, _, why = judged(interpreted=(ours, theirs))
    assert [result for name, result in found.launches[0].cases.items() if name.endswith("interpreter")] == [said]
    assert (why is not None) == (said == "differs")
    if why is not None:
        assert why.reason == f"{why.case}: its code does not compute what its source says: {APART}"
        assert why.step == "equivalence" and why.difference.element == "y[0]"


def test_a_different_result_is_reported_with_its_case(judged):
    def come(run: Run) -> Came:
        return Came((7, 7, 8 if run.of == "theirs" else 7, 7, 7)[: run.count])

    found, _, why = judged(come)
    assert found.launches[0].cases == {**dict.fromkeys(NAMES[:2], "equal"), NAMES[2]: "differs"}
    assert (why.step, why.reason, why.case) == ("equivalence", f"{NAMES[2]}: {APART}", NAMES[2])
    assert why.difference.element == "y[0]"


@pytest.mark.parametrize("failed, equal", [(0, 4), (1, 4), (3, 2), (5, 0)])
def test_the_launch_that_failed_is_the_last_one_at_the_latest(judged, failed, equal):
    def come(run: Run) -> Came:
        return Came((7,) * run.count, "a fault", failed=failed) if run.of == "theirs" else well(run)

    found, _, why = judged(come)
    cases = {name: "equal" for name in NAMES[:equal]} | {NAMES[equal]: "failed"}
    assert found.launches[0].cases == cases and why.reason == f"{NAMES[equal]}: a fault" and why.case == NAMES[equal]
    assert why.step == "equivalence" and not found.ms


def test_a_race_counts_in_each_order_in_which_the_baseline_has_none(judged):
    races = {("ours", FIRST): ("old",), ("theirs", FIRST): ("one", "more"), ("theirs", SECOND): ("two", "more")}

    def come(run: Run) -> Came:
        return Came((8 if run.order == FIRST else 7,) * run.count, races=races.get((run.of, run.order), ()))

    found, repetition, why = judged(come)
    assert (why.step, why.reason, why.case) == ("equivalence", f"{NAMES[0]}: two", NAMES[0])
    assert found.launches[0].cases == {**dict.fromkeys(NAMES, "equal"), NAMES[0]: "race"}
    assert [run for run, _ in repetition.runs][2:] == [
        Run(of, order, 2, 9) for order in (FIRST, SECOND) for of in ("theirs", "ours")
    ]


@pytest.mark.parametrize("at", [FIRST, SECOND])
def test_a_difference_or_failure_in_another_order_is_reported(judged, at):
    def fails(run: Run) -> Came:
        return Came((7,) * run.count, "a fault" if run.order == at else None)

    _, _, why = judged(fails)
    assert (why.reason, why.case) == (f"{NAMES[0]}, in a different order: a fault", NAMES[0])

    def differs(run: Run) -> Came:
        return Came((*(7,) * (run.count - 1), 9 if run.order == at else 7))

    found, _, why = judged(differs)
    assert found.launches[0].cases == {**dict.fromkeys(NAMES, "equal"), NAMES[-1]: "differs"} and why.case == NAMES[-1]
    said = "y[0]: baseline 7, candidate 9; 1 of 1 elements differ"
    assert why.reason == f"{NAMES[-1]}, in a different order of waves: {said}" and why.difference.element == "y[0]"


def test_a_smaller_size_on_which_the_baseline_fails_is_dropped(judged):
    def come(run: Run) -> Came:
        return Came((7,) * run.count, "a fault" if run.size == 8 else None)

    found, repetition, why = judged(come)
    assert why is None and found.launches[0].cases["n=8, random"] == "dropped: the baseline itself fails: a fault"
    assert [run.of for run, _ in repetition.runs if run.size == 8] == ["ours"]


def test_a_key_in_words():
    assert words_of({"rows": 3, "columns": 4}) == "rows=3, columns=4" and words_of({}) == "its only arguments"
