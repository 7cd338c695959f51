"""The timeline as the page reads it."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.report.html.timeline_data import kernels_in, timeline_data
from rocm_perf_lab.report.timeline import packed
from rocm_perf_lab.report.timeline_schema import TimelineDocument, TimelineSection, TimelineTrack

NAMES = ["void a<int>(int*)", "b()", "copy", "hipMemcpy"]


def track(group: str, name: str, first: int = 0, count: int = 1) -> TimelineTrack:
    return TimelineTrack(group=group, name=name, first=first, count=count)


def document(tracks=(), names=NAMES, kinds=("kernel", "runtime kernel", "copy", "call"), nodes=4, took=(5, 9, 7, 99)):
    """One node with each name by default."""
    section = TimelineSection.model_construct(
        names=[*names], kinds=[*kinds], tracks=[*tracks], start_ns=packed(np.zeros(len(took)), "<f8"),
        end_ns=packed(np.array(took), "<f8"), name=packed(np.arange(len(took)) % len(names), "<i4"), slices="S",
        path_start_ns="P", flows="F", span_ns=99, nodes=nodes,
    )  # fmt: skip
    return TimelineDocument.model_construct(timeline=section, reasons={})


def test_names_colours_and_the_legend():
    assert kernels_in(document()) == {"void a<int>(int*)", "b()"}
    found = timeline_data(document(), {"void a<int>(int*)": 3})
    assert found["no_timeline"] is None
    data = found["timeline"]
    assert data["names"] == ["a<int>", "b", "copy", "hipMemcpy"] and data["kinds"] == [3, 0, -1, -2]
    assert data["legend"] == [1, 2, 0]  # most time first, without calls
    assert (data["node"], data["cut"], data["flows"], data["span"], data["note"]) == ("S", "P", "F", 99, "")


def test_the_legend_has_at_most_24_names_and_none_without_time():
    assert timeline_data(document(took=(0, 9, 0, 1)), {})["timeline"]["legend"] == [1]
    for count in (23, 24, 25):
        names = [f"k{number}" for number in range(count)]
        found = document(names=names, kinds=["kernel"] * count, took=[7] * count)
        assert timeline_data(found, {})["timeline"]["legend"] == [*range(min(count, 24))]


@pytest.mark.parametrize(
    "nodes, note", [(4, ""), (5, "The 1 shortest of 5 are left out."), (5004, "The 5,000 shortest of 5,004 are left out.")]
)
def test_omitted_nodes_are_mentioned(nodes, note):
    assert timeline_data(document(nodes=nodes), {})["timeline"]["note"] == note


def test_tracks_name_their_gpu_if_there_are_several():
    one, two = "GPU agent 1: An MI300X (gfx942)", "GPU agent 2: An MI300X (gfx942)"
    tracks = [track("Critical path", "Critical path", 0, 3), track(one, "queue 1", 3, 2), track("Host", "thread 7", 5)]
    found = timeline_data(document(tracks), {})["timeline"]["tracks"]
    assert found == [
        {"name": "Critical path", "first": 0, "count": 3, "path": True, "again": False},
        {"name": "queue 1", "first": 3, "count": 2, "path": False, "again": False},
        {"name": "thread 7", "first": 5, "count": 1, "path": False, "again": False},
    ]
    tracks += [track(f"{one}, by HIP stream", "stream 2"), track(two, "queue 1")]
    found = timeline_data(document(tracks), {})["timeline"]["tracks"]
    assert [one["name"] for one in found] == [
        "Critical path", "GPU agent 1, queue 1", "thread 7", "GPU agent 1, stream 2", "GPU agent 2, queue 1",
    ]  # fmt: skip
    assert [one["again"] for one in found] == [False, False, False, True, False]


def test_without_a_timeline_the_reason_is_given():
    nothing = TimelineDocument.model_construct(timeline=None, reasons={"timeline": "no times"})
    assert (
        timeline_data(nothing, {}) == {"timeline": None, "no_timeline": "No timeline: no times."}
        and kernels_in(nothing) == set()
    )
