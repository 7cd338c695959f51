"""Builds timeline.json from the table of dispatches."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.timeline import CRITICAL_PATH, Timeline, Track
from rocm_perf_lab.report.dispatch_table import DispatchTable
from rocm_perf_lab.report.timeline_schema import TimelineSection, TimelineTrack

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

_MAX_NODES = 100_000  # browsers remain responsive with this many, each on up to three tracks
_MAX_FLOWS = 50_000


def timeline_section(table: DispatchTable) -> TimelineSection | None:
    """None for a run without times."""
    if table.path is None:
        return None
    dag = table.dag
    timeline = Timeline(table.trace, dag, table.path, _MAX_NODES)
    tracks = sorted(timeline.tracks, key=lambda track: track.group != CRITICAL_PATH)  # the most important first
    nodes = np.unique(np.concatenate([track.nodes for track in tracks]))
    return TimelineSection(
        names=list(dag.names),
        kinds=list(dag.kinds),
        tracks=list(_tracks(tracks)),
        start_ns=packed(dag.start[nodes] - dag.origin, "<f8"),
        end_ns=packed(dag.end[nodes] - dag.origin, "<f8"),
        name=packed(dag.name_index[nodes], "<i4"),
        slices=packed(np.concatenate([np.searchsorted(nodes, track.nodes) for track in tracks]), "<i4"),
        path_start_ns=packed(tracks[0].start, "<f8"),
        flows=packed(_flows(timeline, nodes), "<i4"),
        span_ns=max((int(track.end.max()) for track in tracks if len(track.end)), default=0),
        nodes=len(dag),
    )


def _tracks(tracks: Sequence[Track]) -> Iterator[TimelineTrack]:
    first = 0
    for track in tracks:
        yield TimelineTrack(group=track.group, name=track.name, first=first, count=len(track.nodes))
        first += len(track.nodes)


def _flows(timeline: Timeline, nodes: Integers) -> Integers:
    """Dependencies as pairs of positions in `nodes`: the first node of each pair must end before the second starts. Empty
    for large graphs.
    """
    if len(timeline.dag) > _MAX_NODES:
        return np.empty(0, np.int64)
    pairs = np.array([(source, target) for source, target, _ in timeline.flows], np.int64).reshape(-1, 2)
    pairs = pairs[np.isin(pairs, nodes).all(axis=1)][:_MAX_FLOWS]
    return np.searchsorted(nodes, pairs).ravel()


def packed(values: Integers, kind: str) -> str:
    """The values, converted to the NumPy type `kind`, in base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def unpacked(text: str, kind: str) -> Integers:
    return np.frombuffer(base64.b64decode(text), dtype=kind)
