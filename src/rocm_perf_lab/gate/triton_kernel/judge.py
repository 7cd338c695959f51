"""Reaches the verdict: follows both scripts from launch to launch and judges the first ones for several sizes and inputs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import CaptureError, NoKernelsError, SourceError
from rocm_perf_lab.gate.triton_kernel.device import software_device
from rocm_perf_lab.gate.triton_kernel.launch_judgement import LaunchJudgement, Note, words_of
from rocm_perf_lab.gate.triton_kernel.launching_script import LaunchDescription, LaunchingScript, launching
from rocm_perf_lab.gate.triton_kernel.rejection import LAUNCH, JudgementRecord, RejectedError
from rocm_perf_lab.gate.triton_kernel.repeated_launches import Repetition
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.steps import VerdictBuilder
from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.gate.verdict_document import APPLICATION
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError

MAX_LAUNCHES = 4
MIN_SECONDS = 120.0


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
        self._record = JudgementRecord()
        repetition = Repetition(request.device, request.view, files, scratch, MIN_SECONDS)
        self._launches = LaunchJudgement(request, repetition, files, self._record, note)

    def verdict(self) -> Verdict:
        verdicts = VerdictBuilder(self._request, self._record)
        try:
            return verdicts.of_statuses(*self._follow_scripts())
        except RejectedError as rejection:
            return verdicts.of_rejection(rejection)

    def _follow_scripts(self) -> tuple[int, int]:
        """The exit statuses of both scripts, after all launches have been judged."""
        request, scratch, seconds = self._request, self._scratch, self._request.timeout
        with launching(request.baseline, self._device, scratch, self._files, (), None, seconds) as baseline:
            first = self._next_of_baseline(baseline)
            if isinstance(first, int):
                message = f"{request.baseline.script} launches no kernel called {request.baseline.kernel} (status {first})"
                raise NoKernelsError(message, "check the name, and that the script runs with `rocm-perf run`")
            key = tuple(first.key)
            view = request.view
            with launching(request.candidate, self._device, scratch, self._files, key, view, seconds) as candidate:
                return self._follow_both(first, baseline, candidate)

    def _follow_both(
        self, baseline_launch: LaunchDescription | int, baseline: LaunchingScript, candidate: LaunchingScript
    ) -> tuple[int, int]:
        count = 0
        while not isinstance(baseline_launch, int):
            candidate_launch = self._next_of_candidate(candidate, count)
            if isinstance(candidate_launch, int):
                raise RejectedError(
                    LAUNCH,
                    f"it ends with status {candidate_launch} and does not launch the kernel with "
                    f"{words_of(baseline_launch.key)}",
                )
            if candidate_launch.key != baseline_launch.key:
                raise RejectedError(
                    LAUNCH,
                    f"it is launched with {words_of(candidate_launch.key)}, the baseline with {words_of(baseline_launch.key)}",
                )
            if (name := _array_of_other_type(baseline_launch, candidate_launch)) is not None:
                raise RejectedError(
                    LAUNCH, f"{name} is {candidate_launch.types[name]}, but {baseline_launch.types[name]} in the baseline"
                )
            count += 1
            if count <= MAX_LAUNCHES:
                self._launches.judge(baseline_launch, candidate_launch, baseline, candidate)
            baseline.go_on()
            candidate.go_on()
            baseline_launch = self._next_of_baseline(baseline)
        candidate_launch = self._next_of_candidate(candidate, count)
        if not isinstance(candidate_launch, int):
            raise RejectedError(
                LAUNCH, f"it launches the kernel with {words_of(candidate_launch.key)}, which the baseline does not"
            )
        return baseline_launch, candidate_launch

    def _next_of_baseline(self, script: LaunchingScript) -> LaunchDescription | int:
        try:
            return script.next()
        except (ScriptExitedError, ScriptTimeoutError) as error:
            raise CaptureError(f"the baseline {error}", "make it run to its end with `rocm-perf run` first") from error

    def _next_of_candidate(self, script: LaunchingScript, count: int) -> LaunchDescription | int:
        try:
            return script.next()
        except (ScriptExitedError, ScriptTimeoutError, SourceError) as error:
            raise RejectedError(APPLICATION if count else LAUNCH, f"it {error}") from error


def _array_of_other_type(baseline_launch: LaunchDescription, candidate_launch: LaunchDescription) -> str | None:
    """The name of an array that has a different number type in the candidate's launch; None if there is none."""
    return next((name for name, kind in baseline_launch.types.items() if candidate_launch.types.get(name, kind) != kind), None)
