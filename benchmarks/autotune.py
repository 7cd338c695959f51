"""Search strategies on recorded spaces: how much better they are than random search, with 95 % confidence intervals.

    python benchmarks/autotune.py [CACHE.json.gz...] [--seeds N] [--cutoff 0.95] [--strategy NAME]
                                  [--peer-python PYTHON [--peer bayes_opt] [--peer-seeds N]]
    python benchmarks/autotune.py --overhead

Without recordings (those named, or those in $RPL_SHARED/data/autotune) there is nothing to search. PYTHON is an interpreter
with Kernel Tuner and scikit-learn. --overhead measures the time that the tuner itself takes, with its cache on disk. Everything
runs on one thread, so processor times can be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # set before NumPy is imported; peers inherit it

import numpy as np  # noqa: E402

from rocm_perf_lab.autotune.cache import Cache  # noqa: E402
from rocm_perf_lab.autotune.evaluation_outcome import OK, EvaluationOutcome  # noqa: E402
from rocm_perf_lab.autotune.recorded import Recording, read_recording  # noqa: E402
from rocm_perf_lab.autotune.score import RandomSearchScale  # noqa: E402
from rocm_perf_lab.autotune.search_loop import SearchLoop  # noqa: E402
from rocm_perf_lab.autotune.simulation import simulate  # noqa: E402
from rocm_perf_lab.autotune.space import Space  # noqa: E402
from rocm_perf_lab.autotune.strategies import STRATEGIES, Options, create  # noqa: E402

_PEER = Path(__file__).parent / "peers" / "kernel_tuner_search.py"


def recordings(named: list[Path]) -> list[Path]:
    folder = Path(os.environ.get("RPL_SHARED") or Path(__file__).resolve().parents[2] / "shared") / "data" / "autotune"
    return named or sorted(folder.glob("*.json.gz"))


def ours(recording: Recording, scale: RandomSearchScale, name: str, seed: int) -> tuple[float, float]:
    """Return P and the processor time in seconds."""
    began = time.process_time()
    trace = simulate(recording, name, seed, Options(scale.budget))[0]
    return scale.score(trace), time.process_time() - began


def peers(python: str, path: Path, scale: RandomSearchScale, name: str, seed: int) -> tuple[float, float]:
    command = [python, str(_PEER), str(path), name, str(scale.budget), str(seed)]
    result = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    return scale.score(result["trace"]), result["seconds"]


def row(path: Path, scale: RandomSearchScale, name: str, runs: list[tuple[float, float]]) -> str:
    scores, seconds = np.array(runs).T
    half = 1.96 * np.std(scores, ddof=1) / len(scores) ** 0.5 if len(scores) > 1 else float("nan")
    return (
        f"| {path.name.partition('.')[0]} | {scale.budget} | {name} | {len(runs)} | {scores.mean():+.3f} | ± {half:.3f} "
        f"| {scores.min():+.2f} | {seconds.mean():.3f} | {seconds.mean() / scale.budget * 1e3:.2f} |"
    )


def overhead(evaluations: int = 2000) -> None:
    """Print how long it takes to search a space of 10,000 configurations whose runs take no time."""
    values = {name: list(range(10)) for name in "abcd"}

    def evaluate(configuration: dict[str, int], _worker: int) -> EvaluationOutcome:
        return EvaluationOutcome(
            OK,
            None,
            [
                1.0
                + 5 * (configuration["a"] - 3) ** 2
                + 3 * (configuration["b"] - 3) ** 2
                + abs(configuration["c"] - configuration["d"])
            ],
        )

    print(f"| strategy | evaluations of {10**4} | processor time, ms per evaluation | wall time, ms per evaluation |")
    print("|---|---|---|---|")
    for name in STRATEGIES:
        with tempfile.TemporaryDirectory() as folder:
            cache = Cache(Path(folder) / "cache.db", "overhead")
            space, began, busy = Space(values), time.perf_counter(), time.process_time()
            search = SearchLoop(space, create(name, space, 0, Options(evaluations)), evaluate, cache, evaluations)
            count = len(search.run())
            spent = [(now - then) / count * 1e3 for now, then in ((time.process_time(), busy), (time.perf_counter(), began))]
            cache.close()
        print(f"| {name} | {count} | {spent[0]:.2f} | {spent[1]:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("caches", nargs="*", type=Path, metavar="CACHE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cutoff", type=float, default=0.95)
    parser.add_argument("--strategy", choices=STRATEGIES, action="append")
    parser.add_argument("--peer-python", metavar="PYTHON")
    parser.add_argument("--peer", action="append", metavar="STRATEGY")
    parser.add_argument("--peer-seeds", type=int, default=2)
    parser.add_argument("--overhead", action="store_true")
    arguments = parser.parse_args()
    if arguments.overhead:
        overhead()
        return
    paths = recordings(arguments.caches)
    if not paths:
        print("no recorded spaces: name some, or set RPL_SHARED")
        return
    print("| space | budget | strategy | seeds | mean P | 95 % interval | least | tuner, s per run | ms per evaluation |")
    print("|---|---|---|---|---|---|---|---|---|")
    for path in paths:
        recording = read_recording(path)
        scale = RandomSearchScale(recording.times.values(), arguments.cutoff)
        for name in arguments.strategy or STRATEGIES:
            runs = [ours(recording, scale, name, seed) for seed in range(arguments.seeds)]
            print(row(path, scale, name, runs), flush=True)
        for name in (arguments.peer or ["bayes_opt"]) if arguments.peer_python else ():
            runs = [peers(arguments.peer_python, path, scale, name, seed) for seed in range(arguments.peer_seeds)]
            print(row(path, scale, f"Kernel Tuner {name}", runs), flush=True)


if __name__ == "__main__":
    main()
