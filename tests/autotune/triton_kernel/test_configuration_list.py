"""The list for @triton.autotune, executed as a script would import it."""

from __future__ import annotations

import sys
import types

from rocm_perf_lab.autotune.evaluation_outcome import OK, EvaluationOutcome
from rocm_perf_lab.autotune.results import TuningResult
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration
from rocm_perf_lab.autotune.triton_kernel.configuration_list import configuration_list
from rocm_perf_lab.autotune.triton_kernel.size_search import TunedSize
from rocm_perf_lab.autotune.triton_kernel.tune import TunedFunction


class Config:
    def __init__(self, kwargs, num_warps=4, num_stages=2):
        self.values = {**kwargs, "num_warps": num_warps, "num_stages": num_stages}


def size(rows: int, **best) -> TunedSize:
    evaluated = [EvaluatedConfiguration(best, EvaluationOutcome(OK, None, [1.0], "gpu"), False)]
    result = TuningResult("random", 0, 1, "a GPU", 1, evaluated, {}, {"num_stages": 1})
    return TunedSize({"M": rows, "exact": True}, result, 1, 0.0, 0.0)


def test_each_best_configuration_is_listed_once(monkeypatch):
    wide, narrow = {"BLOCK": 128, "MODE": "fast", "num_warps": 8}, {"BLOCK": 32, "MODE": "fast", "num_warps": 1}
    tuned = TunedFunction("scale", "a GPU", [size(1, **narrow), size(64, **wide), size(4096, **wide)], 0)
    monkeypatch.setitem(sys.modules, "triton", types.SimpleNamespace(Config=Config))
    text, names = configuration_list(tuned), {}
    exec(text, names)
    assert names["KEY"] == ["M", "exact"]
    assert [one.values for one in names["CONFIGS"]] == [{**narrow, "num_stages": 1}, {**wide, "num_stages": 1}]
    assert "# M=64, exact=True; M=4096, exact=True" in text
