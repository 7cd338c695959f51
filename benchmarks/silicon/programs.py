"""The recorded programs, and the problem sizes that were recorded."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A recorded program.

    size: the pattern of a problem size. options: the program's options, one for each group of the pattern. quick_limit: the
    largest product of all groups that runs quickly enough here.
    """

    source: str
    size: str
    options: tuple[str, ...]
    quick_limit: int

    def values(self, size: str) -> tuple[int, ...] | None:
        match = re.fullmatch(self.size, size)
        return None if match is None else tuple(map(int, match.groups()))


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
    """One problem size of a program. recorded_us: the mean time of an iteration in microseconds, see recorded_mean()."""

    program: str
    size: str
    recorded_us: float

    @property
    def name(self) -> str:
        return f"{self.program} {self.size}"

    @property
    def arguments(self) -> list[str]:
        program = PROGRAMS[self.program]
        values = program.values(self.size) or ()
        return [word for option, value in zip(program.options, values, strict=True) for word in (option, str(value))]


def recorded_points(times: Path, programs: Sequence[str], large: bool) -> Iterator[Point]:
    """The points of `programs` in `times`; with `large`, also those that take long to execute here."""
    with times.open(newline="") as file:
        for row in csv.DictReader(file):
            name, size = row["kernel_name"], row["problem_size"]
            values = PROGRAMS[name].values(size) if name in PROGRAMS and name in programs else None
            if values is not None and (large or math.prod(values) <= PROGRAMS[name].quick_limit):
                yield Point(name, size, recorded_mean(row) * 1e3)


def recorded_mean(row: dict[str, str]) -> float:
    """The mean of the iterations without the longest, in milliseconds. One of 51 copies to the host took 33 to 43 ms, whatever
    its size, while all others took as long as copies to the device: an effect of the host that would triple the mean.
    """
    count, mean = int(row["iterations"]), float(row["avg_ms"])
    return mean if count < 2 else (mean * count - float(row["max_ms"])) / (count - 1)
