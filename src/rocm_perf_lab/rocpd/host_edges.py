"""Derives dependencies from traced HIP calls: launches, synchronisations, events between streams, order within threads."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.rocpd.edges import edge_table, join_edges, tracks
from rocm_perf_lab.rocpd.hip_calls import HipCalls
from rocm_perf_lab.rocpd.timestamp_overlaps import is_slight
from rocm_perf_lab.rocpd.trace import Calls, Copies, Dispatches, Edges

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask, Texts

_OF_DEVICE = {"hipDeviceSynchronize", "hipCtxSynchronize", "hipDeviceReset", "hipFree", "hipHostFree", "hipFreeHost"}
_OF_STREAM = {"hipStreamSynchronize", "hipStreamSynchronize_spt"}
_OF_EVENT = {"hipEventSynchronize"}
_RECORD = {"hipEventRecord", "hipEventRecord_spt", "hipEventRecordWithFlags"}
_STREAM_WAIT = {"hipStreamWaitEvent", "hipStreamWaitEvent_spt"}
_NULL_STREAM = {"0", "0x0", "(nil)", "nullptr"}

_LAUNCH, _EVENT, _WAIT, _PROGRAM = (Edges.KINDS.index(kind) for kind in ("launch", "event", "wait", "program"))
_UNKNOWN = -1


def host_graph(calls: HipCalls, dispatches: Dispatches, copies: Copies) -> tuple[Calls, Edges]:
    """The calls that launch GPU work or wait for it, clipped to the GPU's span; and the edges from and to these calls, and
    between streams that wait for events.

    Launches are exact, because the trace records them. So are the order within a thread, the waits of blocking copies, and
    waits for a stream or an event whose handle was recorded with the calls that used it. Other waits are inferred: a call is
    assumed to have waited for the work that was submitted to each stream before the call, if that work had ended when the call
    returned. Edges that contradict the recorded times are omitted.
    """
    work = _Work.of(calls, dispatches, copies)
    named = np.array(calls.names, object)[calls.name_index] if len(calls) else np.empty(0, object)
    launches = np.zeros(len(calls), bool)
    launches[work.launcher[work.launcher >= 0]] = True
    streams = _Streams(calls, work, named)
    waits = _own_waits(calls, work, named) + _synchronisations(calls, work, streams, named)
    node = np.concatenate([wait.node for wait in waits])
    call = np.concatenate([wait.call for wait in waits])
    exact = np.concatenate([wait.exact for wait in waits])
    ready = calls.start.copy()
    np.maximum.at(ready, call, work.end[node])
    is_relevant = launches | np.isin(named, list(_OF_DEVICE | _OF_STREAM | _OF_EVENT))
    rows = _Rows.of(calls, is_relevant, ready, work)
    first_node = len(dispatches) + len(copies)
    return rows.calls, join_edges(
        _launches(calls, work, rows, first_node),
        edge_table(node, first_node + rows.last[call], _WAIT, exact),
        rows.program_order(first_node),
        _events(calls, work, streams, named),
    )


def share_a_clock(calls: HipCalls, dispatches: Dispatches, copies: Copies) -> bool:
    """Whether most launches precede what they launch. Most are enough, since some profilers convert the GPU's times slightly
    inaccurately.
    """
    start = np.r_[dispatches.start, copies.start]
    launched = calls.launcher >= 0
    before = calls.start[calls.launcher[launched]] <= start[launched]
    return 2 * int(np.count_nonzero(before)) >= len(before)


@dataclass(frozen=True)
class _Work:
    """For every dispatch, then every copy, (n,): times, launching call, latest possible time of submission, track and GPU.

    A track is a stream, or a queue if the stream implies no order. order: nodes by track, then by submission; the nodes of
    track t are order[first[t]:first[t + 1]]. submitted: times of submission, in that order.
    """

    start: Integers
    end: Integers
    launcher: Integers
    submit: Integers
    track: Integers
    gpu: Integers
    order: Integers
    first: Integers
    submitted: Integers
    null_stream_track: dict[int, int]

    @classmethod
    def of(cls, calls: HipCalls, dispatches: Dispatches, copies: Copies) -> _Work:
        start = np.r_[dispatches.start, copies.start].astype(np.int64)
        end = np.r_[dispatches.end, copies.end].astype(np.int64)
        gpu = np.r_[dispatches.agent_id, copies.agent_id].astype(np.int64)
        launched = calls.launcher >= 0
        submit = np.where(launched, np.minimum(calls.start[np.maximum(calls.launcher, 0)], start), start)
        track, null_stream_track = tracks(dispatches, copies)
        order = np.lexsort((submit, track))
        first = np.r_[0, np.cumsum(np.bincount(track))]
        return cls(start, end, calls.launcher, submit, track, gpu, order, first, submit[order], null_stream_track)

    def last_before(self, track: int, time: Integers) -> Integers:
        """For each time, the last node of the track that was submitted before it, or -1."""
        begin, end = int(self.first[track]), int(self.first[track + 1])
        position = np.searchsorted(self.submitted[begin:end], time) + begin - 1
        return np.where(position >= begin, self.order[np.maximum(position, begin)], -1)

    def is_before(self, source: int, target: int) -> bool:
        """Whether `target` could have waited for `source`, judging by their times."""
        return bool(is_slight(self.start, self.end, np.array([source]), np.array([target]))[0])

    def first_after(self, track: int, time: int) -> int:
        begin, end = int(self.first[track]), int(self.first[track + 1])
        position = int(np.searchsorted(self.submitted[begin:end], time)) + begin
        return int(self.order[position]) if position < end else -1


class _Streams:
    """Determines which track a stream handle denotes, when an event was recorded, and which GPU a thread works with."""

    def __init__(self, calls: HipCalls, work: _Work, named: Texts):
        self._calls, self._work = calls, work
        self.gpu = _gpu_of_calls(calls, work)
        self._tracks: dict[str, set[int]] = defaultdict(set)
        launched = np.flatnonzero(work.launcher >= 0) if calls.streams else ()
        for node in launched:
            handle = calls.streams.get(int(work.launcher[node]))
            if handle is not None:
                self._tracks[handle].add(int(work.track[node]))
        self._records: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for call in np.flatnonzero(np.isin(named, list(_RECORD))).tolist() if calls.events else ():
            if call in calls.events:
                self._records[calls.events[call]].append((int(calls.start[call]), call))
        for records in self._records.values():
            records.sort()

    def track(self, call: int) -> int:
        """The track of the stream that was passed to a call; -1 if it is not known, for example because the handle denoted
        several streams in succession.
        """
        handle = self._calls.streams.get(call)
        if handle in _NULL_STREAM:
            return self._work.null_stream_track.get(int(self.gpu[call]), _UNKNOWN)
        known = self._tracks.get(handle or "", ())
        return next(iter(known)) if len(known) == 1 else _UNKNOWN

    def record(self, call: int) -> int:
        """The call that last recorded the event that was passed to `call`, or -1."""
        records = self._records.get(self._calls.events.get(call, ""), [])
        position = bisect_right(records, (int(self._calls.start[call]), call)) - 1
        return records[position][1] if position >= 0 else _UNKNOWN


def _gpu_of_calls(calls: HipCalls, work: _Work) -> Integers:
    """The GPU on which the calling thread last launched something, (c,); -1 before its first launch."""
    gpu = np.full(len(calls), _UNKNOWN, np.int64)
    launched = work.launcher >= 0
    gpu[work.launcher[launched]] = work.gpu[launched]
    launching_call = np.where(gpu >= 0, np.arange(len(calls)), -1)
    starts = np.r_[True, calls.thread[1:] != calls.thread[:-1]]
    latest = np.maximum.accumulate(launching_call)
    thread_start = np.maximum.accumulate(np.where(starts, np.arange(len(calls)), 0))
    return np.where(latest >= thread_start, gpu[np.maximum(latest, 0)], _UNKNOWN)


@dataclass(frozen=True)
class _Waits:
    """call[i] waits for node[i]."""

    node: Integers
    call: Integers
    exact: Mask


def _own_waits(calls: HipCalls, work: _Work, named: Texts) -> list[_Waits]:
    """Waits of calls for work that they launched. Whether a call other than hipMemcpy blocked is inferred from its times."""
    blocks = np.array([not ("Async" in name or "Launch" in name) for name in calls.names], bool)
    node = np.flatnonzero(work.launcher >= 0)
    call = work.launcher[node]
    waited = blocks[calls.name_index[call]] & (work.end[node] <= calls.end[call])
    node, call = node[waited], call[waited]
    sure = np.array([name.startswith("hipMemcpy") for name in calls.names], bool)
    return [_Waits(node, call, sure[calls.name_index[call]])]


def _synchronisations(calls: HipCalls, work: _Work, streams: _Streams, named: Texts) -> list[_Waits]:
    """For each synchronising call and each track for which it waits, the last work submitted before the call (or before the
    event for which it waits was recorded).
    """
    call = np.flatnonzero(np.isin(named, list(_OF_DEVICE | _OF_STREAM | _OF_EVENT)))
    track, as_of = np.full(len(call), _UNKNOWN, np.int64), calls.start[call].copy()
    if calls.streams or calls.events:
        for index, number in enumerate(call.tolist()):
            if named[number] in _OF_STREAM:
                track[index] = streams.track(number)
            elif named[number] in _OF_EVENT and (record := streams.record(number)) >= 0:
                track[index], as_of[index] = streams.track(record), calls.start[record]
    gpu = streams.gpu[call]
    waits = []
    for number in range(len(work.first) - 1):
        if work.first[number] == work.first[number + 1]:
            continue
        gpu_of_track = work.gpu[work.order[work.first[number]]]
        waiting = np.flatnonzero((track == number) | ((track == _UNKNOWN) & ((gpu == gpu_of_track) | (gpu == _UNKNOWN))))
        node = work.last_before(number, as_of[waiting])
        waited = (node >= 0) & (work.end[node] <= calls.end[call[waiting]])
        waiting, node = waiting[waited], node[waited]
        # A thread need not wait a second time for the same work.
        fresh = np.r_[True, (node[1:] != node[:-1]) | (calls.thread[call[waiting[1:]]] != calls.thread[call[waiting[:-1]]])]
        waiting, node = waiting[fresh[: len(waiting)]], node[fresh[: len(node)]]
        waits.append(_Waits(node, call[waiting], track[waiting] != _UNKNOWN))
    return waits


@dataclass(frozen=True)
class _Rows:
    """calls: the rows of the table. first, last: for each HIP call, the first and last of its one or two rows; -1 if it has
    none.
    """

    calls: Calls
    first: Integers
    last: Integers
    call: Integers

    @classmethod
    def of(cls, calls: HipCalls, is_relevant: Mask, ready: Integers, work: _Work) -> _Rows:
        """ready: when the work for which a call waits was done; for a call that does not wait, its start."""
        waits = ready > calls.start
        count = np.where(is_relevant, 1 + waits, 0)
        last = np.where(is_relevant, np.cumsum(count) - 1, -1)
        first = np.where(is_relevant, last - waits, -1)
        call = np.repeat(np.arange(len(calls)), count)
        is_entry = first[call] == np.arange(len(call))
        start = np.where(is_entry, calls.start[call], ready[call])
        end = np.where(is_entry & waits[call], start, calls.end[call])
        begin, stop = int(work.start.min()), int(work.end.max())
        start, end = np.clip(start, begin, stop), np.clip(end, begin, stop)
        took = np.where(is_entry, (calls.end - calls.start)[call], -1)
        rows = Calls(calls.thread[call], start, end, calls.name_index[call], took, calls.names)
        return cls(rows, first, last, call)

    def program_order(self, first_node: int) -> Edges:
        thread = self.calls.thread
        source = np.flatnonzero(thread[1:] == thread[:-1])
        return edge_table(first_node + source, first_node + source + 1, _PROGRAM, True)


def _launches(calls: HipCalls, work: _Work, rows: _Rows, first_node: int) -> Edges:
    node = np.flatnonzero(work.launcher >= 0)
    node = node[work.start[node] >= calls.start[work.launcher[node]]]
    return edge_table(first_node + rows.first[work.launcher[node]], node, _LAUNCH, True)


def _events(calls: HipCalls, work: _Work, streams: _Streams, named: Texts) -> Edges:
    """Waits between streams: the waiting stream's next work follows the last work in the other stream before the event was
    recorded.
    """
    pairs = []
    for call in np.flatnonzero(np.isin(named, list(_STREAM_WAIT))).tolist() if calls.events else ():
        record = streams.record(call)
        track, other = streams.track(call), streams.track(record) if record >= 0 else _UNKNOWN
        if _UNKNOWN in (track, other) or track == other:
            continue
        source = int(work.last_before(other, calls.start[[record]])[0])
        target = work.first_after(track, int(calls.start[call]))
        if source >= 0 and target >= 0 and work.is_before(source, target):
            pairs.append((source, target))
    rows = np.array(sorted(set(pairs)), np.int64).reshape(-1, 2)
    return edge_table(rows[:, 0], rows[:, 1], _EVENT, True)
