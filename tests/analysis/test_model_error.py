"""Which limit a kernel has, what is reported about the model's error, and how calibration.py finds it."""

from __future__ import annotations

import sys

import pytest

from rocm_perf_lab.analysis.model_error import (
    BANDWIDTH,
    EXECUTION,
    LATENCY,
    LAUNCH,
    TimingDeviation,
    dominant_limit,
    error_for_differences,
    model_error,
)
from rocm_perf_lab.arch.timing_parameters import table_hash, timing_parameters
from rocm_perf_lab.toml import tomllib


@pytest.fixture
def errors(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    from silicon import errors

    yield errors
    for name in [name for name in sys.modules if name.partition(".")[0] == "silicon"]:
        sys.modules.pop(name)


def test_the_limit_is_the_launch_or_follows_from_the_bottleneck():
    overhead = timing_parameters()["launch_overhead_ns"]["value"]
    assert dominant_limit(overhead / 0.41, "compute-throughput-limited") == LAUNCH
    found = ("latency-bound", "memory-bandwidth-bound", "compute-throughput-limited", "unknown")
    assert [dominant_limit(overhead / 0.39, name) for name in found] == [LATENCY, BANDWIDTH, EXECUTION, EXECUTION]


def test_the_error_is_that_of_recorded_programs_with_that_limit(repository):
    table = tomllib.loads((repository / "src/rocm_perf_lab/arch/timing_errors.toml").read_text("utf-8"))["limit"]
    for limit, example in {LATENCY: "latency-bound", BANDWIDTH: "memory-bandwidth-bound", EXECUTION: "unknown"}.items():
        found = model_error(1e6, example, table_hash())
        if limit in table and table[limit]["times"] >= 10:
            assert found == TimingDeviation(limit, table[limit]["within"], table[limit]["times"], table[limit]["programs"])
        else:
            assert isinstance(found, str) and found.endswith(f"of the recorded times are limited by {limit}: too few to say")
    assert all(0 < one["within"] < 1 and one["times"] >= one["programs"] > 0 for one in table.values())


def test_an_error_belongs_to_one_set_of_parameters():
    told = "it was modelled with timing parameters other than those whose error is known"
    assert model_error(1e6, "latency-bound", "f00d") == model_error(1e6, "latency-bound", None) == told
    assert error_for_differences("f00d") == error_for_differences(None) == told
    assert 0 < error_for_differences(table_hash()) < 2


def test_four_of_five_are_within_the_error(errors):
    assert errors.spread([1.0, 1.1, 1 / 1.1, 1.2, 1 / 1.3]) == pytest.approx(0.2, abs=0.021)
    before = "[limit.bandwidth]\nwithin = 0.5\n\n[differences]\nwithin = 0.7\n"
    text = errors.with_limits(before, ["latency", "launch", "latency"], ["fir", "fir", "relu"], [1.1, 1.2, 1 / 1.1])
    assert tomllib.loads(text)["differences"] == {"within": 0.7}
    assert tomllib.loads(text)["limit"] == {
        "latency": {"within": 0.1, "times": 2, "programs": 2},
        "launch": {"within": 0.2, "times": 1, "programs": 1},
    }
