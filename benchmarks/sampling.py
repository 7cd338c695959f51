"""How long large programs take to profile on the software device, and how far off its estimates from a sample are.

    python benchmarks/sampling.py [--only NAME...] [--threads N] [--json]

Each program is profiled twice, with `observe=sampled` and with `observe=all`, which yields the true values. The output shows
the wall and processor time of both, the largest error among the estimated times and counters, and how many of the true values
lie within the stated errors. For counters whose true value is too small to matter (less than a thousandth of the counter that
includes them), the error is relative to a thousandth of that counter.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rocm_perf_lab.collect import device as devices

TESTBED = Path(__file__).parent.parent / "build" / "testbed"
LARGE = {
    "gemm 2048": ["gemm", "-n", "2048", "--kernel", "mfma"],
    "softmax 16384x4096": ["softmax_testbed", "--rows", "16384", "--cols", "4096", "--kernel", "lds"],
    "stencil 512": ["stencil", "-n", "512", "--steps", "1"],
}
SMALLER = {
    "vcopy": ["vcopy", "-n", "4194304", "-i", "3"],
    "gemm naive": ["gemm", "-n", "512", "--kernel", "naive"],
    "gemm lds": ["gemm", "-n", "512", "--kernel", "lds"],
    "gemm tiled": ["gemm", "-n", "512", "--kernel", "tiled"],
    "gemm mfma": ["gemm", "-n", "1024", "--kernel", "mfma"],
    "softmax naive": ["softmax_testbed", "--rows", "65536", "--cols", "128", "--kernel", "naive"],
    "softmax lds": ["softmax_testbed", "--rows", "8192", "--cols", "512", "--kernel", "lds"],
    "stencil": ["stencil", "-n", "128", "--steps", "2"],
    "reduction": ["reduction", "-n", "4194304", "--kernel", "lds", "--type", "int"],
    "histogram": ["histogram", "-n", "4194304"],
}  # fmt: skip
PROGRAMS = LARGE | SMALLER

# For each block, the counter that includes the others: their errors are relative to at least a thousandth of it.
_TOTAL_COUNTERS = {"TCC": "TCC_REQ_sum", "TCP": "TCP_TOTAL_CACHE_ACCESSES_sum", "SQC": "SQC_DCACHE_REQ", "SQ": "SQ_WAVE_CYCLES"}
_TOTAL_COUNTERS_BY_PREFIX = {"SQ_LDS": "SQ_LDS_IDX_ACTIVE"}


@dataclass(frozen=True)
class Estimate:
    """An estimated value of one dispatch. error: the stated error, in the value's unit. whole: the counter that includes it."""

    name: str
    value: float
    error: float
    true: float
    whole: float

    @property
    def relative_error(self) -> float:
        return abs(self.value - self.true) / max(abs(self.true), self.whole / 1000, 1)

    @property
    def is_within_error(self) -> bool:
        return abs(self.value - self.true) <= self.error


@dataclass(frozen=True)
class Comparison:
    """What was found for one program. sampled, all: wall and processor time in seconds."""

    sampled: tuple[float, float]
    all: tuple[float, float]
    estimates: list[Estimate]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=PROGRAMS, default=[*PROGRAMS])
    parser.add_argument("--threads", type=int, default=2, help="threads of the device")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    comparisons = {name: compare(PROGRAMS[name], options.threads) for name in options.only}
    print(
        json.dumps({name: asdict(comparison) for name, comparison in comparisons.items()}, indent=1)
        if options.json
        else text(comparisons)
    )


def compare(program: list[str], threads: int) -> Comparison:
    with tempfile.TemporaryDirectory() as folder:
        sampled = profile(program, "sampled", Path(folder), threads)
        full = profile(program, "all", Path(folder), threads)
        return Comparison(sampled, full, estimates(Path(folder) / "sampled", Path(folder) / "all"))


def profile(program: list[str], observe: str, folder: Path, threads: int) -> tuple[float, float]:
    command = ["rocm-perf", "profile", "--device", "gfx942", "--device-option", f"{devices.OBSERVE}={observe}", "--runs", "1",
               "-o", str(folder / observe), str(TESTBED / program[0]), *program[1:]]  # fmt: skip
    environment = os.environ | {"ROCM_PERF_DEVICE_THREADS": str(threads)}
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def estimates(sampled: Path, full: Path) -> list[Estimate]:
    """The estimated and the true values of all dispatches. Values without a stated error, except durations, must be equal."""
    true = values(full)
    estimated = []
    for dispatch, named in values(sampled).items():
        for name, (value, error) in named.items():
            if error is None:
                assert value == true[dispatch][name][0] or name == "duration", (dispatch, name, value, true[dispatch][name])
                continue
            estimated.append(
                Estimate(
                    f"{name} of {dispatch}", value, error, true[dispatch][name][0], including_counter(name, true[dispatch])
                )
            )
    return estimated


def including_counter(name: str, true: dict[str, tuple[float, float | None]]) -> float:
    part = next(
        (total for prefix, total in _TOTAL_COUNTERS_BY_PREFIX.items() if name.startswith(prefix)),
        _TOTAL_COUNTERS.get(name.split("_")[0]),
    )
    return true[part][0] if part in true else 0.0


def values(run: Path) -> dict[str, dict[str, tuple[float, float | None]]]:
    """Maps dispatch -> counter name, or "duration" (in ns) -> value, and its error if it is an estimate."""
    (database,) = run.glob("**/*.db")
    by_dispatch: dict[str, dict[str, tuple[float, float | None]]] = {}
    with sqlite3.connect(database) as connection:
        tables = dict(connection.execute("SELECT replace(name, 'rocpd_', ''), name FROM sqlite_master WHERE type = 'view'"))
        rows = connection.execute(
            f"""SELECT d.dispatch_id, s.display_name, d."end" - d.start, json_extract(v.extdata, '$.duration_error'), p.name,
                c.value, json_extract(c.extdata, '$.error') FROM {tables["kernel_dispatch"]} d
                JOIN {tables["info_kernel_symbol"]} s ON s.id = d.kernel_id JOIN {tables["event"]} v ON v.id = d.event_id
                LEFT JOIN {tables["pmc_event"]} c ON c.event_id = v.id LEFT JOIN {tables["info_pmc"]} p ON p.id = c.pmc_id"""
        )
        for number, kernel, duration, duration_error, counter, value, error in rows:
            named = by_dispatch.setdefault(f"{number} {kernel.split('(')[0]}", {})
            named["duration"] = (duration, None if duration_error is None else duration_error * duration)
            if counter is not None:
                named[counter] = (value, error)
    return by_dispatch


def text(comparisons: dict[str, Comparison]) -> str:
    lines = [f"{'':20} {'sampled, s':>15} {'all, s':>15} {'worst error':>12} {'stated':>7} {'within':>9}"]
    for name, comparison in comparisons.items():
        worst = max(comparison.estimates, key=lambda estimate: estimate.relative_error, default=None)
        seconds = " ".join(f"{time:7.1f}" for time in (*comparison.sampled, *comparison.all))
        times = f"{name:20} {seconds}"
        if worst is None:
            lines.append(f"{times} {'not sampled':>12}")
            continue
        stated = worst.error / max(abs(worst.true), 1)
        within = f"{sum(estimate.is_within_error for estimate in comparison.estimates):4}/{len(comparison.estimates):<4}"
        lines.append(f"{times} {100 * worst.relative_error:10.2f} % {100 * stated:5.1f} % {within} {worst.name}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
