"""Reaches the verdict: follows both scripts from launch to launch and judges the first ones for several sizes and inputs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import CaptureError, NoKernelsError, SourceError
from rocm_perf_lab.gate.triton_kernel.device import software_device
from rocm_perf_lab.gate.triton_kernel.launch_judgement import LaunchJudgement, Note, words_of
from rocm_perf_lab.gate.triton_kernel.launching_script import Launched, LaunchingScript, launching
from rocm_perf_lab.gate.triton_kernel.rejection import LAUNCH, JudgementRecord, Rejected
from rocm_perf_lab.gate.triton_kernel.repeated_launches import Repetition
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.steps import Steps
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.gate.verdict_document import APPLICATION
from rocm_perf_lab.triton_launches import ScriptExited, ScriptTimeout

MOST_LAUNCHES = 4
LEAST_SECONDS = 120.0


def judge(request: TritonGateRequest, note: Note) -> Verdict:
    """Judge the candidate's launches. Only problems with the baseline or the machine raise errors.

    Raises NoKernelsError, NoCageError, UnavailableError, and CaptureError if the baseline's launches cannot be repeated.
    """
    with tempfile.TemporaryDirectory(prefix="rocm-perf-gate-") as name:
        scratch = Path(name)
        return _Judgement(request, software_device(request.device, scratch), scratch, note).verdict()


class _Judgement:
    def __init__(self, request: TritonGateRequest, device: Device, scratch: Path, note: Note):
        self._request, self._device, self._scratch = request, device, scratch
        (files := scratch / "files").mkdir()
        self._files = files
        self._found = JudgementRecord()
        repetition = Repetition(request.device, request.view, files, scratch, LEAST_SECONDS)
        self._launches = LaunchJudgement(request, repetition, files, self._found, note)

    def verdict(self) -> Verdict:
        steps = Steps(self._request, self._found)
        try:
            return steps.of_statuses(*self._follow())
        except Rejected as why:
            return steps.of_rejection(why)

    def _follow(self) -> tuple[int, int]:
        """The exit statuses of both scripts, after all launches have been judged."""
        request, scratch, seconds = self._request, self._scratch, self._request.timeout
        with launching(request.baseline, self._device, scratch, self._files, (), None, seconds) as baseline:
            ours = self._next_of_baseline(baseline)
            if isinstance(ours, int):
                what = f"{request.baseline.script} launches no kernel called {request.baseline.kernel} (status {ours})"
                raise NoKernelsError(what, "check the name, and that the script runs with `rocm-perf run`")
            key = tuple(ours.key)
            view = request.view
            with launching(request.candidate, self._device, scratch, self._files, key, view, seconds) as candidate:
                return self._follow_both(ours, baseline, candidate)

    def _follow_both(self, ours: Launched | int, baseline: LaunchingScript, candidate: LaunchingScript) -> tuple[int, int]:
        count = 0
        while not isinstance(ours, int):
            theirs = self._next_of_candidate(candidate, count)
            if isinstance(theirs, int):
                raise Rejected(LAUNCH, f"it ends with status {theirs} and does not launch the kernel with {words_of(ours.key)}")
            if theirs.key != ours.key:
                raise Rejected(LAUNCH, f"it is launched with {words_of(theirs.key)}, the baseline with {words_of(ours.key)}")
            if (name := _other_type(ours, theirs)) is not None:
                raise Rejected(LAUNCH, f"{name} is {theirs.types[name]}, but {ours.types[name]} in the baseline")
            count += 1
            if count <= MOST_LAUNCHES:
                self._launches.judge(ours, theirs, baseline, candidate)
            baseline.go_on()
            candidate.go_on()
            ours = self._next_of_baseline(baseline)
        theirs = self._next_of_candidate(candidate, count)
        if not isinstance(theirs, int):
            raise Rejected(LAUNCH, f"it launches the kernel with {words_of(theirs.key)}, which the baseline does not")
        return ours, theirs

    def _next_of_baseline(self, script: LaunchingScript) -> Launched | int:
        try:
            return script.next()
        except (ScriptExited, ScriptTimeout) as error:
            raise CaptureError(f"the baseline {error}", "make it run to its end with `rocm-perf run` first") from error

    def _next_of_candidate(self, script: LaunchingScript, count: int) -> Launched | int:
        try:
            return script.next()
        except (ScriptExited, ScriptTimeout, SourceError) as error:
            raise Rejected(APPLICATION if count else LAUNCH, f"it {error}") from error


def _other_type(ours: Launched, theirs: Launched) -> str | None:
    """The name of an array that has a different number type in the candidate's launch; None if there is none."""
    return next((name for name, kind in ours.types.items() if theirs.types.get(name, kind) != kind), None)
