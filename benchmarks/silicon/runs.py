"""Compiles the recorded programs and runs them on the software device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rocm_perf_lab.analysis.model_error import dominant_limit
from silicon.programs import PROGRAMS, Point

HIPCC = ("hipcc", "-O3", "--offload-arch=gfx942")
ITERATIONS = 3  # after a first one that is not counted

Parameters = Mapping[str, float]  # adjustable parameters of the timing model, by name


class Runs:
    """Runs programs on `device`. With `results_file`, a JSON file for one build of the device, earlier runs are not
    repeated.
    """

    def __init__(self, sources: Path, folder: Path, device: str, jobs: int, results_file: Path | None = None) -> None:
        self._sources, self._folder, self._device, self._jobs = sources, folder, device, jobs
        self._results_file = results_file
        self._times: dict[str, float | None] = (
            json.loads(results_file.read_text()) if results_file is not None and results_file.is_file() else {}
        )

    def compile(self, points: Iterable[Point]) -> None:
        for name in sorted({PROGRAMS[point.program].source for point in points}):
            note(f"compiling {name}")
            subprocess.run([*HIPCC, "-o", self._folder / name, self._sources / f"{name}.cpp"], check=True)

    def times(self, points: Sequence[Point], parameters: Parameters) -> list[float | None]:
        """The modelled time of each point in microseconds; None if it could not be run."""
        with ThreadPoolExecutor(self._jobs) as pool:
            times = list(pool.map(lambda point: self._time(point, parameters), points))
        if self._results_file is not None:
            fresh = self._results_file.with_suffix(".new")
            fresh.write_text(json.dumps(self._times))
            os.replace(fresh, self._results_file)
        return times

    def limits(self, points: Sequence[Point], parameters: Parameters) -> list[str | None]:
        """What mostly limits each point's longest kernel, according to rocm-perf's own analysis; None if that is unknown."""
        with ThreadPoolExecutor(self._jobs) as pool:
            return list(pool.map(lambda point: self._limit(point, parameters), points))

    def _limit(self, point: Point, parameters: Parameters) -> str | None:
        options = [word for name, value in sorted(parameters.items()) for word in self._option(name, value)]
        with tempfile.TemporaryDirectory(prefix="rocm-perf-calibration-") as folder:
            command = [
                "rocm-perf",
                "profile",
                "--runs",
                "1",
                "--json",
                "-o",
                f"{folder}/run",
                "--device",
                self._device,
                *options,
            ]
            program = [str(self._folder / PROGRAMS[point.program].source), "--iterations", "1", *point.arguments]
            completed = subprocess.run([*command, *program], capture_output=True, text=True)
        if completed.returncode != 0:
            note(f"{point.name}: no limit ({(completed.stderr.strip().splitlines() or ['nothing said'])[-1]})")
            return None
        kernels = json.loads(completed.stdout)["analysis"]["kernels"]
        longest = max(kernels, key=lambda kernel: kernel["time_ms"] or 0, default=None)
        if longest is None or longest["durations"] is None:
            return None
        return dominant_limit(longest["durations"]["mean_ns"], longest["bottleneck"]["classes"][0]["name"])

    @staticmethod
    def _option(name: str, value: float) -> tuple[str, str]:
        return "--device-option", f"timing.{name}={parameter_text(value)}"

    def _time(self, point: Point, parameters: Parameters) -> float | None:
        options = [self._option(name, value) for name, value in sorted(parameters.items())]
        key = " ".join([self._device, point.name, *(option for _, option in options)])
        if key not in self._times:
            self._times[key] = self._run(point, [word for option in options for word in option])
        return self._times[key]

    def _run(self, point: Point, options: Sequence[str]) -> float | None:
        """The time that the program prints for the point, in microseconds; None if it prints none."""
        binary = str(self._folder / PROGRAMS[point.program].source)
        command = ["rocm-perf", "run", "--device", self._device, *options, binary, "--iterations", str(ITERATIONS)]
        completed = subprocess.run([*command, *point.arguments], capture_output=True, text=True)
        for line in completed.stdout.splitlines():
            fields = line.split(",")
            if fields[:2] == [point.program, point.size]:
                return float(fields[3]) * 1e3
        note(f"{point.name}: no time ({(completed.stderr.strip().splitlines() or ['nothing printed'])[-1]})")
        return None


def parameter_text(value: float) -> str:
    return str(round(value)) if value >= 10 else f"{value:.4g}"


def note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
