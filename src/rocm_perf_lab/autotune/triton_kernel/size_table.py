"""The human-readable result: one line per problem size, then the configurations to copy into the script."""

from __future__ import annotations

from rocm_perf_lab.autotune.evaluation_outcome import OK
from rocm_perf_lab.autotune.search_loop import timed_evaluations
from rocm_perf_lab.autotune.triton_kernel.configuration_list import configuration_list
from rocm_perf_lab.autotune.triton_kernel.size_search import TunedSize
from rocm_perf_lab.autotune.triton_kernel.tune import TunedFunction


def size_table(tuned: TunedFunction) -> list[str]:
    first = tuned.sizes[0].result
    lines = [f"{tuned.kernel} tuned for {len(tuned.sizes)} sizes on {tuned.device}; {first.strategy}, seed {first.seed}"]
    keys = [" ".join(f"{name}={value}" for name, value in size.key.items()) or "-" for size in tuned.sizes]
    width = max(len("size"), *map(len, keys))
    lines.append(f"{'size':<{width}}         ms  evaluated       s/each  best")
    lines += [f"{key:<{width}}  {_row(size)}" for key, size in zip(keys, tuned.sizes, strict=True)]
    return [*lines, "", *configuration_list(tuned).splitlines()]


def _row(size: TunedSize) -> str:
    result = size.result
    ms, best = min(
        timed_evaluations(result.evaluated), key=lambda ran: ran[0]
    )  # SizeSearch.run() ensures that at least one ran
    count, of = len(result.evaluated), "?" if result.total is None else str(result.total)
    failed = sum(evaluation.outcome.status != OK for evaluation in result.evaluated)
    seconds = (size.compile_seconds + size.search_seconds) / count
    words = " ".join(f"{name}={value}" for name, value in best.values.items())
    wrong = f", {failed} failed" if failed else ""
    return f"{ms:9.4g}  {f'{count} of {of}':>11}  {seconds:8.2f}  {words} ({best.outcome.kind}){wrong}"
