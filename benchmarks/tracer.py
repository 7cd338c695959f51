"""What tracing costs: a program's time with the tracer over its time without, and the bytes kept per dispatch.

    python benchmarks/tracer.py [--dispatches N] [--rounds N]

Runs an untraced and a traced round by turns, so that a machine that slows down slows both; prints medians as JSON.
The program launches one-thread kernels as fast as it can, the hardest case: a dispatch does next to nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from rocm_perf_lab import native
from rocm_perf_lab.collect import device as devices

PROGRAM = Path(__file__).resolve().parents[1] / "tests" / "native" / "tools" / "programs" / "ends.hip"
EXIT_STATUS = 4  # of its `_exit` way to end


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dispatches", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options.dispatches, options.rounds), indent=2))


def measure(folder: Path, dispatches: int, rounds: int) -> dict[str, float | str]:
    device = devices.select(devices.AUTO, folder)
    tracer = native.tracer_library()
    program = folder / "launch"
    subprocess.run(["hipcc", f"--offload-arch={device.target}", "-O3", "-o", program, PROGRAM], check=True)
    plain = device.environment(os.environ)
    command = [program, "_exit", str(dispatches)]  # ends at once when its kernels have: no time of HIP's own teardown

    untraced, traced, sizes = [], [], []
    for number in range(rounds):
        database = folder / f"{number}.db"
        with_tracer = device.environment(os.environ, (tracer,))
        with_tracer |= {"LD_PRELOAD": str(tracer), "ROCM_PERF_TRACE": str(database)}
        untraced.append(seconds(command, plain))
        traced.append(seconds(command, with_tracer))
        sizes.append(wait_for(database).stat().st_size)
    without = statistics.median(untraced)
    return {
        "device": device.description,
        "dispatches": dispatches,
        "seconds_untraced": round(without, 4),
        "seconds_traced": round(statistics.median(traced), 4),
        "ratio": round(statistics.median(traced) / without, 3),
        "database_bytes_per_dispatch": round(statistics.median(sizes) / dispatches),
    }


def seconds(command: list, environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    status = subprocess.run(command, env=environment, stderr=subprocess.DEVNULL).returncode
    if status != EXIT_STATUS:
        raise SystemExit(f"{command[0]} ended with {status}")
    return time.perf_counter() - begin


def wait_for(database: Path) -> Path:
    """The writer would otherwise compete with the next round."""
    while not database.exists():
        time.sleep(0.05)
    return database


if __name__ == "__main__":
    main()
