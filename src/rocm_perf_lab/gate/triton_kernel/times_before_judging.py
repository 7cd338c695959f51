"""Times a candidate's kernel on the captured inputs without judging it: its script is started once, and its launches are
repeated once.

The verdict reports the time of the same launches, so a candidate that saves too little time here need not be judged.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocm_perf_lab.cage import View
from rocm_perf_lab.errors import CaptureError, SourceError
from rocm_perf_lab.gate.triton_kernel.device import software_device
from rocm_perf_lab.gate.triton_kernel.judge import MAX_LAUNCHES, MIN_SECONDS
from rocm_perf_lab.gate.triton_kernel.launching_script import launching
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch, on_memory_of
from rocm_perf_lab.gate.triton_kernel.repeated_launches import Repetition
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptKernel, ScriptTimeoutError

_SCRIPT_ERRORS = (ScriptExitedError, ScriptTimeoutError, SourceError)


@contextmanager
def first_times(request: TritonGateRequest) -> Iterator[FirstTimes]:
    """Yields a FirstTimes. Raises UnavailableError; errors in the baseline are raised when the first candidate is timed."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-gate-") as scratch:
        yield FirstTimes(request, Path(scratch))


class FirstTimes:
    """Times candidates; may be used from several threads."""

    def __init__(self, request: TritonGateRequest, scratch: Path):
        self._request, self._scratch = request, scratch
        self._device = software_device(request.device, scratch)
        (files := scratch / "files").mkdir()
        self._files = files
        self._repetition = Repetition(request.device, request.view, files, scratch, MIN_SECONDS)
        self._baseline: tuple[tuple[str, ...], list[RecordedLaunch], float] | None = None
        self._lock = threading.Lock()

    def ratio(self, candidate: ScriptKernel) -> float | None:
        """The kernel's time, candidate / baseline; None if the candidate fails in any way.

        A full judgement then reports how it fails. Raises NoCageError, and CaptureError if the baseline's launches cannot be
        repeated.
        """
        with self._lock:
            key, launches, before = self._baseline = self._baseline or self._time_baseline()
        try:
            _, candidate_launches = self._record_launches(candidate, key, self._request.view.showing((self._scratch,)))
        except _SCRIPT_ERRORS:
            return None
        if len(candidate_launches) != len(launches):
            return None
        placed = [
            on_memory_of(candidate_launch, baseline_launch)
            for candidate_launch, baseline_launch in zip(candidate_launches, launches, strict=True)
        ]
        after = self._milliseconds([launch for launch in placed if not isinstance(launch, str)])
        return None if after is None or any(isinstance(launch, str) for launch in placed) else after / before

    def _time_baseline(self) -> tuple[tuple[str, ...], list[RecordedLaunch], float]:
        try:
            key, launches = self._record_launches(self._request.baseline, (), None)
        except _SCRIPT_ERRORS as error:
            raise CaptureError(f"the baseline {error}", "make it run to its end with `rocm-perf run` first") from error
        before = self._milliseconds(launches) if launches else None
        if before is None:
            raise CaptureError("the baseline's launches cannot be repeated", "see `rocm-perf gate --triton`")
        return key, launches, before

    def _record_launches(
        self, kernel: ScriptKernel, key: tuple[str, ...], view: View | None
    ) -> tuple[tuple[str, ...], list[RecordedLaunch]]:
        """The names in the first launch's key, and the launches that a verdict covers."""
        folder, launches = Path(tempfile.mkdtemp(dir=self._scratch)), list[RecordedLaunch]()
        with launching(kernel, self._device, folder, self._files, key, view, self._request.timeout) as script:
            while len(launches) < MAX_LAUNCHES and not isinstance(launched := script.next(), int):
                key = key or tuple(launched.key)
                launches.append(script.record({}))
                script.go_on()
        return key, launches

    def _milliseconds(self, launches: list[RecordedLaunch]) -> float | None:
        repeated = self._repetition.run(launches)
        self._repetition.forget(repeated)
        return sum(repeated.ms) if repeated.failure is None else None
