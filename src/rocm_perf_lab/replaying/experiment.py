"""Experiments that show how a captured dispatch spends its time; the program from which it was captured is not needed."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.analysis.model_error import UNCALIBRATED, TimingDeviation, limit_of_stack, model_error_of
from rocm_perf_lab.analysis.thread_trace import time_stack
from rocm_perf_lab.analysis.thread_trace.parse import UnreadableFileError
from rocm_perf_lab.analysis.thread_trace.time_stack import TimeStack
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.isolate.capture_directory import Capture
from rocm_perf_lab.replaying.replay_process import error_of, run_json


@dataclass(frozen=True)
class Experiment:
    """recorded_ns: time of the captured dispatch. measured: whether it was measured on a GPU. stack: the time stack of its
    replay on the software device, from cold caches. error: the model's error for such kernels, or why the error is not known.
    """

    capture: Capture
    recorded_ns: int
    measured: bool
    stack: TimeStack
    error: TimingDeviation | str

    @property
    def beyond_error(self) -> bool | None:
        """Whether a measured time differs from the modelled time by more than the model's error; None if that cannot be
        determined.
        """
        if not self.measured or isinstance(self.error, str) or not self.recorded_ns:
            return None
        ratio = self.stack.duration_ns / self.recorded_ns
        return max(ratio, 1 / ratio) > 1 + self.error.within


def experiment_with(capture: Capture) -> Experiment:
    """Replay a capture on the software device, with experiments. Raises what replaying.replay_process.replay() raises."""
    with tempfile.TemporaryDirectory(prefix="rocm-perf-") as folder:
        variables = {devices.THREAD_TRACE_VARIABLE: folder}
        options = ["--iterations", "1", "--warmup", "0", "--flush-cache"]
        choice = devices.software_choice(capture.target)
        completed = run_json("full-vm", capture, options, choice, more=variables)
        if completed.returncode != 0:
            raise error_of(completed)
        stack = _stack(Path(folder))
    measured = capture.dispatch["origin"]["timing"] == "measured"
    error = model_error_of(limit_of_stack(stack)) if choice == devices.SOFTWARE_TARGET else UNCALIBRATED
    return Experiment(capture, capture.gpu_time_ns, measured, stack, error)


def _stack(folder: Path) -> TimeStack:
    traced = sorted(folder.glob("ui_output_*"))
    if not traced:
        raise ReplayFailedError("the software device wrote no trace of the replay", "see docs/REPLAY.md")
    try:
        return time_stack.read(traced[0])
    except UnreadableFileError as error:
        raise ReplayFailedError(f"the experiments cannot be read: {error}", "see docs/REPLAY.md") from error
