"""A timeline in Chrome's JSON format, for chrome://tracing, ui.perfetto.dev and others.

Source: "Trace Event Format" (Google, 2016): duration events X, flow events s and f, counter events C, metadata M. Times are in
us.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

from rocm_perf_lab.analysis.timeline import Timeline, Track

_COUNTERS = "Counters"


def write_chrome(timeline: Timeline, file: IO[bytes]) -> None:
    """Write the events one by one, so that the whole text is never in memory."""
    file.write(b'{"displayTimeUnit": "ns", "otherData": ' + _json({"title": timeline.title}) + b', "traceEvents": [\n')
    for number, event in enumerate(_events(timeline)):
        file.write((b",\n" if number else b"") + _json(event))
    file.write(b"\n]}\n")


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    groups = list(dict.fromkeys(track.group for track in timeline.tracks))
    first_track: dict[int, tuple[int, int]] = {}  # node -> its first track, as (pid, tid)
    for pid, group in enumerate(groups):
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": f"{group} | {timeline.title}"}}
        yield {"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}
    for tid, track in enumerate(timeline.tracks, 1):
        pid = groups.index(track.group)
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": track.name}}
        yield from _slices(timeline, track, pid, tid, first_track)
    for number, (source, target, kind) in enumerate(timeline.flows):
        if source in first_track and target in first_track:
            yield from _arrow(timeline, number, source, target, kind, first_track)
    for counter in timeline.counters:
        for time, rate in zip(counter.time.tolist(), counter.rate, strict=True):
            yield {"ph": "C", "pid": len(groups), "name": counter.name, "ts": time / 1e3, "args": {"value": rate}}
    if timeline.counters:
        yield {"ph": "M", "pid": len(groups), "name": "process_name", "args": {"name": _COUNTERS}}


def _slices(
    timeline: Timeline, track: Track, pid: int, tid: int, first_track: dict[int, tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    for node, start, end in zip(track.nodes.tolist(), track.start.tolist(), track.end.tolist(), strict=True):
        event = {
            "ph": "X", "pid": pid, "tid": tid, "ts": start / 1e3, "dur": (end - start) / 1e3, "name": timeline.name(node),
            "cat": timeline.category(node),
        }  # fmt: skip
        if node not in first_track:  # further tracks show the node without its details and arrows
            first_track[node] = pid, tid
            event["args"] = timeline.details(node)
        yield event


def _arrow(
    timeline: Timeline, number: int, source: int, target: int, kind: str, first_track: dict[int, tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    """An arrow from the source's end to the target's start. The arrow of a launch begins at the source's start, since the
    kernel can start before the call returns.
    """
    dag = timeline.dag
    leaves = (dag.start if kind == "launch" else dag.end)[source]
    for ph, node, time in (("s", source, leaves), ("f", target, dag.start[target])):
        pid, tid = first_track[node]
        when = int(time - dag.origin) / 1e3
        event = {"ph": ph, "id": number, "pid": pid, "tid": tid, "ts": when, "name": kind, "cat": "flow"}
        yield event | ({"bp": "e"} if ph == "f" else {})  # the arrow ends at the slice that spans this time, not the next
