"""timeline.json: the data of report.html's timeline; see schema.py."""

from __future__ import annotations

from pydantic import Field

from rocm_perf_lab.report.schema import Document
from rocm_perf_lab.report.section_base import Section


class TimelineTrack(Section):
    group: str = Field(description="the GPU, the host, or the critical path")
    name: str = Field(description="the queue, stream or thread")
    first: int = Field(description="index of its first slice in slices")
    count: int = Field(description="number of its slices, which do not overlap")


class TimelineSection(Section):
    """Arrays are base64 of little-endian numbers: f8 is float64, i4 is int32."""

    names: list[str] = Field(description="kernels, kinds of copies and host calls")
    kinds: list[str] = Field(description="kernel, runtime, copy or call, for each of names")
    tracks: list[TimelineTrack] = Field(description="the critical path, then queues, streams and host threads")
    start_ns: str = Field(description="f8: start of each shown dispatch, copy or call, relative to the first on the GPU")
    end_ns: str = Field(description="f8: its end")
    name: str = Field(description="i4: its name, as an index into names")
    slices: str = Field(description="i4: the tracks' slices, as indices into start_ns")
    path_start_ns: str = Field(description="f8: where the critical path's slices begin, each where the previous one ended")
    flows: str = Field(description="i4: dependencies between what is shown, as pairs of indices into start_ns")
    span_ns: int = Field(description="end of the last slice")
    nodes: int = Field(description="number of dispatches, copies and calls in the trace")


class TimelineDocument(Document):
    """timeline.json: tracks of dispatches, copies and host calls, for report.html."""

    timeline: TimelineSection | None = Field(description="the 100,000 longest dispatches, copies and calls if there are more")
