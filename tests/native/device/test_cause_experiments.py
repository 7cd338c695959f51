"""Experiments with recorded dispatches: the time predicted without a cause is that of a kernel without the cause."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from damaged_captures import with_json
from hip_compiler import compile_hip
from published_schemas import expect_published
from rocm_perf_lab.analysis.model_error import LATENCY, model_error_of
from rocm_perf_lab.analysis.thread_trace import time_stack
from rocm_perf_lab.analysis.thread_trace.time_stack import TimeStack
from rocm_perf_lab.text import quantities

# Pairs of tests/programs/cause_pairs.hip -> the cause that their second kernels lack.
CAUSES = {
    "strided": "uncoalesced", "structures": "uncoalesced", "banks": "bank-conflicts", "counting": "atomics",
    "chase": "memory-latency", "one_by_one": "memory-latency", "far": "beyond-l2", "host": "host-memory", "spilled": "scratch",
    "crowded": "few-waves", "few_threads": "small-grid", "uneven": "imbalance", "meeting": "barriers",
    "idle": "idle-waves", "ways": "divergence", "lengths": "divergence", "matrices": "matrix-issue",
}  # fmt: skip
INSTRUCTIONS = ("vector-issue", "vector-issue", "scalar-issue")  # for the three pairs of that name
QUICK = ("structures", "counting", "meeting", "matrices")


@dataclass(frozen=True)
class Pair:
    """name, cause: see CAUSES. stack: that of the first kernel. after_ns: the time of the second kernel."""

    name: str
    cause: str
    stack: TimeStack
    after_ns: int

    @property
    def gain(self) -> float:
        return 1 - self.after_ns / self.stack.duration_ns

    @property
    def predicted(self) -> float:
        return 1 - self.stack.without_ns[self.cause] / self.stack.duration_ns

    @property
    def largest(self) -> str:
        """The largest of the losses, or of all parts if the cause is work."""
        meanings = time_stack.meanings()
        losses = [part.cause for part in self.stack.parts if not meanings[part.cause].is_work]
        return self.stack.parts[0].cause if meanings[self.cause].is_work else losses[0]

    def __str__(self) -> str:
        times = f"{self.stack.duration_ns:>8} -> {self.after_ns:>7} ns"
        return f"{self.name:12} {self.cause:15} {times}  gain {self.gain:6.1%}  predicted {self.predicted:6.1%}  {self.largest}"


@pytest.fixture(scope="module")
def program(repository, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pairs") / "pairs"
    source = repository / "tests" / "programs" / "cause_pairs.hip"
    options = ("--offload-arch=gfx942", "-O3", "-gline-tables-only")
    compile_hip(*options, "-o", path, source)
    return path


def experiments(rocm_perf, folder: Path, *command: object, environment: dict[str, str] | None = None) -> list[Path]:
    """The folders of all traced dispatches, in order."""
    rocm_perf("run", *command, environment={"ROCM_PERF_THREAD_TRACE": str(folder), **(environment or {})})
    return sorted(folder.glob("ui_output_*"), key=lambda path: int(path.name.rsplit("_", 1)[1]))


def pairs(rocm_perf, program: Path, folder: Path, *names: str) -> list[Pair]:
    found, instructions = [], iter(INSTRUCTIONS)
    traced = experiments(rocm_perf, folder, program, *names)
    for before, after in zip(traced[::2], traced[1::2], strict=True):
        (symbol,) = (row[0] for row in json.loads((before / "code.json").read_text())["code"] if row[0].startswith(";"))
        name = re.search(r"\d([a-z_]+)_before", symbol)[1]
        cause = CAUSES.get(name) or next(instructions)
        found.append(Pair(name, cause, time_stack.read(before), time_stack.read(after).duration_ns))
    return found


def check_times(folder: Path) -> None:
    document = json.loads((folder / time_stack.FILE).read_text())
    times, chosen = document["subset_ns"], document["chosen"]
    assert times[0] == document["duration_ns"] and len(times) == 1 << len(chosen)
    for taken in range(len(times)):
        for bit in range(len(chosen)):
            assert times[taken | 1 << bit] <= times[taken]
    for one in document["causes"].values():
        assert document["without_all_ns"] <= one["only_ns"] and one["without_ns"] <= document["duration_ns"]
    stack = time_stack.read(folder)
    for line in stack.lines:
        assert 0 <= line.gain_ns <= stack.duration_ns
        for cause, gain in line.by_cause.items():  # no line alone gains more without a cause than all lines together
            assert 0 <= gain <= stack.duration_ns - stack.without_ns[cause] + 0.02 * stack.duration_ns, (line.source, cause)
    assert sum(part.ns for part in stack.parts) + stack.rest_ns == pytest.approx(stack.duration_ns, abs=1e-3)


def test_a_change_gains_what_the_experiment_says(rocm_perf, program, tmp_path):
    found = pairs(rocm_perf, program, tmp_path, *QUICK)
    assert [pair.name for pair in found] == ["structures", *["counting"] * 3, "meeting", "matrices"]
    for pair in found:
        assert pair.predicted == pytest.approx(pair.gain, rel=0.15), pair
        assert pair.largest == pair.cause, pair
    for folder in tmp_path.glob("ui_output_*"):
        check_times(folder)
    for pair in found[:4]:  # one line makes all accesses that matter, so its gain is that of the kernel
        of_line = max(line.by_cause.get(pair.cause, 0) for line in pair.stack.lines)
        assert of_line / pair.stack.duration_ns == pytest.approx(pair.predicted, rel=0.05), pair


@pytest.mark.slow
def test_many_changes_gain_what_the_experiments_say(rocm_perf, program, tmp_path):
    found = pairs(rocm_perf, program, tmp_path)
    for pair in found:
        print(pair)
    assert len(found) >= 28
    assert [str(pair) for pair in found if pair.largest != pair.cause] == []
    exact = [pair for pair in found if pair.predicted == pytest.approx(pair.gain, rel=0.15)]
    assert len(exact) >= 0.8 * len(found)
    for folder in tmp_path.glob("ui_output_*"):
        check_times(folder)


def test_experiments_are_repeatable(rocm_perf, testbed, tmp_path):
    """On one host thread and on three."""
    command = (testbed("softmax_testbed"), "--rows", 256, "--cols", 128)
    texts = []
    for threads in (1, 3):
        folder = tmp_path / str(threads)
        traced = experiments(rocm_perf, folder, *command, environment={"ROCM_PERF_DEVICE_THREADS": str(threads)})
        texts.append([(one / time_stack.FILE).read_text() for one in traced])
        for one in traced:
            check_times(one)
    assert texts[0] == texts[1] and len(texts[0]) == 2


def test_every_cause_is_described(repository):
    header = (repository / "native" / "device" / "timing" / "removed_causes.h").read_text()
    names = re.findall(r'"([a-z0-9-]+)"', header[header.index("kCauseNames") :])
    assert sorted(names) == sorted(time_stack.meanings())


def test_explain_says_what_the_experiments_say(rocm_perf_in, testbed, tmp_path):
    command = (testbed("softmax_testbed"), "--rows", 256, "--cols", 128)
    rocm_perf_in(tmp_path, "profile", "--runs", 1, "-o", "run", *command)
    (folder,) = (tmp_path / "run" / ".rocpd_profile" / "att").glob("ui_output_*")
    stack = time_stack.read(folder)
    text = " ".join(rocm_perf_in(tmp_path, "explain", "run").stdout.split())
    shown = [part for part in stack.parts if part.ns >= 0.01 * stack.duration_ns]
    assert len(shown) >= 3
    for part in shown:
        meaning = time_stack.meanings()[part.cause]
        first, last = (f"{100 * ns / stack.duration_ns:.1f} %" for ns in (part.first_ns, part.last_ns))
        start = f"{100 * part.ns / stack.duration_ns:.1f} % on {meaning.spent_on} ({part.cause}): "
        assert f"{start}without it {first} less time, after all others {last}" in text
        if part.first_ns >= 0.02 * stack.duration_ns:
            assert f"Try {meaning.change}: without {part.cause}, " in text
    access = stack.instructions[0]
    assert f"`{access.text}`: without it {100 * access.gain_ns / stack.duration_ns:.1f} % less time" in text


SMALL = ("--rows", 256, "--cols", 128, "--kernel", "naive")


@pytest.fixture(scope="module")
def moved_capture(rocm_perf_in, testbed, tmp_path_factory) -> tuple[Path, Path]:
    """A capture that was moved after its program and original folder were removed, and the earlier trace of the dispatch."""
    there, here = tmp_path_factory.mktemp("there"), tmp_path_factory.mktemp("here")
    program = shutil.copy(testbed("softmax_testbed"), there / "program")
    rocm_perf_in(there, "isolate", "--kernel", "softmax_naive", program, *SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROCM_PERF_THREAD_TRACE", str(here / "traced"))
        rocm_perf_in(there, "run", program, *SMALL)
    shutil.move((there / "isolate_capture").resolve(), here / "capture")
    shutil.rmtree(there)
    (traced,) = (here / "traced").glob("ui_output_*")
    return here / "capture", traced


@pytest.fixture(scope="module")
def as_modelled(rocm_perf_in, moved_capture) -> tuple[dict, str]:
    return explained(rocm_perf_in, moved_capture[0].parent, moved_capture[0])


def explained(rocm_perf_in, folder: Path, capture: Path) -> tuple[dict, str]:
    """The --json output of explain, and its text in one line."""
    document = json.loads(rocm_perf_in(folder, "explain", "--json", capture).stdout)
    expect_published("explain", document)
    return document["capture"], " ".join(rocm_perf_in(folder, "explain", capture).stdout.split())


def test_a_capture_is_explained_without_its_program(rocm_perf, moved_capture, as_modelled):
    capture, traced = moved_capture
    found, text = as_modelled
    here = time_stack.read(traced)
    assert found["kernel"].startswith("softmax_naive(")
    assert (found["recorded_timing"], found["beyond_error"]) == ("modelled", None)
    assert "when it was captured, modelled Replay" in text and "the model" not in text
    stack = found["time_stack"]
    assert sum(part["ns"] for part in stack["parts"]) + stack["rest_ns"] == pytest.approx(stack["duration_ns"], abs=1e-3)
    assert stack["duration_ns"] == pytest.approx(here.duration_ns, rel=0.1)  # the caches were not as cold there
    assert {part["name"] for part in stack["parts"][:3]} == {part.cause for part in here.parts[:3]}
    refused = rocm_perf("explain", "--kernel", "x", capture)
    assert refused.returncode == 2 and "--kernel needs a run" in refused.stderr


LONGER = [
    (0.9, False),
    (1.5, True),
    pytest.param(1.2, False, marks=pytest.mark.slow),
    pytest.param(0.6, True, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("longer", "beyond"), LONGER)
def test_a_time_recorded_on_a_gpu_is_shown_beside_the_modelled_one(
    rocm_perf_in, moved_capture, as_modelled, tmp_path, longer, beyond
):
    """longer: the recorded time over the modelled one; the error for such kernels is less than a quarter."""
    within = model_error_of(LATENCY).within
    (capture, _), (modelled, _) = moved_capture, as_modelled
    duration = modelled["time_stack"]["duration_ns"]
    recorded = round(longer * duration)

    def on_hardware(dispatch: dict) -> None:
        dispatch["origin"] |= {"device": None, "timing": "measured", "gpu_time_ns": recorded}

    with_json(capture, tmp_path / "capture", "dispatch.json", on_hardware)
    found, text = explained(rocm_perf_in, tmp_path, tmp_path / "capture")
    assert (found["recorded_ns"], found["recorded_timing"], found["beyond_error"]) == (recorded, "measured", beyond)
    assert found["model_within"] == within and found["time_stack"] == modelled["time_stack"]  # nothing is scaled
    assert f"Took {quantities.duration(recorded)} when it was captured, measured" in text
    times = f"{quantities.duration(duration)} from cold caches, modelled: {quantities.percent(abs(1 / longer - 1))}"
    assert f"Replay {times} {'longer' if longer < 1 else 'shorter'} than recorded" in text
    assert ("do not rely on what follows" in text) == beyond and f"±{quantities.percent(within)}" in text
