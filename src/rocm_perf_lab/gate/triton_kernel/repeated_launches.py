"""Repeats recorded launches in a separate process, in the cage, on the software device."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import cage
from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import kernel_failures
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch
from rocm_perf_lab.triton_launches import environment_of


@dataclass(frozen=True)
class RepetitionResult:
    """The results of the launches. ms: modelled times of the launches that succeeded, in order. failure: why the next launch
    failed; None if all succeeded. races: lines from the race check. parameters: hash of the timing model's parameters. folder:
    holds the memory contents after the launches; see rocm_perf_triton.recorded.
    """

    folder: Path
    ms: list[float]
    failure: str | None
    races: list[str]
    parameters: str | None


class Repetition:
    """Repeats launches with the same settings. files: the folder with code and memory contents. scratch: the folder for
    results, which can be large.
    """

    def __init__(self, device: str, view: View, files: Path, scratch: Path, seconds: float):
        self._device, self._view, self._files, self._scratch, self._seconds = device, view, files, scratch, seconds

    def run(self, launches: Sequence[RecordedLaunch], options: Sequence[str] = ()) -> RepetitionResult:
        """Run all these launches in one process, which ends at the first failure. options: options for the software device, in
        addition to its memory check. Raises NoCageError.
        """
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        (results := folder / "results").mkdir()
        (reports := folder / "reports").mkdir()
        job = {
            "files": str(self._files),
            "results": str(results),
            "runs": [launch.model_dump(exclude_none=True) for launch in launches],
        }
        (folder / "job.json").write_text(json.dumps(job))
        device = devices.select(self._device, folder, (devices.MEMORY_CHECK, *options))
        reported = {
            devices.RACES_VARIABLE: str(reports / "races"),
            devices.FOREIGN_ACCESSES_VARIABLE: str(reports / "foreign"),
            **kernel_failures.variables(reports / "failures"),
        }
        environment = environment_of(device.environment(os.environ)) | reported
        command = [sys.executable, "-m", "rocm_perf_triton.recorded", str(folder / "job.json")]
        view = View(
            (*self._view.readable, folder, self._files),
            (results, reports),
            keep_env=("PYTHONPATH",),
            trusted=self._view.trusted,
        )
        ended = cage.run(command, folder, view, environment, CageLimits(seconds=self._seconds))
        lines = [json.loads(line) for line in ended.stdout.decode().splitlines() if line.startswith("{")]
        failure = None
        if len(lines) < len(launches) or not ended.succeeded or (reports / "foreign").exists():
            messages = [*_read_lines(reports / "failures"), *_read_lines(reports / "foreign"), *_last_line(ended.stderr)]
            failure = messages[0] if messages and not ended.limit else ended.complaint
        times = [float(line["ms"]) for line in lines]
        return RepetitionResult(
            results, times, failure, _read_lines(reports / "races"), lines[0]["parameters"] if lines else None
        )

    def forget(self, repeated: RepetitionResult) -> None:
        shutil.rmtree(repeated.folder.parent, ignore_errors=True)


def _read_lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def _last_line(stderr: bytes) -> list[str]:
    return stderr.decode(errors="replace").strip().splitlines()[-1:]
