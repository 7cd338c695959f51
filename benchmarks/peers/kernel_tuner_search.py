"""Runs a strategy of Kernel Tuner (pip install kernel_tuner scikit-learn) on a recorded space. A peer for autotune.py.

    python benchmarks/peers/kernel_tuner_search.py CACHE STRATEGY BUDGET SEED

Prints {"trace": times in the order of first evaluation, null for failures, "seconds": processor time in the strategy}. Only
some of the strategies take a seed, so the global generators are seeded; bayes_opt's Latin hypercube remains unseeded.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np


def read_cache(path: str) -> dict:
    data = Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


class Timed:
    """Wraps a strategy as a user-defined one. seconds: its processor time, without reading the cache and building the space."""

    def __init__(self, strategy):
        self._strategy, self.__name__, self.seconds = strategy, strategy.__name__, 0.0

    def tune(self, *arguments):
        began = time.process_time()
        try:
            return self._strategy.tune(*arguments)
        finally:
            self.seconds = time.process_time() - began


def search(path: str, name: str, budget: int, seed: int) -> dict[str, object]:
    import kernel_tuner
    from kernel_tuner.interface import strategy_map

    cache = read_cache(path)
    names, keys = cache["tune_params_keys"], set(cache["cache"])

    def recorded(values: dict[str, object]) -> bool:  # Kernel Tuner would parse a lambda
        return _key(values, names) in keys

    strategy = Timed(strategy_map[name])
    random.seed(seed)
    np.random.seed(seed)
    with tempfile.TemporaryDirectory() as folder:
        cache_file = Path(folder) / "cache.json"
        cache_file.write_text(json.dumps(cache))
        results, _ = kernel_tuner.tune_kernel(
            cache["kernel_name"], "__global__ void unused() {}", cache["problem_size"], [], cache["tune_params"],
            restrictions=[recorded], lang="HIP", strategy=strategy,
            strategy_options={"max_fevals": budget}, cache=str(cache_file), simulation_mode=True, quiet=True, verbose=False,
        )  # fmt: skip
    times = {}
    for result in results:
        times.setdefault(_key(result, names), result.get("time"))
    trace = [time if isinstance(time, (int, float)) else None for key, time in times.items() if key in keys]
    return {"trace": trace[:budget], "seconds": strategy.seconds}


def _key(values: dict[str, object], names: list[str]) -> str:
    return ",".join(str(values[name]) for name in names)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    cache_path, strategy_name, evaluations, seed_text = sys.argv[1:]
    with contextlib.redirect_stdout(sys.stderr):
        best = search(cache_path, strategy_name, int(evaluations), int(seed_text))
    print(json.dumps(best))
