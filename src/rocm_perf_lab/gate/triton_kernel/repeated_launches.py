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
class Repeated:
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

    def run(self, launches: Sequence[RecordedLaunch], options: Sequence[str] = ()) -> Repeated:
        """Run all these launches in one process, which ends at the first failure. options: options for the software device, in
        addition to its memory check. Raises NoCageError.
        """
        place = Path(tempfile.mkdtemp(dir=self._scratch))
        (results := place / "results").mkdir()
        (reports := place / "reports").mkdir()
        job = {
            "files": str(self._files),
            "results": str(results),
            "runs": [one.model_dump(exclude_none=True) for one in launches],
        }
        (place / "job.json").write_text(json.dumps(job))
        device = devices.select(self._device, place, (devices.MEMORY_CHECK, *options))
        reported = {
            devices.RACES_VARIABLE: str(reports / "races"),
            devices.FOREIGN_ACCESSES_VARIABLE: str(reports / "foreign"),
            **kernel_failures.variables(reports / "failures"),
        }
        environment = environment_of(device.environment(os.environ)) | reported
        command = [sys.executable, "-m", "rocm_perf_triton.recorded", str(place / "job.json")]
        view = View(
            (*self._view.readable, place, self._files),
            (results, reports),
            keep_env=("PYTHONPATH",),
            trusted=self._view.trusted,
        )
        ended = cage.run(command, place, view, environment, CageLimits(seconds=self._seconds))
        lines = [json.loads(line) for line in ended.stdout.decode().splitlines() if line.startswith("{")]
        failure = None
        if len(lines) < len(launches) or not ended.succeeded or (reports / "foreign").exists():
            said = [*_lines(reports / "failures"), *_lines(reports / "foreign"), *_last(ended.stderr)]
            failure = said[0] if said and not ended.limit else ended.complaint
        times = [float(line["ms"]) for line in lines]
        return Repeated(results, times, failure, _lines(reports / "races"), lines[0]["parameters"] if lines else None)

    def forget(self, repeated: Repeated) -> None:
        shutil.rmtree(repeated.folder.parent, ignore_errors=True)


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def _last(stderr: bytes) -> list[str]:
    return stderr.decode(errors="replace").strip().splitlines()[-1:]
