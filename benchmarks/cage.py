"""What the cage costs: the same command, run alternately inside and outside the cage.

    python benchmarks/cage.py [--rounds N]

For each mechanism that works here, three commands are run: one that does nothing, a compilation with hipcc, and a HIP program
on the software device. The table shows the median wall times, and the median, smallest and largest ratio of the pairs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from rocm_perf_lab import cage
from rocm_perf_lab.cage import View, mechanism
from rocm_perf_lab.collect import device as devices

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE = REPOSITORY / "testbed" / "softmax.hip"
PROGRAM = REPOSITORY / "build" / "testbed" / "softmax_testbed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    print("| cage | command | without, ms | within, ms | ratio | range over pairs |\n|---|---|---|---|---|---|")
    for kind in ("bubblewrap", "namespaces"):
        working = next(filter(mechanism.mechanism_works, mechanism.mechanisms_of_kind(kind)), None)
        if working is None:
            print(f"| {kind} | does not work here | | | | |")
            continue
        mechanism.best_mechanism = lambda working=working: working
        with tempfile.TemporaryDirectory() as folder:
            measure(kind, Path(folder), rounds)


def measure(kind: str, folder: Path, rounds: int) -> None:
    device = devices.select(devices.SOFTWARE_TARGET, folder)
    cache = folder / "compiled"  # code compiled by HIP at run time; the first run outside the cage fills it
    environment = device.environment(os.environ) | {"AMD_COMGR_CACHE_DIR": str(cache)}
    compile_ = ["hipcc", "-O3", "--offload-arch=gfx942", f"-I{SOURCE.parent}", str(SOURCE), "-o", str(folder / "made")]
    commands = {"true": ["true"], "hipcc softmax.hip": compile_, "softmax_testbed": [str(PROGRAM)]}
    for name, command in commands.items():
        seconds(command, folder, environment, trusted=True)
        pairs = [
            (seconds(command, folder, environment, trusted=True), seconds(command, folder, environment)) for _ in range(rounds)
        ]
        without, within = (statistics.median(times) * 1e3 for times in zip(*pairs, strict=True))
        ratios = [caged / bare for bare, caged in pairs]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"| {kind} | {name} | {without:.0f} | {within:.0f} | {statistics.median(ratios):.2f} | {spread} |", flush=True)


def seconds(command: Sequence[str], folder: Path, environment: Mapping[str, str], trusted: bool = False) -> float:
    """The wall time of a command; exits if that fails. If trusted, it runs outside the cage: the launcher only sets limits."""
    began = time.perf_counter()
    ended = cage.run(command, folder, View(writable=(folder,), trusted=trusted), environment)
    if not ended.succeeded:
        raise SystemExit(f"{command[0]}: {ended.complaint}: {ended.stderr.decode(errors='replace')[-500:]}")
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
