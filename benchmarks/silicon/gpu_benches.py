"""The microbenchmarks of RRZE's gpu-benches: which of their points are run here, and how their tables are read.

The sources are compiled as they are, except for sizes and repetitions that would take hours on a software device. The edits
change those; an edit that does not match its source is an error.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HIPCC = ("hipcc", "-O3", "-std=c++20", "--offload-arch=gfx942", "-fopenmp")
OWN_PROGRAMS = Path(__file__).parent / "microbenchmarks"
# Headers with functions that read sensors; cuda_names.h replaces these functions.
SENSORS = ("gpu-clock.cuh", "gpu-stats.h", "gpu-metrics/gpu-metrics.hpp")

Table = dict[str, float]  # the figures that a benchmark prints, by the point's name


def _merged(tables: Sequence[Table]) -> Table:
    return {point: figure for table in tables for point, figure in table.items()}


def _later_passes(tables: Sequence[Table]) -> Table:
    """The rate of passes 3 and 4, from the rates of 2 and of 4 passes, which include a launch and a first pass that misses."""
    two, four = tables
    return {point: 2 / (4 / rate - 2 / two[point]) for point, rate in four.items()}


@dataclass(frozen=True)
class Group:
    """A microbenchmark.

    edits: patterns, each of which matches once, and replacements. defines: compiler options, one for each program to be
    compiled. read: turns the printed lines into a table. gigabytes: the gigabytes that a launch moves for each of its streams,
    for rates of single launches, whose overhead matters; None for all others. merge: combines the tables that the programs
    print.
    """

    folder: str
    edits: tuple[tuple[str, str], ...]
    read: Callable[[str], Table]
    gigabytes: float | None = None
    merge: Callable[[Sequence[Table]], Table] = _merged
    defines: tuple[str, ...] = ("-DUNUSED",)

    @property
    def recorded(self) -> str:
        return f"{self.folder}/mi300x.txt"


def _columns(names: Sequence[str], step: int = 1) -> Callable[[str], Table]:
    """A reader of lines with block size, blocks per CU, ..., "GB/s:" and figures, of which every step-th is used."""

    def read(text: str) -> Table:
        table = {}
        for line in text.splitlines():
            before_unit, _, right = line.partition("GB/s:")
            words, figures = before_unit.split(), right.split()[::step][: len(names)]
            if len(figures) == len(names):
                # gpu-stream prints threads before blocks, gpu-l2-stream prints the data set after both.
                blocks, kilobytes = (words[1], words[3]) if step > 1 else (words[2], "")
                row = f"{words[0]} x {blocks}" + (f", {kilobytes} kB" if kilobytes else "")
                table |= {f"{name} {row}": float(figure) for name, figure in zip(names, figures, strict=True)}
        return table

    return read


def _caches(text: str) -> Table:
    return {f"{size} kB": float(rate) for size, rate in re.findall(r"(?m)^ *(\d+) kB .*?([\d.]+) GB/s", text)}


def _latencies(text: str) -> Table:
    """The cycles of one hop, by the size of the list in the recording's format."""
    rows = re.findall(r"(?m)^ *\d+ +\d+ +([\d.]+) +[\d.]+ +([\d.]+)", text)
    return {f"{float(size):.0f} kB": float(cycles) for size, cycles in rows}


def _rates(text: str) -> Table:
    return {f"{n} FMAs": float(rate) for n, rate in re.findall(r"blocks +(\d+) its.*?(\d+) GF/s", text)}


# Numbers of arrays that a kernel reads or writes, as gpu-benches counts them: a triad has four.
STREAMS = {"init": 1, "read": 1, "write": 1, "scale": 2, "triad": 4, "3pt": 2, "5pt": 2}
_ELEMENTS = 40 * 1024 * 1024  # of each array of the streams: 320 MB, more than the Infinity Cache
_L2_ELEMENTS = 24 * 1024 * 1024

