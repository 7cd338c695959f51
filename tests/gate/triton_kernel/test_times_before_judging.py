"""A candidate's time on the captured inputs alone: the sum of its launches' times against the baseline's."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import CaptureError, SourceError
from rocm_perf_lab.gate.triton_kernel import times_before_judging as timing
from rocm_perf_lab.gate.triton_kernel.launching_script import LaunchDescription
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedBuffer, RecordedLaunch
from rocm_perf_lab.gate.triton_kernel.repeated_launches import RepetitionResult
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.times_before_judging import first_times
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptKernel, ScriptTimeoutError


class Script:
    """A script with recorded launches: each launch is recorded before the script continues."""

    def __init__(self, launches: list[RecordedLaunch | Exception]):
        self.left, self.recorded = list(launches), False

    def next(self) -> LaunchDescription | int:
        assert not self.recorded
        return LaunchDescription({"key": {"rows": 1, "columns": 2}}) if self.left else 0

    def record(self, numbers) -> RecordedLaunch:
        assert numbers == {}
        self.recorded = True
        if isinstance(self.left[0], Exception):
            raise self.left[0]
        return self.left[0]

    def go_on(self) -> None:
        del self.left[0]
        self.recorded = False


def launch(ms: str, size: int = 4) -> RecordedLaunch:
    """ms: the time of the launch, or why it fails."""
    memory = RecordedBuffer(names=["x"], size=size, shift=0, contents="0" * 64)
    about = {"code": "c" * 64, "grid": [1, 1, 1], "threads": 64, "shared": 0, "scratch_bytes": [], "arguments": []}
    return RecordedLaunch(name=ms, buffers=[memory], **about)


class Repetition:
    asked: list[tuple] = []
    forgotten = 0

    def __init__(self, device, view, files, scratch, seconds):
        assert files.is_dir() and files.parent == scratch
        Repetition.asked.append((device, view, seconds))

    def run(self, launches) -> RepetitionResult:
        times = [one.name for one in launches]
        failure = next((one for one in times if not one[0].isdigit()), None)
        return RepetitionResult(Path(), [float(one) for one in times if one[0].isdigit()], failure, [], "f00d")

    def forget(self, _repeated) -> None:
        Repetition.forgotten += 1


@pytest.fixture
def times(monkeypatch):
    """times(launches of the baseline) -> ratio(launches of a candidate), and the started scripts."""
    started = []
    with contextlib.ExitStack() as stack:

        def of(*baseline):
            launches = {"old.py": baseline}

            @contextlib.contextmanager
            def launching(kernel, device, place, files, key, view, timeout):
                assert place.is_dir() and place.parent == files.parent
                started.append((kernel.script.name, key, view, timeout, place))
                yield Script(launches[kernel.script.name])

            monkeypatch.setattr(timing, "launching", launching)
            monkeypatch.setattr(timing, "Repetition", Repetition)
            monkeypatch.setattr(timing, "software_device", lambda *_: Device(False, "gfx942", "", {}, (), ()))
            old, new = (ScriptKernel(Path(f"{name}.py"), "k", (), Path("python")) for name in ("old", "new"))
            request = TritonGateRequest(old, new, "gfx942", timeout=7.0, view=View((Path("/data"),)))
            opened = stack.enter_context(first_times(request))

            def ratio(*candidate):
                launches["new.py"] = candidate
                return opened.ratio(new)

            return ratio, started

        yield of


def test_the_baseline_is_timed_once_for_all_candidates(times):
    ratio, started = times(launch("3"), launch("1"))
    forgotten = Repetition.forgotten
    assert ratio(launch("2"), launch("1")) == 0.75 and ratio(launch("4"), launch("4")) == 2.0
    assert [one[:2] for one in started] == [("old.py", ()), *[("new.py", ("rows", "columns"))] * 2]
    assert [one[2] is None for one in started] == [True, False, False] and {one[3] for one in started} == {7.0}
    assert all(view.readable[0] == Path("/data") and place.parent in view.readable for *_, view, _, place in started[1:])
    assert len({one[4] for one in started}) == 3 and Repetition.forgotten == forgotten + 3
    assert Repetition.asked[-1] == ("gfx942", View((Path("/data"),)), 120.0)


def test_only_the_launches_that_a_verdict_covers_count(times):
    ratio, _ = times(*[launch("1")] * 4, launch("100"))
    assert ratio(*[launch("2")] * 4, launch("9"), launch("9")) == 2.0


@pytest.mark.parametrize(
    "candidate",
    [
        [launch("1")],
        [launch("1"), launch("a fault")],
        [launch("1"), launch("1", size=8)],
        [launch("1"), ScriptExitedError("ended")],
        [launch("1"), ScriptTimeoutError("took too long")],
        [launch("1"), SourceError("no launch", "")],
        [launch("1")] * 3,
    ],
)
def test_a_candidate_that_fails_in_any_way_has_no_ratio(times, candidate):
    ratio, _ = times(launch("3"), launch("1"))
    assert ratio(*candidate) is None
    assert ratio(launch("2"), launch("2")) == 1.0


@pytest.mark.parametrize(
    "baseline, said",
    [
        ([], "the baseline's launches cannot be repeated"),
        ([launch("a fault")], "the baseline's launches cannot be repeated"),
        ([ScriptExitedError("ended with status 1")], "the baseline ended with status 1"),
        ([SourceError("does not compile", "")], "the baseline does not compile"),
    ],
)
def test_without_the_baseline_s_times_there_are_no_ratios(times, baseline, said):
    ratio, started = times(*baseline)
    for _ in range(2):
        with pytest.raises(CaptureError, match=f"^{said}; "):
            ratio(launch("1"))
    assert [one[0] for one in started] == ["old.py"] * 2
