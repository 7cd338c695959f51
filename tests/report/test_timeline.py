"""timeline.json, unpacked: what its tracks show for a run small enough to lay out by hand."""

from __future__ import annotations

import numpy as np
import pytest

import rocpd_database
from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import build_dag
from rocm_perf_lab.report import timeline as report
from rocm_perf_lab.report.dispatch_table import DispatchTable
from rocm_perf_lab.report.timeline import packed, timeline_section, unpacked
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Call, Copy, Dispatch

CALLS = [Call("hipLaunchKernel", 90, 120), Call("hipLaunchKernel", 100, 110, thread=8)]
WORK = [
    Dispatch("a", 100, 200, call=0),
    Dispatch("b", 150, 300, queue=2, stream=2, call=1),
    Dispatch("b", 405, 500, queue=2, stream=2),
    Copy(310, 400, stream=2),
]


@pytest.fixture
def table(tmp_path) -> DispatchTable:
    """Three dispatches, a copy and two calls, which are nodes 0 to 5; the path follows the second stream."""
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", WORK, calls=CALLS))
    dag = build_dag(trace)
    return DispatchTable(trace, dag, critical_path(dag))


def columns(section) -> dict[str, list]:
    kinds = {"start_ns": "<f8", "end_ns": "<f8", "name": "<i4", "slices": "<i4", "path_start_ns": "<f8", "flows": "<i4"}
    return {name: unpacked(getattr(section, name), kind).tolist() for name, kind in kinds.items()}


def test_a_run_without_times_has_no_timeline(table):
    assert timeline_section(DispatchTable(table.trace, table.dag, None)) is None


def test_the_critical_path_comes_first(table):
    found = timeline_section(table)
    assert found.names == ["a", "b", "MEMORY_COPY_HOST_TO_DEVICE", "hipLaunchKernel"]
    assert found.kinds == ["kernel", "kernel", "copy", "call"] and (found.span_ns, found.nodes) == (400, 6)
    gpu = "GPU agent 1: An MI300X (gfx942)"
    assert [(one.group, one.name, one.first, one.count) for one in found.tracks] == [
        ("Critical path", "Critical path", 0, 3),
        (gpu, "copies", 3, 1),
        (gpu, "queue 1", 4, 1),
        (gpu, "queue 2", 5, 2),
        (f"{gpu}, by HIP stream", "stream 1", 7, 1),
        (f"{gpu}, by HIP stream", "stream 2", 8, 3),
        ("Host", "thread 7", 11, 1),
        ("Host", "thread 8", 12, 1),
    ]
    assert columns(found) == {
        "start_ns": [0, 50, 305, 210, 0, 0], "end_ns": [100, 200, 400, 300, 20, 10], "name": [0, 1, 1, 2, 3, 3],
        "slices": [1, 3, 2, 3, 0, 1, 2, 0, 1, 3, 2, 4, 5], "path_start_ns": [50, 210, 305], "flows": [4, 0, 5, 1, 3, 2, 1, 3],
    }  # fmt: skip


@pytest.mark.parametrize("nodes, flows, pairs", [(6, 4, 4), (6, 3, 3), (7, 50, 4), (5, 50, 0)])
def test_in_a_large_run_only_the_longest_are_shown_without_dependencies(table, monkeypatch, nodes, flows, pairs):
    monkeypatch.setattr(report, "_MAX_NODES", nodes)
    monkeypatch.setattr(report, "_MAX_FLOWS", flows)
    found = timeline_section(table)
    assert len(columns(found)["flows"]) == 2 * pairs and found.nodes == 6
    assert len(columns(found)["start_ns"]) == min(6, nodes)  # the shortest is a call


def test_indices_refer_to_what_is_shown(table, monkeypatch):
    monkeypatch.setattr(report, "_MAX_NODES", 2)
    found = columns(timeline_section(table))
    assert found["start_ns"] == [0, 50] and found["name"] == [0, 1] and found["slices"][0] == 1


@pytest.mark.parametrize("kind", ["<f8", "<i4"])
def test_packed_values_are_unpacked(kind):
    values = np.arange(10)[::-2]
    assert unpacked(packed(values, kind), kind).tolist() == [9, 7, 5, 3, 1]
