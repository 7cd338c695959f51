"""The table of problem sizes, line by line."""

from __future__ import annotations

from rocm_perf_lab.autotune.evaluation_outcome import OK, EvaluationOutcome
from rocm_perf_lab.autotune.results import TuningResult
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration
from rocm_perf_lab.autotune.triton_kernel.configuration_list import configuration_list
from rocm_perf_lab.autotune.triton_kernel.size_search import TunedSize
from rocm_perf_lab.autotune.triton_kernel.size_table import size_table
from rocm_perf_lab.autotune.triton_kernel.tune import TunedFunction


def size(key: dict, *times: float | str, total: int | None = 12, seed: int = 7) -> TunedSize:
    """times: a list, or the status of a configuration that failed. Compiling took 1.5 s and the search 4.5 s."""
    outcomes = [EvaluationOutcome(ms) if isinstance(ms, str) else EvaluationOutcome(OK, None, [ms], "gpu") for ms in times]
    evaluated = [
        EvaluatedConfiguration({"BLOCK": 16 << number, "num_warps": 4}, one, False) for number, one in enumerate(outcomes)
    ]
    return TunedSize(key, TuningResult("random", seed, 9, "a GPU", total, evaluated, {}, {}), 3, 1.5, 4.5)


def test_a_row_for_each_size():
    sizes = [
        size({"M": 64, "N": 8}, 3.25, 0.123456, "failed", "timeout"),
        size({"M": 4096, "N": 8}, 12.0, 12.0, total=None),
        size({}, 7.0, seed=8),
    ]
    tuned = TunedFunction("scale", "a GPU", sizes, 0)
    title, heads, *rows = size_table(tuned)
    assert title == "scale tuned for 3 sizes on a GPU; random, seed 7"
    assert heads == "size               ms  evaluated       s/each  best"
    assert rows[:3] == [
        "M=64 N=8       0.1235      4 of 12      1.50  BLOCK=32 num_warps=4 (measured, gpu time), 2 failed",
        "M=4096 N=8         12       2 of ?      3.00  BLOCK=16 num_warps=4 (measured, gpu time)",
        "-                   7      1 of 12      6.00  BLOCK=16 num_warps=4 (measured, gpu time)",
    ]
    assert rows[3:] == ["", *configuration_list(tuned).splitlines()]


def test_the_first_column_is_as_wide_as_its_header():
    _, heads, row, *_ = size_table(TunedFunction("scale", "a GPU", [size({"M": 1}, 2.0)], 0))
    assert heads == "size         ms  evaluated       s/each  best" and row.startswith(
        "M=1           2      1 of 12      6.00  BLOCK=16"
    )
