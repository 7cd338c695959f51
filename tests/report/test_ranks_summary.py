"""Ranks side by side, and the sums over their kernels."""

from __future__ import annotations

import types

import pytest

from rocm_perf_lab.analysis.roofline import NO_TIME
from rocm_perf_lab.report.documents import CoreDocuments
from rocm_perf_lab.report.ranks_summary import NO_RANK, RankReports, summary
from rocm_perf_lab.report.schema import AnalysisDocument, KernelAnalysis


def kernel(name: str, dispatches: int, ms: float | None) -> KernelAnalysis:
    return KernelAnalysis.model_construct(kernel=name, dispatches=dispatches, time_ms=ms)


def rank(number: int | None, span_ns: int | None, *kernels: KernelAnalysis, pid: int = 7) -> RankReports:
    of = types.SimpleNamespace
    run = of(command="./app", host="node", pid=pid)
    known = span_ns is not None
    profile = of(run=run, runtime_ms=1.5 if known else None, gpu=of(product="MI300X"), timing="measured")
    dag = of(critical_path_ns=span_ns, dominant_symbol="a" if known else None, fraction=0.5 if known else None)
    analysis = AnalysisDocument.model_construct(kernels=[*kernels])
    return RankReports(
        of(number=number, base=of(path="/runs/t.db")), f"rank-{pid}", CoreDocuments(profile, None, dag, analysis)
    )


def test_what_is_reported_about_a_rank():
    (found,) = summary([rank(3, 2_500_000, kernel("a", 2, 1.0), kernel("b", 5, 2.0))], ["one"]).ranks
    assert found.model_dump() == {
        "rank": 3, "directory": "rank-7", "database": "t.db", "command": "./app", "host": "node", "pid": 7, "gpu": "MI300X",
        "timing": "measured", "dispatches": 7, "kernel_time_ms": 1.5, "span_ms": 2.5, "dominant_symbol": "a", "fraction": 0.5,
    }  # fmt: skip
    (unknown,) = summary([rank(None, None)], []).ranks
    assert unknown.reasons == {"rank": NO_RANK} | dict.fromkeys(
        ("kernel_time_ms", "span_ms", "dominant_symbol", "fraction"), NO_TIME
    )
    assert summary([rank(0, 0)], []).ranks[0].span_ms == 0


@pytest.mark.parametrize(
    "spans, slowest",
    [([1, 3, 2], 1), ([3, 3, 1], 0), ([None, 1], 1), ([1, None], 0), ([None, None], None), ([0, 0], None), ([5], 0)],
)
def test_the_slowest_rank_is_the_first_with_the_longest_span(spans, slowest):
    found = summary([rank(number, span) for number, span in enumerate(spans)], ["one", "two"])
    assert found.slowest_rank == slowest and found.notes == ["one", "two"]
    assert found.reasons == ({} if slowest is not None else {"slowest_rank": NO_TIME})
    assert [one.rank for one in found.ranks] == [*range(len(spans))]


def test_kernels_over_all_ranks_with_most_time_first():
    ranks = [
        rank(0, 5, kernel("a", 2, 1.0), kernel("b", 1, 2.0), kernel("none", 1, None)),
        rank(1, 5, kernel("a", 3, 3.0), kernel("c", 1, 4.0)),
        rank(2, 5, kernel("d", 1, 2.0), kernel("none", 1, 9.0)),
    ]
    found = {one.kernel: one for one in summary(ranks, []).kernels}
    assert [*found] == ["a", "c", "b", "d", "none"]
    assert found["a"].model_dump() == {
        "kernel": "a", "ranks": 2, "dispatches": 5, "total_ms": 4.0, "min_ms": 1.0, "max_ms": 3.0, "imbalance": 2.25,
    }  # fmt: skip
    assert found["c"].imbalance == 3.0
    assert found["none"].reasons == dict.fromkeys(("total_ms", "min_ms", "max_ms", "imbalance"), NO_TIME)
    assert (found["none"].ranks, found["none"].dispatches) == (2, 2)
