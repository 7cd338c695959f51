"""Search strategies on recorded spaces: how much better than random search, with 95 % confidence intervals.

    python benchmarks/autotune.py [CACHE.json.gz...] [--seeds N] [--cutoff 0.95] [--strategy NAME]

Without recordings ($RPL_SHARED/data/autotune, else those named) there is nothing to search.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from rocm_perf_lab.autotune.recorded import read_recording
from rocm_perf_lab.autotune.score import Scale
from rocm_perf_lab.autotune.simulation import simulate
from rocm_perf_lab.autotune.strategies import STRATEGIES, Options


def recordings(named: list[Path]) -> list[Path]:
    folder = Path(os.environ.get("RPL_SHARED") or Path(__file__).resolve().parents[2] / "shared") / "data" / "autotune"
    return named or sorted(folder.glob("*.json.gz"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("caches", nargs="*", type=Path, metavar="CACHE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cutoff", type=float, default=0.95)
    parser.add_argument("--strategy", choices=STRATEGIES, action="append")
    arguments = parser.parse_args()
    paths = recordings(arguments.caches)
    if not paths:
        print("no recorded spaces: name some, or set RPL_SHARED")
        return
    print(f"| space | budget | strategy | mean P of {arguments.seeds} seeds | 95 % interval | tuner, ms per evaluation |")
    print("|---|---|---|---|---|---|")
    for path in paths:
        recording = read_recording(path)
        scale = Scale(recording.times.values(), arguments.cutoff)
        for name in arguments.strategy or STRATEGIES:
            began = time.process_time()
            scores = [
                scale.score(simulate(recording, name, seed, Options(scale.budget))[0]) for seed in range(arguments.seeds)
            ]
            cost = (time.process_time() - began) / arguments.seeds / scale.budget * 1e3
            half = 1.96 * np.std(scores, ddof=1) / len(scores) ** 0.5 if len(scores) > 1 else float("nan")
            print(f"| {path.stem.removesuffix('.json')} | {scale.budget} | {name} | {np.mean(scores):+.3f} "
                  f"| {half:.3f} | {cost:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
