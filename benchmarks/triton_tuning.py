"""Tuning a Triton function: a full sweep, how close a quarter of its evaluations gets, and how long an evaluation takes.

    python benchmarks/triton_tuning.py --python PYTHON [--seeds N] [--share 0.25] [SCRIPT::KERNEL [ARGUMENTS]...]

PYTHON is an interpreter with Triton; without one there is nothing to do. By default testbed/matmul.py is tuned at 512, 768 and
1024. Times per evaluation are wall time for the first seed, including compilation, with Triton's cache empty; further seeds
look up what the sweep recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_MATMUL = f"{Path(__file__).resolve().parents[1] / 'testbed' / 'matmul.py'}::matmul"
_SIZES = ("512", "768", "1024")


def tuned(python: str, words: list[str], triton_cache: Path, *options: str) -> list[dict[str, Any]]:
    """Run the tuning once; return the results for each size."""
    kernel, *arguments = words
    command = [sys.executable, "-m", "rocm_perf_lab", "autotune", "--triton", kernel, "--python", python, "--json", *options]
    environment = os.environ | {"TRITON_CACHE_DIR": str(triton_cache)}
    ran = subprocess.run([*command, "--", *arguments], env=environment, capture_output=True)
    if ran.returncode:
        sys.exit(ran.stderr.decode().splitlines()[-1])
    sizes: list[dict[str, Any]] = json.loads(ran.stdout)["sizes"]
    return sizes


def seconds_each(sizes: list[dict[str, Any]]) -> float:
    spent = sum(size["compile_seconds"] + size["search_seconds"] for size in sizes)
    return spent / sum(size["search"]["evaluated"] for size in sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("words", nargs="*", default=[_MATMUL, *_SIZES], metavar="SCRIPT::KERNEL [ARGUMENTS]")
    parser.add_argument("--python", metavar="PYTHON")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--share", type=float, default=0.25)
    arguments = parser.parse_args()
    if arguments.python is None:
        print("no Python with Triton: name one with --python")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache_options = ("--cache", str(folder / "results.db"))
        sweep = tuned(arguments.python, arguments.words, folder / "sweep", "--strategy", "random", *cache_options)
        budget = max(1, int(arguments.share * max(size["search"]["total"] for size in sweep)))
        few = ("--budget", str(budget))
        fresh = tuned(arguments.python, arguments.words, folder / "fresh", "--no-cache", *few)
        print(f"sweep: {seconds_each(sweep):.2f} s per evaluation; a search of {budget} per size: {seconds_each(fresh):.2f} s")
        further = (
            tuned(arguments.python, arguments.words, folder / "sweep", "--seed", str(seed), *cache_options, *few)
            for seed in range(1, arguments.seeds)
        )
        runs = [fresh, *further]
    print("| size | configurations | best, us | median, us | within 3 % after a quarter | mean | worst |")
    print("|---|---|---|---|---|---|---|")
    for number, size in enumerate(sweep):
        times = sorted(evaluation["ms"] for evaluation in size["search"]["evaluations"] if evaluation["ms"] is not None)
        ratios = [run[number]["search"]["best"]["ms"] / times[0] for run in runs]
        near = sum(ratio <= 1.03 for ratio in ratios)
        words = " ".join(f"{name}={value}" for name, value in size["key"].items())
        print(
            f"| {words} | {size['search']['total']} | {times[0] * 1e3:.2f} | {times[len(times) // 2] * 1e3:.2f} "
            f"| {near} of {len(ratios)} | {sum(ratios) / len(ratios):.3f} | {max(ratios):.3f} |"
        )


if __name__ == "__main__":
    main()
