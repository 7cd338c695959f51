"""What tracing costs for dispatches that do almost nothing: the hardest case, since they take little but overhead.

    python benchmarks/tracer.py [--dispatches N] [--rounds N] [--threads N] [--streams N]

Untraced and traced rounds alternate, so a machine that slows down slows both; ratios are computed within such pairs. Prints
JSON with medians, and the smallest and largest values of what varies between rounds. The program itself measures the time of
its launches and of waiting for them, without loading and leaving HIP. The output also shows how much more processor time the
whole program takes when traced; a busy machine disturbs this less.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import native
from rocm_perf_lab.collect import device as devices

PROGRAM = Path(__file__).resolve().parents[1] / "tests" / "native" / "tools" / "programs" / "load.hip"


@dataclass(frozen=True)
class Cost:
    """seconds: the launches' time by the program's own clock. processor_seconds: of the whole program, on all cores."""

    seconds: float
    processor_seconds: float


@dataclass(frozen=True)
class Round:
    untraced: Cost
    traced: Cost
    writer_seconds: float
    spool_bytes: int
    database_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dispatches", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--streams", type=int, default=8, help="a multiple of the threads")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options), indent=2))


def measure(folder: Path, options: argparse.Namespace) -> dict:
    device = devices.select(devices.AUTO, folder)
    program = folder / "load"
    subprocess.run(["hipcc", f"--offload-arch={device.target}", "-O3", "-o", program, PROGRAM], check=True)
    command = [str(program), str(options.dispatches), str(options.threads), str(options.streams)]
    cost(command, device.environment(os.environ))  # not counted; it only fills the machine's caches
    rounds = [one_round(folder, device, command) for _ in range(options.rounds)]
    count = options.dispatches
    return {
        "device": device.description,
        "dispatches": count,
        "threads": options.threads,
        "streams": options.streams,
        "rounds": options.rounds,
        "ratio_traced_to_untraced": spread([r.traced.seconds / r.untraced.seconds for r in rounds]),
        "untraced_us_per_dispatch": spread([1e6 * r.untraced.seconds / count for r in rounds]),
        "traced_us_per_dispatch": spread([1e6 * r.traced.seconds / count for r in rounds]),
        "overhead_us_per_dispatch": spread([1e6 * (r.traced.seconds - r.untraced.seconds) / count for r in rounds]),
        "overhead_processor_us_per_dispatch": spread(
            [1e6 * (r.traced.processor_seconds - r.untraced.processor_seconds) / count for r in rounds]
        ),
        "spool_bytes_per_dispatch": round(statistics.median(r.spool_bytes for r in rounds) / count),
        "database_bytes_per_dispatch": round(statistics.median(r.database_bytes for r in rounds) / count),
        "writer_seconds_per_million": spread([1e6 * r.writer_seconds / count for r in rounds]),
    }


def spread(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 3), "min": round(min(values), 3), "max": round(max(values), 3)}


def one_round(folder: Path, device: devices.Device, command: list[str]) -> Round:
    untraced = cost(command, device.environment(os.environ))
    database, tracer = folder / "trace.db", native.tracer_library()
    # The writer is run separately below, so that it and the program do not compete with each other.
    environment = device.environment(os.environ, (tracer,)) | {
        "LD_PRELOAD": str(tracer), "ROCM_PERF_TRACE": str(database), "ROCM_PERF_ROCPD_WRITER": "/bin/true"
    }  # fmt: skip
    traced = cost(command, environment)
    spool = folder / "trace.db.spool"
    spool_bytes = spool.stat().st_size
    begin = time.perf_counter()
    subprocess.run([native.rocpd_writer(), spool], check=True)
    writer = time.perf_counter() - begin
    database_bytes = database.stat().st_size
    database.unlink()
    return Round(untraced, traced, writer, spool_bytes, database_bytes)


def cost(command: list[str], environment: dict[str, str]) -> Cost:
    """The cost of one run. Raises CalledProcessError if the program fails, as it does if its result is wrong."""
    before = processor_seconds_of_children()
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return Cost(float(re.search(r"seconds (\S+)", run.stdout)[1]), processor_seconds_of_children() - before)


def processor_seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
