"""Series of variants of one kernel whose times on a GPU were published, and how each is built and run here.

The sources are compiled as they are, except for edits that keep them from taking hours on a software device; an edit that does
not match its source is an error.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Edits = tuple[tuple[str, str], ...]  # patterns and replacements; each matches once


@dataclass(frozen=True)
class Variant:
    """One kernel.

    files: the checkout's files that it is built from; sources among them are compiled. edits: the edits of each file.
    published: its time, in any unit that all variants of the series share.
    """

    name: str
    files: tuple[str, ...]
    edits: tuple[Edits, ...]
    published: float
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """Variants of one kernel.

    repository: the repository with the sources. gpu: the GPU that the times were published for. device: how that GPU is
    modelled. arguments: the programs' arguments. kernel: the name of the kernel that is timed. rate: the pattern of a rate that
    the programs print, which is then used instead of the kernel's time; None: the time is used.
    """

    repository: str
    gpu: str
    device: tuple[str, ...]
    arguments: tuple[str, ...]
    kernel: str
    variants: tuple[Variant, ...]
    rate: str | None = None


def one_die(cus: int, gbps: float) -> tuple[str, ...]:
    """One XCD (38 CUs) with the memory bandwidth per CU of a die of the MI200 series, which has no Infinity Cache. Such a die
    reaches 85 % of its peak bandwidth.
    """
    share = round(gbps * 38 / cus)
    reached = round(0.85 * share)
    return (
        "gfx942", "timing.xcds=1", f"timing.hbm_gbps={share}", f"timing.mall_read_gbps={reached}",
        f"timing.mall_write_gbps={reached}", f"timing.mall_mixed_gbps={reached}", "timing.mall_latency_cycles=740",
    )  # fmt: skip


def _laplacian(kernel: int, tile: int | None, speed: float, streaming: bool = False) -> Variant:
    name = f"kernel {kernel}" + (f" m={tile}" if tile else "") + (" non-temporal" if streaming else "")
    edits: Edits = () if tile is None else ((r"(?m)^#define m \d+", f"#define m {tile}"),)
    if streaming:
        edits += ((r"(?s)(\n\s*)f\[pos\] = ([^;]*);", r"\1__builtin_nontemporal_store(\2, &f[pos]);"),)
    folder = "finite-difference/examples"
    files = (f"{folder}/laplacian.cpp", f"{folder}/kernel{kernel}.hpp")
    options = ("-DDOUBLE", "-include", f"kernel{kernel}.hpp")
    return Variant(name, files, (((r"num_iter = \d+", "num_iter = 2"),), edits), 1 / speed, options)


_SHARE = 16  # one in this many columns is read
_WITHOUT_FILLING = (r"(?s)  for\(int i = 0; i < n\*m; i\+\+\)\{.*?\}\n", "")
_FEWER_COLUMNS = (r"j < m\b", f"j < m / {_SHARE}")  # a number known only at run time, as in the original loop
_FEWER_FROM_LDS = (  # the LDS array keeps its size, but is filled and used for the same share of the columns
    (r"i < (\w+_allocate_lds); i", rf"i < \1 / {_SHARE}; i"),
    (r"\(j < (\w+_allocate_lds) \?", rf"(j < \1 / {_SHARE} ?"),
)


def _yax(name: str, file: str, milliseconds: float, lds: bool = False) -> Variant:
    files = (f"rocprof-compute/{file}.cpp", "rocprof-compute/1-LaunchParameters/hipCheck.h")
    edits = (_WITHOUT_FILLING, _FEWER_COLUMNS, *(_FEWER_FROM_LDS if lds else ()))
    return Variant(name, files, (edits, ()), milliseconds)


def _transpose(name: str, microseconds: float) -> Variant:
    folder = "HIP/transpose/transpose_"
    files = (f"{folder}{name}.cpp", f"{folder}kernel_{name}.cpp", f"{folder}kernels.h")
    edits = ((r"(?s)test_sizes = \{.*?\n    \};", "test_sizes = {{4096, 4096}};"), (r"iterations = 5", "iterations = 1"))
    return Variant(name.replace("_", " "), files, (edits, (), ()), microseconds)


def _shallow_water(stage: str, rate: float, steps: int = 2) -> Variant:
    """A variant with two of 500 time steps, or with more steps for the small domain."""
    file = f"Profiling-by-example/shallow-water/novice/{stage}/shallow.hip"
    return Variant(stage[2:].replace("_", " "), (file,), (((r"NSTEPS = 500", f"NSTEPS = {steps}"),),), 1 / rate)


SERIES = {
    "laplacian": Series(
        "github.com/amd/amd-lab-notes", "one die of an MI250X", one_die(110, 1638), ("512", "256", "16"), "laplacian",
        (
            _laplacian(1, None, 1.00), _laplacian(1, None, 1.19, True),
            _laplacian(2, 1, 1.00), _laplacian(2, 2, 0.98), _laplacian(2, 4, 0.94), _laplacian(2, 8, 0.92),
            _laplacian(2, 16, 0.29),
            _laplacian(3, 1, 1.20), _laplacian(3, 2, 1.28), _laplacian(3, 4, 1.34), _laplacian(3, 8, 1.37),
            _laplacian(3, 16, 0.42),
            _laplacian(4, 1, 1.20), _laplacian(4, 2, 1.28), _laplacian(4, 4, 1.34), _laplacian(4, 8, 1.39),
            _laplacian(4, 16, 1.34), _laplacian(5, 8, 1.44),
        ),
    ),
    "yAx": Series(
        "github.com/amd/HPCTrainingExamples", "an MI300A", ("mi300a",), (), "yax",
        (
            _yax("512 waves", "1-LaunchParameters/solution/solution", 9.7),
            _yax("four waves", "1-LaunchParameters/problem", 540),
            _yax("64 KB of LDS", "2-LDSOccupancyLimit/problem", 7.27, True),
            _yax("no LDS", "2-LDSOccupancyLimit/solution-no-lds/solution", 9.79),
            _yax("less LDS", "2-LDSOccupancyLimit/solution/solution", 5.80, True),
            _yax("spilled registers", "3-RegisterOccupancyLimit/problem", 10),
            _yax("fewer registers", "3-RegisterOccupancyLimit/solution/solution", 9.82),
            _yax("strided", "4-StridedAccess/problem", 9.64),
            _yax("coalesced", "4-StridedAccess/solution/solution", 12.17),
        ),
    ),
    "transpose": Series(
        "github.com/amd/HPCTrainingExamples", "an MI210", one_die(104, 1638), (), "transpose_kernel",
        (
            _transpose("read_contiguous", 4450.2), _transpose("write_contiguous", 2901.8), _transpose("tiled", 2686.4),
        ),
    ),
    "shallow water": Series(
        "github.com/amd/HPCTrainingExamples", "an MI300A", ("mi300a",), (), "compute_rhs",
        (
            _shallow_water("0_baseline", 6282.26, 8), _shallow_water("1_larger_domain", 19638.63),
            _shallow_water("2_no_device_sync", 21204.86), _shallow_water("3_block_32x32", 29400.84),
            _shallow_water("4_block_64x4", 34551.31),
        ),
        r"Throughput.*: ([\d.]+) MCUPS",
    ),
}  # fmt: skip


# The series recorded on GPUs of the MI200 series, on the software device as a gfx90a, with planes of the published size, for
# which its L2 is large enough.
GFX90A = ("gfx90a",)
SERIES_ON_GFX90A = {
    "laplacian": replace(SERIES["laplacian"], device=GFX90A, arguments=("512", "512", "16")),
    "transpose": replace(SERIES["transpose"], device=GFX90A),
}


def expect_checkout(parser: argparse.ArgumentParser, checkout: Path, series: Series) -> None:
    """End with a command-line error if the folder lacks a file of the series."""
    for file in [file for variant in series.variants for file in variant.files]:
        if not (checkout / file).is_file():
            parser.error(f"{checkout} has no {file}: name a whole checkout of {series.repository}")


def modelled_ms(series: Series, variant: Variant, checkout: Path) -> float:
    """The kernel's shortest modelled time; for a series with a rate, the inverse of the rate."""
    print(f"{series.kernel}: {variant.name}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-variants-") as name:
        folder = Path(name)
        program = built(variant, checkout, folder, _target(series))
        return _profiled(series, program, folder) if series.rate is None else 1 / _printed(series, program, series.rate)


