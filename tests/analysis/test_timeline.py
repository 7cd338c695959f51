"""Lanes and rates of a timeline, compared with counting by hand at each moment."""

from __future__ import annotations

import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import build_dag
from rocm_perf_lab.analysis.timeline import Timeline, _rates, _without_overlaps
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Call, Copy, Dispatch

moments = st.tuples(st.integers(0, 20), st.integers(0, 8)).map(lambda drawn: (drawn[0], sum(drawn)))
slices = st.lists(moments, min_size=1, max_size=12).map(sorted)


def columns(drawn) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array(column, np.int64) for column in zip(*drawn, strict=True))


@given(slices)
def test_each_slice_gets_the_lowest_free_lane(drawn):
    lanes = _without_overlaps(*columns(drawn)).tolist()
    for place, (begin, _) in enumerate(drawn):
        taken = {lanes[earlier] for earlier in range(place) if drawn[earlier][1] > begin}
        assert lanes[place] == min(set(range(len(drawn))) - taken)


@given(slices, st.data())
def test_at_each_moment_the_rates_of_running_slices_are_added(drawn, data):
    values = data.draw(st.lists(st.sampled_from([np.nan, 0.0, 1.0, 24.0, 840.0]), min_size=len(drawn), max_size=len(drawn)))
    at, total = _rates(*columns(drawn), np.array(values))
    told = dict(zip(at.tolist(), total, strict=True))
    counted = [one for one, value in zip(drawn, values, strict=True) if value == value and one[0] < one[1]]
    assert set(told) == {moment for one in counted for moment in one} and at.tolist() == sorted(told)
    for moment, rate in told.items():
        running = [
            1000 * value / (end - begin)
            for (begin, end), value in zip(drawn, values, strict=True)
            if value == value and begin <= moment < end
        ]
        assert rate == pytest.approx(sum(running), rel=1e-4)
        assert running or rate == 0  # with no rounding residue of a sum


CALLS = [
    Call("hipLaunchKernel", 90, 120),
    Call("hipDeviceSynchronize", 130, 260),
    Call("hipLaunchKernel", 100, 110, thread=8),
]
WORK = [
    Dispatch("void a<int>(int*)", 100, 200, call=0, lds=64, counters={"SQ_INSTS": [4.0], "TCC_HIT_sum": [10.0]}),
    Dispatch("b", 150, 300, queue=2, stream=2, call=2, grid=512),
    Dispatch("b", 405, 500, queue=2, stream=2),
    Copy(310, 400, stream=2),
]
GPU = "GPU agent 1: An MI300X (gfx942)"


@pytest.fixture
def timeline(tmp_path):
    """timeline(most, calls) of two queues, a copy and two threads; the nodes are WORK, then the calls by thread."""

    def made(most: int | None = None, calls=CALLS, own=None) -> Timeline:
        work = WORK if calls else [Dispatch("k", one.start, one.end) for one in WORK]
        trace = read_trace(rocpd_database.write(tmp_path / f"{len([*tmp_path.iterdir()])}.db", work, own, calls=calls))
        dag = build_dag(trace)
        return Timeline(trace, dag, critical_path(dag), most)

    return made


def told(of: Timeline) -> list[tuple]:
    return [
        (one.group, one.name, [*zip(one.nodes.tolist(), one.start.tolist(), one.end.tolist(), strict=True)])
        for one in of.tracks
    ]


def test_the_tracks_of_a_run(timeline):
    """Times count from the first start on the GPU; a call that waits is two slices."""
    found = timeline()
    path = [(1, 50, 200), (3, 210, 300), (2, 305, 400)]
    assert told(found) == [
        (GPU, "copies", [(3, 210, 300)]),
        (GPU, "queue 1", [(0, 0, 100)]),
        (GPU, "queue 2", [(1, 50, 200), (2, 305, 400)]),
        (f"{GPU}, by HIP stream", "stream 1", [(0, 0, 100)]),
        (f"{GPU}, by HIP stream", "stream 2", path),
        ("Host", "thread 7", [(4, 0, 20), (5, 30, 30), (6, 100, 160)]),
        ("Host", "thread 8", [(7, 0, 10)]),
        ("Critical path", "Critical path", path),
    ]
    assert found.flows == [(4, 0, "launch"), (7, 1, "launch"), (3, 2, "stream"), (1, 3, "stream"), (0, 6, "wait")]
    assert found.left_out == 0 and found.title == "./app"


@pytest.mark.parametrize(
    "most, left_out, shown, path",
    [(8, 0, {*range(8)}, [1, 3, 2]), (9, 0, {*range(8)}, [1, 3, 2]), (3, 5, {0, 1, 2}, [1, 2]), (1, 7, {1}, [1])],
)
def test_the_longest_slices_are_shown_if_there_are_too_many(timeline, most, left_out, shown, path):
    found = timeline(most)
    assert found.left_out == left_out and {node for one in found.tracks for node in one.nodes.tolist()} == shown
    assert found.tracks[-1].nodes.tolist() == path


def test_what_a_viewer_shows_of_a_slice(timeline):
    found = timeline()
    assert [(found.name(node), found.category(node)) for node in (0, 3, 6)] == [
        ("a<int>", "kernel"), ("MEMORY_COPY_HOST_TO_DEVICE", "copy"), ("hipDeviceSynchronize", "call"),
    ]  # fmt: skip
    assert found.details(0) == {
        "on critical path": False, "slack_ns": 300, "kernel": "void a<int>(int*)", "grid": "256x1x1", "workgroup": "256x1x1",
        "lds_bytes": 64, "scratch_bytes": 0, "SQ_INSTS": 4.0, "TCC_HIT_sum": 10.0,
    }  # fmt: skip
    assert "SQ_INSTS" not in found.details(1) and found.details(1)["grid"] == "512x1x1"
    assert found.details(3) == {"on critical path": True, "slack_ns": 0, "bytes": 4096}
    assert found.details(6) == {"on critical path": False, "slack_ns": 240}


def test_counters_that_explain_times_have_tracks(timeline):
    (track,) = timeline().counters  # L2 hits explain no times
    assert (track.name, track.time.tolist(), track.rate) == ("SQ_INSTS per us", [0, 100], [40.0, 0.0])


def test_slices_that_overlap_are_on_several_tracks(timeline):
    """Without HIP calls, and with all dispatches in one queue and stream."""
    *found, _ = told(timeline(calls=()))
    assert found == [
        (GPU, "queue 1", [(0, 0, 100), (3, 210, 300), (2, 305, 400)]), (GPU, "queue 1 (overlapping 1)", [(1, 50, 200)]),
    ]  # fmt: skip


def test_a_node_of_the_path_begins_where_the_one_before_ended():
    """The second node on the path does not count; the last one ended before its predecessor."""

    class Dag:
        start, end, origin = np.array([10, 30, 35, 20]), np.array([40, 60, 50, 22]), 10

        def __len__(self):
            return 4

    path = types.SimpleNamespace(nodes=np.array([0, 3, 1, 2]), counted=np.array([True, False, True, True]))
    track = Timeline(None, Dag(), path)._critical_path()
    assert [*zip(track.nodes.tolist(), track.start.tolist(), track.end.tolist(), strict=True)] == [
        (0, 0, 30),
        (1, 30, 50),
        (2, 50, 50),
    ]


def test_modelled_times_are_announced(timeline):
    assert timeline(own={"timing": "modelled"}).title == "MODELLED times, no GPU ran this: ./app"


def test_a_timeline_needs_times():
    with pytest.raises(ValueError, match="needs times"):
        Timeline.of(types.SimpleNamespace(path=None))