GROUPS = {
    "latency": Group(
        "gpu-latency",
        (
            (r'asm\("mov[^;]*;[^;]*;', "r = 0;"),
            (r"std::mt19937 g\(rd\(\)\)", "std::mt19937 g(1)"),
            (r"for \(int64_t LEN = 16;[^{]*\{", "for (int64_t LEN : {59, 161, 2106, 20838, 93072, 316880, 723496, 2910000}) {"),
            (r"\(int64_t\)100000", "(int64_t)20000"),
            (r"i < 21", "i < 1"),
        ),
        _latencies,
    ),
    "stream": Group(
        "gpu-stream",
        (
            (r"max_buffer_size = [^;]*", f"max_buffer_size = {_ELEMENTS}"),
            (r"iter < 31", "iter < 1"),
            (
                r"(?s)  measureKernels\(kernels, 16, 1\);.*?(?=  GPU_ERROR\(cudaFree)",
                "".join(f"measureKernels(kernels, {block}, {blocks});" for block, blocks in
                        ((16, 1), (64, 1), (64, 2), (128, 2), (256, 2), (448, 2), (1024, 2))),
            ),
        ),
        _columns(("init", "read", "scale", "triad", "3pt", "5pt")),
        gigabytes=_ELEMENTS * 8e-9,
    ),
    "l2-stream": Group(
        "gpu-l2-stream",
        (
            (r"iteration_count = [^;]*", f"iteration_count = {_L2_ELEMENTS}"),
            (r"max_buffer_size = [^;]*", f"max_buffer_size = {_L2_ELEMENTS}"),
            (r"iter < 11", "iter < 1"),
            (r"for_sequence<210>\(\[\]\(auto i\) \{", "for_sequence<4>([](auto k) { constexpr int i = k * 25;"),
            (
                r"(?s)    measureKernels\(kernels, 96, 1, length\);.*?(?=    std::cout << \"\\n\")",
                "".join(f"measureKernels(kernels, {block}, {blocks}, length);" for block, blocks in
                        ((96, 1), (128, 2), (256, 2), (512, 2), (1024, 2))),
            ),
        ),
        _columns(("read", "scale", "triad", "write"), 3),
        gigabytes=_L2_ELEMENTS * 8e-9,
    ),
    "cache": Group(
        "gpu-cache",
        (
            (r"\(size_t\)1000000000 / N \+ 2", "(size_t)PASSES * (N < 65536 ? 65536 / N : 1)"),
            (r"i < 15", "i < 1"),
            (
                r"(?s)  measure<128, 128>\(\);.*(?=\})",
                "measure<512, 512>(); measure<2 * 512, 512>(); measure<16 * 512, 512>(); measure<expSeries(5), 512>();"
                "measure<expSeries(12), 512>(); measure<expSeries(27), 512>(); measure<expSeries(31), 512>();",
            ),
        ),
        _caches,
        defines=("-DPASSES=2", "-DPASSES=4"),
        merge=_later_passes,
    ),
    "roofline": Group(
        "gpu-roofline",
        ((r"M = 4000", "M = 96"), (r"iters = 1000", "iters = 1")),
        _rates,
        defines=tuple(f"-DPARN={count}" for count in (4, 14, 32, 80, 178, 412, 1012)),
    ),
}  # fmt: skip


def paired(measured: Table, recorded: Table) -> list[tuple[str, float, float]]:
    """Name, recorded figure and modelled figure of each point. gpu-latency draws its sizes at random, so the nearest recorded
    size is used; a size with none within 10 % is left out.
    """
    pairs = []
    for point, figure in measured.items():
        if point in recorded:
            pairs.append((point, recorded[point], figure))
        elif size := re.fullmatch(r"(\d+) kB", point):
            near = min(recorded, key=lambda name: abs(int(name.split()[0]) - int(size[1])))
            if abs(int(near.split()[0]) / int(size[1]) - 1) < 0.1:
                pairs.append((near, recorded[near], figure))
    return pairs


def compiled(group: Group, checkout: Path, folder: Path) -> list[Path]:
    """Compile the group's programs in `folder` from an edited copy of the sources."""
    home = folder / group.folder
    home.mkdir(parents=True)
    (folder / "gpu-metrics").mkdir(exist_ok=True)
    for name in ("dtime.hpp", "gpu-error.h", "MeasurementSeries.hpp"):
        (folder / name).write_text((checkout / name).read_text())
    for name in SENSORS:
        (folder / name).write_text("")
    for name in ("cuda_runtime.h", "cuComplex.h"):
        (home / name).write_text("")
    source = home / "main.cu"
    source.write_text(edited((checkout / group.folder / "main.cu").read_text(), group.edits))
    binaries = []
    for number, define in enumerate(group.defines):
        binaries.append(home / f"program{number}")
        build = [*HIPCC, define, "-include", OWN_PROGRAMS / "cuda_names.h", "-I", home, "-x", "hip", source, "-o", binaries[-1]]
        subprocess.run(build, check=True, capture_output=True)
    return binaries


def edited(text: str, edits: Sequence[tuple[str, str]]) -> str:
    for pattern, replacement in edits:
        text, count = re.subn(pattern, lambda _, new=replacement: new, text)
        if count != 1:
            raise ValueError(f"{pattern} fits {count} times: a different version of the source?")
    return text