def built(variant: Variant, checkout: Path, folder: Path, target: str) -> Path:
    """Compile the variant in `folder`; return the program."""
    for file, edits in zip(variant.files, variant.edits, strict=True):
        (folder / Path(file).name).write_text(edited((checkout / file).read_text(), edits))
    sources = [Path(file).name for file in variant.files if file.endswith((".cpp", ".hip"))]
    build = ["hipcc", "-O2", "-std=c++17", f"--offload-arch={target}", *variant.options, "-o", "program", *sources]
    subprocess.run(build, check=True, capture_output=True, cwd=folder)
    return folder / "program"


def count_per_dispatch(series: Series, variant: Variant, checkout: Path) -> dict[str, float]:
    """The kernel's counters per dispatch, without those that are unknown."""
    print(f"{series.kernel}: {variant.name}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="rocm-perf-counted-") as temporary:
        folder = Path(temporary)
        kernel = _profile(series, built(variant, checkout, folder, _target(series)), folder)
        return {name: value / kernel["dispatches"] for name, value in kernel["counters"].items() if value is not None}


def _target(series: Series) -> str:
    return "gfx90a" if series.device == GFX90A else "gfx942"


def _profile(series: Series, program: Path, folder: Path, *options: str) -> dict[str, Any]:
    command = ["profile", "--runs", "1", "--json", *options, "-o", folder / "run"]
    kernels = json.loads(_run(series, command, program))["analysis"]["kernels"]
    kernel: dict[str, Any]
    (kernel,) = [kernel for kernel in kernels if series.kernel in kernel["kernel"]]
    return kernel


def _profiled(series: Series, program: Path, folder: Path) -> float:
    return float(_profile(series, program, folder, "--no-roofline", "--no-rocprof")["durations"]["min_ns"]) / 1e6


def _printed(series: Series, program: Path, pattern: str) -> float:
    output = _run(series, ["run"], program)
    match = re.search(pattern, output)
    if match is None:
        raise ValueError(f"{pattern} is not in the program's output: {output}")
    return float(match[1])


def _run(series: Series, command: list[object], program: Path) -> str:
    device, *options = series.device
    words = [word for option in options for word in ("--device-option", option)]
    run = ["rocm-perf", *map(str, command), "--device", device, *words, program, *series.arguments]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


def edited(text: str, edits: Edits) -> str:
    for pattern, replacement in edits:
        text, count = re.subn(pattern, replacement, text)
        if count != 1:
            raise ValueError(f"{pattern} fits {count} times: a different version of the source?")
    return text
