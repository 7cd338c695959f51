"""Dependencies between dispatches and copies: as the collector recorded them, or inferred from order in time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rocm_perf_lab.rocpd.tables import NO_ID, Copies, Dispatches, Edges

NULL_STREAM = 0  # as rocprofv3 numbers it

_KIND = {name: index for index, name in enumerate(Edges.KINDS)}


def exact_edges(events: Iterable[tuple[int, dict[str, Any]]], dispatches: Dispatches, copies: Copies) -> Edges:
    """Edges from event.extdata: {"depends_on": [[event id, "queue" | "signal" | "host"], ...]}.

    References to events that are neither a dispatch nor a copy of this trace are dropped.
    """
    node_of_event = {int(event): node for node, event in enumerate(np.r_[dispatches.event_id, copies.event_id])}
    edges = sorted(
        {
            (node_of_event[source], node_of_event[event], _KIND[kind])
            for event, extdata in events
            if event in node_of_event
            for source, kind in extdata.get("depends_on", [])
            if source in node_of_event and kind in _KIND and source != event
        }
    )
    columns = np.array(edges, np.int64).reshape(-1, 3)
    return Edges(columns[:, 0], columns[:, 1], columns[:, 2], np.ones(len(columns), bool))


def inferred_edges(dispatches: Dispatches, copies: Copies) -> Edges:
    """Edges where the trace has no dependencies (rocprofv3 records none).

    Work of one queue, and work of one HIP stream, is taken to run in its order in time: each node depends on the node of
    the same queue or stream that ended last before it started. Work of the null stream (id 0) is taken to wait for all
    other streams and they for it, as HIP's default does. What cannot be seen this way is missing: other waits between
    streams (hipStreamWaitEvent) and waits of the host.
    """
    start, end = np.r_[dispatches.start, copies.start], np.r_[dispatches.end, copies.end]
    queue = np.r_[dispatches.queue_id, np.full(len(copies), NO_ID)]
    stream = _ordered_streams(dispatches, copies)
    by_queue = _chains(queue, start, end)
    by_stream = np.concatenate([_chains(stream, start, end), _null_stream(stream, start, end)])
    both = np.concatenate([by_queue, by_stream])
    kind = np.r_[np.full(len(by_queue), _KIND["queue"]), np.full(len(by_stream), _KIND["stream"])]
    # A pair found by both ways is one dependency; np.unique keeps the first, that is, the queue's.
    _, first = np.unique(both, axis=0, return_index=True)
    return Edges(both[first, 0], both[first, 1], kind[first], np.zeros(len(first), bool))


def _ordered_streams(dispatches: Dispatches, copies: Copies) -> np.ndarray:
    """The stream of every node; NO_ID for streams that say nothing about order.

    Programs that launch through HSA alone are all filed under stream 0, whatever their queue: a "stream" whose dispatches
    went to several queues is not one.
    """
    pairs = np.unique(np.c_[dispatches.stream_id, dispatches.queue_id], axis=0)
    streams, queues_used = np.unique(pairs[:, 0], return_counts=True)
    spread = streams[queues_used > 1]
    stream = np.r_[dispatches.stream_id, copies.stream_id]
    return np.where(np.isin(stream, spread), NO_ID, stream)


def _null_stream(stream: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(source, target) pairs, (e, 2), between the null stream and each of the others."""
    null = np.flatnonzero(stream == NULL_STREAM)
    pairs = [np.empty((0, 2), np.int64)]
    for other in np.setdiff1d(stream, [NULL_STREAM, NO_ID]):
        nodes = np.flatnonzero(stream == other)
        pairs += [_last_before(nodes, null, start, end), _last_before(null, nodes, start, end)]
    return np.concatenate(pairs)


def _last_before(sources: np.ndarray, targets: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """For each target the source that ended last, if one ended and had started before the target started."""
    by_end = sources[np.argsort(end[sources], kind="stable")]
    ended = np.searchsorted(end[by_end], start[targets], side="right")
    source, target = by_end[ended[ended > 0] - 1], targets[ended > 0]
    # Nodes that take no time can end and start at one instant: without an order between them there is no edge.
    ordered = start[source] < start[target]
    return np.c_[source[ordered], target[ordered]]


def _chains(key: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """(source, target) pairs, (e, 2): each node of a key after the node of that key that ended last before it started."""
    order = np.lexsort((np.arange(len(key)), end, start, key))
    order = order[key[order] != NO_ID]
    source, target = order[:-1], order[1:]
    same = key[source] == key[target]
    source, target = source[same], target[same]
    serial = end[source] <= start[target]
    overlapping = np.unique(key[target[~serial]])
    plain = ~np.isin(key[target], overlapping)
    pairs = [np.c_[source[plain], target[plain]]]
    pairs += [_overlapping_chain(order[key[order] == value], start, end) for value in overlapping]
    return np.concatenate(pairs).astype(np.int64).reshape(-1, 2)


def _overlapping_chain(nodes: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The pairs of one queue or stream (nodes in order of their starts) in which neighbours overlap."""
    by_end = nodes[np.argsort(end[nodes], kind="stable")]
    rank = {int(node): place for place, node in enumerate(nodes)}
    ended = np.searchsorted(end[by_end], start[nodes], side="right")
    pairs = []
    for place, (node, count) in enumerate(zip(nodes, ended, strict=True)):
        # A node that takes no time ends when it starts: only nodes before it in order can be its predecessor.
        while count and rank[int(by_end[count - 1])] >= place:
            count -= 1
        if count:
            pairs.append((by_end[count - 1], node))
    return np.array(pairs, np.int64).reshape(-1, 2)
