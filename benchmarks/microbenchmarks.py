"""Modelled figures of public microbenchmarks compared with those recorded on an MI300X. No parameter was fitted to any of them.

    python benchmarks/microbenchmarks.py CHECKOUT [--only GROUP...] [--json]

CHECKOUT is a checkout of github.com/RRZE-HPC/gpu-benches, which holds both the programs and their recorded output (mi300x.txt).
It is not part of this repository. The programs are compiled unchanged, except for sizes and repetitions
(silicon/gpu_benches.py), and run on the device gfx942.

- latency: one lane follows a list of pointers through 7 kB to 400 MB; in cycles per hop
- cache: one workgroup on each CU reads the same 16 kB to 66 MB repeatedly; the rate of all CUs together, as in the groups below
- stream: six kernels over arrays of 320 MB (recorded: 2 GB), with between a few waves and as many as fit
- l2-stream: four kernels over arrays that fit in the L2s of all XCDs
- roofline: two chains of N multiply-adds for each pair of numbers from memory

For each group, the number of points, the mean absolute error and the bias are printed, relative to the recorded figures. For
all groups together, two means are printed: one over the groups' means, in which each group counts the same, and one over all
points.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from silicon import gpu_benches  # noqa: E402
from silicon.gpu_benches import GROUPS, Group, Table  # noqa: E402


@dataclass(frozen=True)
class Modelled:
    """A figure of a microbenchmark, in its group's unit."""

    group: str
    point: str
    recorded: float
    modelled: float

    @property
    def error(self) -> float:
        return self.modelled / self.recorded - 1


def main() -> None:
    options = _arguments()
    with tempfile.TemporaryDirectory(prefix="rocm-perf-microbenchmarks-") as folder:
        empty_us = _empty_launch(Path(folder))
        points = [point for name in options.only for point in modelled(name, options.checkout, Path(folder), empty_us)]
    print(json.dumps([asdict(point) for point in points], indent=1) if options.json else "\n".join(table(points)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", nargs="?", type=Path)
    parser.add_argument("--only", nargs="+", metavar="GROUP", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.checkout is None:
        print("no checkout of gpu-benches: name one")
        sys.exit()
    if lacking := [GROUPS[name].recorded for name in options.only if not (options.checkout / GROUPS[name].recorded).is_file()]:
        parser.error(f"{options.checkout} has no {', '.join(lacking)}: name a checkout of github.com/RRZE-HPC/gpu-benches")
    return options


def modelled(name: str, checkout: Path, folder: Path, empty_us: float) -> list[Modelled]:
    group = GROUPS[name]
    binaries = gpu_benches.compiled(group, checkout, folder)
    figures = corrected(group.merge([_run(binary, group) for binary in binaries]), group, empty_us)
    recorded = group.read((checkout / group.recorded).read_text())
    pairs = gpu_benches.paired(figures, recorded)
    return [Modelled(name, point, recorded_figure, figure) for point, recorded_figure, figure in pairs]


def corrected(uncorrected: Table, group: Group, empty_us: float) -> Table:
    """`uncorrected`, with the time of the launch itself taken out of the rates if the group has `gigabytes`. The recorded
    launches are so long that this time does not matter there.
    """
    if group.gigabytes is None:
        return uncorrected
    rates = {}
    for point, rate in uncorrected.items():
        gigabytes = group.gigabytes * gpu_benches.STREAMS[point.split()[0]]
        rates[point] = gigabytes / (gigabytes / rate - empty_us * 1e-6)
    return rates


def _run(binary: Path, group: Group) -> Table:
    print(f"{group.folder}: {binary.name}", file=sys.stderr, flush=True)
    completed = subprocess.run(
        ["rocm-perf", "run", "--device", "gfx942", "--device-option", "sustained", binary],
        capture_output=True,
        text=True,
        check=True,
    )
    return group.read(completed.stdout)


def _empty_launch(folder: Path) -> float:
    """The time in microseconds that events measure around an empty kernel."""
    source, binary = gpu_benches.OWN_PROGRAMS / "empty.hip", folder / "empty"
    subprocess.run(["hipcc", "-O3", "--offload-arch=gfx942", source, "-o", binary], check=True, capture_output=True)
    command = ["rocm-perf", "run", "--device", "gfx942", binary]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def table(points: Sequence[Modelled]) -> Iterator[str]:
    yield "| Microbenchmark | Points | Mean error | Bias | Range |"
    yield "|---|---|---|---|---|"
    means = []
    for name in dict.fromkeys(point.group for point in points):
        errors = [point.error for point in points if point.group == name]
        means.append(statistics.mean(map(abs, errors)))
        bias, low, high = statistics.mean(errors), min(errors), max(errors)
        yield f"| {name} | {len(errors)} | {means[-1]:.1%} | {bias:+.1%} | {low:+.0%} to {high:+.0%} |"
    if not points:
        return
    every = statistics.mean(abs(point.error) for point in points)
    yield ""
    yield f"Mean of the groups {statistics.mean(means):.1%}, of all {len(points)} points {every:.1%}."


if __name__ == "__main__":
    main()
