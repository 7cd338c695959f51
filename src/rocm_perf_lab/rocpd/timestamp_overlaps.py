"""Handles sequential work whose recorded times overlap slightly.

On an MI300X, kernels in one stream were recorded as overlapping by up to 253 ns, although the second waited for the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.lazy_jit import lazy_jit
from rocm_perf_lab.rocpd.columns import NO_ID

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask

_MAX_NS = 2**62
QUEUE_JITTER = 1_000  # ns; a queue alone does not guarantee order, so a longer overlap counts as real


def is_slight(start: Integers, end: Integers, first: Integers, then: Integers) -> Mask:
    """Whether nodes `then` could have waited for nodes `first`, which started before them, although their times overlap.

    This is possible if the two overlap by no more than half of the shorter node; nodes that ran concurrently for longer did not
    run in order.
    """
    overlap = end[first] - start[then]
    shorter = np.minimum(end[first] - start[first], end[then] - start[then])
    possible: Mask = (overlap <= 0) | (2 * overlap <= shorter)
    return possible


def done_times(
    start: Integers,
    end: Integers,
    queue: Integers,
    stream: Integers,
    gpu_of_stream: Integers,
    null_of_gpu: Integers,
    order: Integers,
) -> Integers:
    """When each node counts as done for its successors, in ns: its end, or the start of a successor that it overlaps slightly.

    queue, stream: codes or NO_ID, as produced by edges.inferred_edges. order: nodes by time.
    """
    done = end.copy()
    _before_successors(start, end, order, queue, _no_last_nodes(queue), QUEUE_JITTER, done)
    _before_successors(start, end, order, stream, _no_last_nodes(stream), _MAX_NS, done)
    for first, then in _beside_null_streams(order, stream, gpu_of_stream, null_of_gpu):
        slight = is_slight(start, end, first, then)
        first, then = first[slight], then[slight]  # no node occurs twice in `first`
        done[first] = np.minimum(done[first], start[then])
    return done


def _no_last_nodes(track: Integers) -> Integers:
    """ "No node yet" for each track."""
    return np.full(int(track.max()) + 1, NO_ID, np.int64)


@lazy_jit
def _before_successors(
    start: Integers, end: Integers, order: Integers, track: Integers, last_of_track: Integers, max_overlap: int, done: Integers
) -> None:
    """Where a node overlaps the next one in its track slightly (see is_slight), by at most `max_overlap` ns, set its time
    in `done` to the start of the next one.
    """
    for position in range(len(order)):
        then = order[position]
        own = track[then]
        if own < 0:
            continue
        first = last_of_track[own]
        last_of_track[own] = then
        if first < 0:
            continue
        overlap = end[first] - start[then]
        slight = overlap <= max_overlap and 2 * overlap <= min(end[first] - start[first], end[then] - start[then])
        if overlap <= 0 or slight:
            done[first] = min(done[first], start[then])


def _beside_null_streams(
    order: Integers, stream: Integers, gpu_of_stream: Integers, null_of_gpu: Integers
) -> list[tuple[Integers, Integers]]:
    """For each GPU with a null stream: the null stream's nodes, each with the next node of another stream; and the other
    streams' nodes, each with the next node of the null stream.
    """
    pairs = []
    for gpu, null in enumerate(null_of_gpu.tolist()):
        of_gpu = order[(stream[order] != NO_ID) & (gpu_of_stream[stream[order]] == gpu)] if null != NO_ID else order[:0]
        is_null = stream[of_gpu] == null
        pairs += [_next_of_other_kind(of_gpu, is_null), _next_of_other_kind(of_gpu, ~is_null)]
    return [pair for pair in pairs if len(pair[0])]


def _next_of_other_kind(nodes: Integers, kind: Mask) -> tuple[Integers, Integers]:
    """The nodes of one kind (a mask over `nodes`) that are followed by a node of the other kind, and, for each, the next such
    node.
    """
    of_other_kind = np.flatnonzero(~kind)
    first = np.flatnonzero(kind)
    following = np.searchsorted(of_other_kind, first)
    follows = following < len(of_other_kind)
    return nodes[first[follows]], nodes[of_other_kind[following[follows]]]
