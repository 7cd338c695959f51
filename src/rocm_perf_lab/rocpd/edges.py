"""Dependencies between dispatches and copies, either recorded by the collector or inferred from their order in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.lazy_jit import lazy_jit
from rocm_perf_lab.rocpd.factorize import factorize
from rocm_perf_lab.rocpd.timestamp_overlaps import done_times
from rocm_perf_lab.rocpd.trace import NO_ID, Copies, Dispatches, Edges

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask

NULL_STREAM = 0  # rocprofv3's number for the null stream

_KIND = {name: index for index, name in enumerate(Edges.KINDS)}
_QUEUE, _STREAM = _KIND["queue"], _KIND["stream"]


def edge_table(source: Integers, target: Integers, kind: Integers | int, exact: Mask | bool) -> Edges:
    """Build a table of edges, with the column types of Edges; a single `kind` or `exact` applies to all edges."""
    count = len(source)
    return Edges(
        np.asarray(source, np.int32),
        np.asarray(target, np.int32),
        np.full(count, kind, np.int8) if np.isscalar(kind) else np.asarray(kind, np.int8),
        np.full(count, exact, bool) if np.isscalar(exact) else np.asarray(exact, bool),
    )


def join_edges(*parts: Edges) -> Edges:
    return Edges(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("source", "target", "kind", "exact")))


def exact_edges(recorded: Integers, dispatches: Dispatches, copies: Copies) -> Edges:
    """Edges that the collector recorded. recorded: (r, 3); each row holds an event, the event it depends on, and the kind.

    Dropped: unknown kinds, an event's dependency on itself, and events that are neither a dispatch nor a copy of this trace.
    """
    events = np.r_[dispatches.event_id, copies.event_id].astype(np.int64)
    of_target, of_source, kind = recorded.astype(np.int64).reshape(-1, 3).T
    target, source = index_of(events, of_target), index_of(events, of_source)
    known = (target >= 0) & (source >= 0) & (target != source) & (kind >= 0) & (kind < len(Edges.KINDS))
    rows = np.c_[source, target, kind][known]
    rows = np.unique(rows, axis=0) if len(rows) else rows
    return edge_table(rows[:, 0], rows[:, 1], rows[:, 2], True)


def index_of(ids: Integers, wanted: Integers) -> Integers:
    """The index of each wanted id in `ids` (of its last occurrence, if there are several), or -1."""
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(ids, kind="stable")
    position = np.searchsorted(ids[order], wanted, side="right") - 1
    candidate = order[np.maximum(position, 0)]
    return np.where((position >= 0) & (ids[candidate] == wanted), candidate, -1)


def inferred_edges(dispatches: Dispatches, copies: Copies) -> Edges:
    """Edges for traces without recorded dependencies (rocprofv3 records none).

    Work in one queue, and work in one HIP stream, is assumed to run in the order of its recorded times: each node depends on
    the last node of the same queue or stream that was done before it started. An order that holds in both the queue and the
    stream counts as stream order. Work in a GPU's null stream (id 0) is assumed to wait for that GPU's other streams and vice
    versa, which is HIP's default. Other waits are visible only if HIP calls were traced: see host_edges.
    timestamp_overlaps.done_times determines when a node is done.
    """
    start = np.r_[dispatches.start, copies.start].astype(np.int64)
    end = np.r_[dispatches.end, copies.end].astype(np.int64)
    if not len(start):
        return edge_table(start, start, 0, False)
    queue = _number_ids(np.r_[dispatches.queue_id, np.full(len(copies), NO_ID, np.int32)])
    stream, gpu_of_stream, null_of_gpu = _streams(dispatches, copies)
    order = time_order(start, end)
    end = done_times(start, end, queue, stream, gpu_of_stream, null_of_gpu, order)
    by_end = order[np.argsort(end[order], kind="stable")]
    rank = inverse(order)
    arguments = (start, end, queue, stream, gpu_of_stream, null_of_gpu, order, by_end, rank)
    room = 2 * len(start)  # usually enough; a null stream that waits for many others can need more
    source, target, kind = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int8)
    count = _follow(*arguments, source, target, kind)
    if count > room:
        source, target, kind = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int8)
        _follow(*arguments, source, target, kind)
    return Edges(source[:count].copy(), target[:count].copy(), kind[:count].copy(), np.zeros(count, bool))


def time_order(start: Integers, end: Integers) -> Integers:
    """Node indices ordered by start, then end, then index, (n,) int32."""
    order = np.argsort(start, kind="stable").astype(np.int32)
    tied = start[order[1:]] == start[order[:-1]]
    if np.any(end[order[1:]][tied] < end[order[:-1]][tied]):
        order = np.lexsort((end, start)).astype(np.int32)
    return order


def inverse(order: Integers) -> Integers:
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return rank


def _number_ids(ids: Integers) -> Integers:
    """Number the distinct ids from 0; NO_ID stays as it is."""
    return np.where(ids == NO_ID, NO_ID, factorize(ids)[1]).astype(np.int32)


def _streams(dispatches: Dispatches, copies: Copies) -> tuple[Integers, Integers, Integers]:
    """The stream of every node, as a code; each code's GPU; and the code of each GPU's null stream.

    Each GPU has its own null stream, although the trace gives all of them the id 0. NO_ID stands for streams that imply no
    order: for programs that launch only through HSA, all work is recorded under stream 0, whatever its queue, so a "stream"
    whose dispatches went to several queues is not a stream.
    """
    stream = np.r_[dispatches.stream_id, copies.stream_id].astype(np.int64)
    gpus, gpu = factorize(np.r_[dispatches.agent_id, copies.agent_id])
    named, name = factorize(stream)
    key = np.where(stream == NULL_STREAM, len(named) + gpu, name)  # null streams, one per GPU, are numbered above the others
    keys, code = factorize(key)
    first = np.empty(len(keys), np.int64)
    first[code[::-1]] = np.arange(len(code))[::-1]
    queues, queue = factorize(dispatches.queue_id)
    pairs, _ = factorize(code[: len(dispatches)].astype(np.int64) * len(queues) + queue)
    queues_used = np.bincount(pairs // max(len(queues), 1), minlength=len(keys))
    null = keys >= len(named)
    orders = (stream[first] != NO_ID) & (queues_used < 2)
    null_of_gpu = np.full(len(gpus), NO_ID, np.int32)
    null_of_gpu[keys[null & orders] - len(named)] = np.flatnonzero(null & orders)
    return np.where(orders[code], code, NO_ID).astype(np.int32), gpu[first].astype(np.int32), null_of_gpu


def tracks(dispatches: Dispatches, copies: Copies) -> tuple[Integers, dict[int, int]]:
    """The tracks in which work runs in order: for each dispatch, then each copy, its stream, or its queue if the stream implies
    no order.

    Also returns, for each GPU (agent id) that has one, the track of its null stream. Copies outside streams share a track.
    """
    stream, _, null_of_gpu = _streams(dispatches, copies)
    queues, queue = factorize(np.r_[dispatches.queue_id, np.full(len(copies), NO_ID, np.int32)])
    streams = int(stream.max()) + 1 if len(stream) else 0
    gpus = factorize(np.r_[dispatches.agent_id, copies.agent_id])[0]
    null_stream_track = {int(gpu): int(track) for gpu, track in zip(gpus, null_of_gpu, strict=True) if track != NO_ID}
    return np.where(stream >= 0, stream, streams + queue).astype(np.int64), null_stream_track


@lazy_jit
def _follow(
    start: Integers,
    end: Integers,
    queue: Integers,
    stream: Integers,
    gpu_of_stream: Integers,
    null_of_gpu: Integers,
    order: Integers,
    by_end: Integers,
    rank: Integers,
    source: Integers,
    target: Integers,
    kind: Integers,
) -> int:
    """Write as many edges as there is room for, and return how many there are in all. A single pass, in order of start times,
    keeps track of the nodes that have ended.
    """
    count = 0
    ended = 0
    room = len(source)
    queues = 0
    for node in range(len(queue)):
        queues = max(queues, queue[node] + 1)
    last_of_queue = np.full(queues + 1, -1, np.int32)
    streams = len(gpu_of_stream)
    last_of_stream = np.full(streams + 1, -1, np.int32)
    null_saw = np.full(streams + 1, -1, np.int32)  # for each stream, its last node that the GPU's null stream has waited for
    saw_null = np.full(streams + 1, -1, np.int32)  # for each stream, the last null-stream node that it has waited for
    for position in range(len(order)):
        node = order[position]
        # Nodes that take no time end when they start, so only nodes that precede this one in the order can be its predecessors.
        while end[by_end[ended]] <= start[node] and rank[by_end[ended]] < position:
            before = by_end[ended]
            last_of_queue[queue[before]] = before  # index -1 stands for no queue: it is the extra last element
            last_of_stream[stream[before]] = before
            ended += 1
        own = stream[node]
        by_queue = last_of_queue[queue[node]] if queue[node] >= 0 else -1
        by_stream = last_of_stream[own] if own >= 0 else -1
        if by_stream >= 0:
            if count < room:
                source[count], target[count], kind[count] = by_stream, node, _STREAM
            count += 1
        null = null_of_gpu[gpu_of_stream[own]] if own >= 0 else -1
        if by_queue >= 0 and by_queue != by_stream:
            other = stream[by_queue]
            waits = null >= 0 and other >= 0 and gpu_of_stream[other] == gpu_of_stream[own] and (null == own or null == other)
            if count < room:
                source[count], target[count], kind[count] = by_queue, node, _STREAM if waits else _QUEUE
            count += 1
        if null < 0:
            continue
        if null == own:
            for other in range(streams):
                before = last_of_stream[other]
                fresh = before >= 0 and before != null_saw[other]
                if other != own and fresh and gpu_of_stream[other] == gpu_of_stream[own]:
                    null_saw[other] = before
                    if before != by_queue:
                        if count < room:
                            source[count], target[count], kind[count] = before, node, _STREAM
                        count += 1
        else:
            before = last_of_stream[null]
            if before >= 0 and before != saw_null[own]:
                saw_null[own] = before
                if before != by_queue:
                    if count < room:
                        source[count], target[count], kind[count] = before, node, _STREAM
                    count += 1
    return count
