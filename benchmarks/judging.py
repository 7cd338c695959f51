"""How long `rocm-perf optimize` takes on the softmax testbed: in the cage compared with outside it, or with another checkout.

    python benchmarks/judging.py [--rounds N] [--against CHECKOUT]

CHECKOUT: a checkout of another revision of this repository, with its own native parts built (`./dev run true` there builds
them). The two variants run alternately; medians of wall and processor time are printed, and the ratios of the pairs. All runs
do the same work: one kernel, one transformation, one iteration and a fixed number of judged proposals. If a run judges a
different number, the benchmark ends with an error.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
OPTIONS = ("--json", "--device", "gfx942", "--auto-approve", "--max-iters", "1", "--factors", "4", "--transforms", "unroll")
PROPOSALS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path)
    options = parser.parse_args()
    name = f"{options.against}" if options.against else "--trust-candidates"
    pairs = [(seconds(options.against), seconds(None, caged=True)) for _ in range(options.rounds)]
    print(f"| time | {name}, s | this, in the cage, s | ratio | range over pairs |\n|---|---|---|---|---|")
    for number, kind in enumerate(("wall", "processor")):
        durations = [(other[number], this[number]) for other, this in pairs]
        first, second = (statistics.median(times) for times in zip(*durations, strict=True))
        ratios = [this / other for other, this in durations]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"| {kind} | {first:.1f} | {second:.1f} | {statistics.median(ratios):.2f} | {spread} |")


def seconds(checkout: Path | None, caged: bool = False) -> tuple[float, float]:
    """Run `optimize` once, in `checkout` or (if that is None) in this repository; return wall and processor time."""
    root = (checkout or REPOSITORY).resolve()
    environment = os.environ | {"PYTHONPATH": str(root / "src"), "ROCM_PERF_LAB_NATIVE_DIR": str(root / "build")}
    trusted = [] if caged or checkout else ["--trust-candidates"]
    with tempfile.TemporaryDirectory() as folder:
        for file in ("softmax.hip", "check.h"):
            shutil.copy(REPOSITORY / "testbed" / file, folder)
        words = [*OPTIONS, *trusted, "softmax.hip", "./softmax --rows 256 --cols 64 --kernel naive"]
        began, used = time.monotonic(), processor_seconds()
        ran = subprocess.run(
            [sys.executable, "-m", "rocm_perf_lab", "optimize", *words], cwd=folder, env=environment, capture_output=True
        )
        took = time.monotonic() - began, processor_seconds() - used
    judged = len(json.loads(ran.stdout)["proposals"]) if ran.returncode == 0 else 0
    if judged != PROPOSALS:
        sys.exit(f"optimize of {root} judged {judged} of {PROPOSALS} proposals: {ran.stderr.decode(errors='replace')[-500:]}")
    return took


def processor_seconds() -> float:
    """The processor time of all descendants of this process that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
