"""timeline.json in the form that the page needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rocm_perf_lab.analysis.dag import CALL, COPY
from rocm_perf_lab.analysis.timeline import CRITICAL_PATH
from rocm_perf_lab.report.timeline import unpacked
from rocm_perf_lab.report.timeline_schema import TimelineDocument, TimelineSection, TimelineTrack
from rocm_perf_lab.text.names import short_name

_MAX_IN_LEGEND = 24
_BY_STREAM = "by HIP stream"
_NO_KERNEL = {COPY: -1, CALL: -2}  # colours of slices that are not kernels, as in timeline.js


def kernels_in(document: TimelineDocument) -> set[str]:
    """The names of the kernels, each of which needs a colour."""
    if document.timeline is None:
        return set()
    pairs = zip(document.timeline.names, document.timeline.kinds, strict=True)
    return {name for name, kind in pairs if kind not in _NO_KERNEL}


def timeline_data(document: TimelineDocument, kinds: Mapping[str, int]) -> dict[str, Any]:
    """The timeline's data. kinds: the kernels' colours."""
    timeline = document.timeline
    if timeline is None:
        return {"timeline": None, "no_timeline": f"No timeline: {document.reasons['timeline']}."}
    start, end, name = unpacked(timeline.start_ns, "<f8"), unpacked(timeline.end_ns, "<f8"), unpacked(timeline.name, "<i4")
    left_out = timeline.nodes - len(start)
    data = {
        "tracks": list(_tracks(timeline.tracks)),
        "names": [short_name(label) for label in timeline.names],
        "kinds": [
            _NO_KERNEL.get(kind, kinds.get(label, 0)) for label, kind in zip(timeline.names, timeline.kinds, strict=True)
        ],
        "legend": _legend(timeline, np.bincount(name, weights=end - start, minlength=len(timeline.names))),
        "start": timeline.start_ns,
        "end": timeline.end_ns,
        "name": timeline.name,
        "node": timeline.slices,
        "cut": timeline.path_start_ns,
        "flows": timeline.flows,
        "span": timeline.span_ns,
        "note": f"The {left_out:,} shortest of {timeline.nodes:,} are left out." if left_out else "",
    }
    return {"timeline": data, "no_timeline": None}


def _tracks(tracks: list[TimelineTrack]) -> Iterator[dict[str, Any]]:
    several = len({track.group for track in tracks if track.group.startswith("GPU")}) > 1
    for track in tracks:
        name = f"{track.group.split(':')[0]}, {track.name}" if several and track.group.startswith("GPU") else track.name
        yield {
            "name": name,
            "first": track.first,
            "count": track.count,
            "path": track.group == CRITICAL_PATH,
            "again": track.group.endswith(_BY_STREAM),
        }


def _legend(timeline: TimelineSection, time: Any) -> list[int]:
    """Indices of the names with the most GPU time, longest first, excluding host calls. time: the total time for each name."""
    order = np.argsort(-time, kind="stable").tolist()
    return [number for number in order if time[number] > 0 and timeline.kinds[number] != CALL][:_MAX_IN_LEGEND]
