"""Modelled times of public HIP programs beside times recorded on an MI300A.

    python benchmarks/calibration.py SOURCES TIMES [--only PROGRAM...] [--all] [--jobs N] [--json]

SOURCES is `gpu_perf_scripts/` of a checkout of github.com/sarchlab/mgpusim, whose HIP programs are compiled unchanged. TIMES is
a CSV file with the columns kernel_name, problem_size and avg_ms (milliseconds by hipEvents around one iteration). Nothing of
either is in this repository. Problem sizes for which the device would take long are left out unless --all is given. An MI300A
has the CUs of an MI300X, but 228 of them, on 6 XCDs.

Printed for each program: the number of points, the mean of the absolute errors and their bias, each relative to the recorded
time; for all points also the median, and the sum of the errors over the sum of the times. With --json: each point.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

HIPCC = ("hipcc", "-O3", "--offload-arch=gfx942")
ITERATIONS = 3  # after one that is not counted


@dataclass(frozen=True)
class Program:
    """A recorded program. size: pattern of a problem size. options: the program's, one for each group of the pattern. most:
    largest product of all groups that is quick enough to execute here.
    """

    source: str
    size: str
    options: tuple[str, ...]
    most: int

    def values(self, size: str) -> tuple[int, ...] | None:
        found = re.fullmatch(self.size, size)
        return None if found is None else tuple(map(int, found.groups()))


PROGRAMS = {
    "vectoradd": Program("vectoradd", r"(\d+)", ("--size",), 1 << 22),
    "relu": Program("relu", r"(\d+)", ("--size",), 1 << 23),
    "memcopy_d2d": Program("memcopy", r"(\d+)MB", ("--size",), 128),
    "memcopy_h2d": Program("memcopy", r"(\d+)MB", ("--size",), 128),
    "memcopy_d2h": Program("memcopy", r"(\d+)MB", ("--size",), 128),
    "floydwarshall": Program("floydwarshall", r"(\d+)_nodes", ("--nodes",), 192),
    "fir": Program("fir", r"(\d+)_taps(\d+)", ("--length", "--taps"), 1 << 23),
    "bitonicsort": Program("bitonicsort", r"(\d+)", ("--size",), 1 << 16),
    "kmeans": Program("kmeans", r"pts(\d+)_feat(\d+)_clus(\d+)", ("--points", "--features", "--clusters"), 1 << 22),
    "stencil2d": Program("stencil2d", r"(\d+)x\1", ("--size",), 1024),
    "matrixmultiplication": Program("matrixmultiplication", r"(\d+)x\1x\1", ("--size",), 384),
    "im2col": Program("im2col", r"N1_C1_(\d+)x\1_k(\d+)x\2", ("--size", "--mask"), 1 << 12),
}


@dataclass(frozen=True)
class Point:
    """One problem size. Times in microseconds; modelled: None if it could not be run."""

    program: str
    size: str
    recorded_us: float
    modelled_us: float | None = None

    @property
    def error(self) -> float:
        assert self.modelled_us is not None
        return self.modelled_us / self.recorded_us - 1


def main() -> None:
    given = _arguments()
    points = list(_chosen(given.times, given.only, given.all))
    with tempfile.TemporaryDirectory(prefix="rocm-perf-calibration-") as folder:
        binaries = _compiled(given.sources, {PROGRAMS[point.program].source for point in points}, Path(folder))
        with ThreadPoolExecutor(given.jobs) as pool:
            points = list(pool.map(lambda point: _modelled(point, binaries), points))
    run = [point for point in points if point.modelled_us is not None]
    print(json.dumps([asdict(point) for point in points], indent=1) if given.json else "\n".join(_table(run)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path)
    parser.add_argument("times", type=Path)
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", default=list(PROGRAMS))
    parser.add_argument("--all", action="store_true", help="also the sizes that take long")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if unknown := sorted(set(given.only) - set(PROGRAMS)):
        parser.error(f"--only: {', '.join(unknown)} is not among {', '.join(PROGRAMS)}")
    if not given.times.is_file():
        parser.error(f"{given.times} is not a file: name the recorded times")
    if lacking := sorted({f"{PROGRAMS[name].source}.cpp" for name in given.only if not _source(given, name).is_file()}):
        parser.error(f"{given.sources} has no {', '.join(lacking)}: name gpu_perf_scripts/ of a checkout")
    return given


def _source(given: argparse.Namespace, name: str) -> Path:
    return Path(given.sources, f"{PROGRAMS[name].source}.cpp")


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _chosen(times: Path, only: Sequence[str], large: bool) -> Iterator[Point]:
    with times.open(newline="") as file:
        for row in csv.DictReader(file):
            name, size = row["kernel_name"], row["problem_size"]
            values = PROGRAMS[name].values(size) if name in PROGRAMS and name in only else None
            if values is not None and (large or math.prod(values) <= PROGRAMS[name].most):
                yield Point(name, size, float(row["avg_ms"]) * 1e3)


def _compiled(sources: Path, names: set[str], folder: Path) -> dict[str, Path]:
    for name in sorted(names):
        _note(f"compiling {name}")
        subprocess.run([*HIPCC, "-o", folder / name, sources / f"{name}.cpp"], check=True)
    return {name: folder / name for name in names}


def _modelled(point: Point, binaries: dict[str, Path]) -> Point:
    """The point with the program's own time on the software device; other rows that it prints are passed over."""
    program = PROGRAMS[point.program]
    values = program.values(point.size) or ()
    words = [word for option, value in zip(program.options, values, strict=True) for word in (option, str(value))]
    command = ["rocm-perf", "run", "--device", "gfx942", str(binaries[program.source]), "--iterations", str(ITERATIONS), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        fields = line.split(",")
        if fields[:2] == [point.program, point.size]:
            found = Point(point.program, point.size, point.recorded_us, float(fields[3]) * 1e3)
            _note(f"{point.program} {point.size}: {found.recorded_us:.1f} us recorded, {found.modelled_us:.1f} us modelled")
            return found
    _note(f"{point.program} {point.size}: no time ({(done.stderr.strip().splitlines() or ['nothing printed'])[-1]})")
    return point


def _table(points: Sequence[Point]) -> Iterator[str]:
    yield "| Program | Points | Mean error | Bias |"
    yield "|---|---|---|---|"
    for name in sorted({point.program for point in points}):
        errors = [point.error for point in points if point.program == name]
        yield f"| {name} | {len(errors)} | {_mean_size(errors):.1%} | {statistics.mean(errors):+.1%} |"
    if not points:
        return
    errors = [point.error for point in points]
    weighted = sum(abs(point.error) * point.recorded_us for point in points) / sum(point.recorded_us for point in points)
    yield f"| all | {len(errors)} | {_mean_size(errors):.1%} | {statistics.mean(errors):+.1%} |"
    yield ""
    yield f"Median {statistics.median(map(abs, errors)):.1%}, weighted by time {weighted:.1%}."


def _mean_size(errors: Sequence[float]) -> float:
    return statistics.mean(map(abs, errors))


if __name__ == "__main__":
    main()
