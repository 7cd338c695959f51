"""Handles sequential work whose recorded times overlap slightly.

On an MI300X, kernels of one stream were recorded as overlapping by up to 253 ns, although the second waits for the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.rocpd.columns import NO_ID

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask

QUEUE_JITTER = 1_000  # ns; a queue alone does not guarantee order, so a longer overlap is taken at face value


def is_slight(start: Integers, end: Integers, first: Integers, then: Integers, most: int | None = None) -> Mask:
    """Whether nodes `then` can have waited for nodes `first`, which started before them, despite overlapping times.

    They can if the two overlap by no more than half of the shorter node (and `most` ns); nodes that ran at once for longer than
    that were not in order.
    """
    overlap = end[first] - start[then]
    shorter = np.minimum(end[first] - start[first], end[then] - start[then])
    slight = 2 * overlap <= shorter
    possible: Mask = (overlap <= 0) | (slight if most is None else slight & (overlap <= most))
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
    """When each node was done for its successors, in ns: its end, or the start of a successor that it overlaps slightly.

    queue, stream: codes or NO_ID, as produced by edges.inferred_edges. order: nodes by time.
    """
    done = end.copy()
    pairs = [(*_neighbours(order, queue), QUEUE_JITTER), (*_neighbours(order, stream), None)]
    pairs += [(*pair, None) for pair in _beside_null_streams(order, stream, gpu_of_stream, null_of_gpu)]
    for first, then, most in pairs:
        slight = is_slight(start, end, first, then, most)
        first, then = first[slight], then[slight]  # no node occurs twice in `first`
        done[first] = np.minimum(done[first], start[then])
    return done


def _neighbours(order: Integers, lane: Integers) -> tuple[Integers, Integers]:
    """The nodes that have a successor in their lane, and those successors."""
    by_lane = order[np.argsort(lane[order], kind="stable")]
    together = (lane[by_lane[1:]] == lane[by_lane[:-1]]) & (lane[by_lane[1:]] != NO_ID)
    return by_lane[:-1][together], by_lane[1:][together]


def _beside_null_streams(
    order: Integers, stream: Integers, gpu_of_stream: Integers, null_of_gpu: Integers
) -> list[tuple[Integers, Integers]]:
    """For each GPU with a null stream: nodes in it and the next node of another stream; other nodes and the next one in it."""
    pairs = []
    for gpu, null in enumerate(null_of_gpu.tolist()):
        mine = order[(stream[order] != NO_ID) & (gpu_of_stream[stream[order]] == gpu)] if null != NO_ID else order[:0]
        is_null = stream[mine] == null
        pairs += [_next_of(mine, is_null), _next_of(mine, ~is_null)]
    return [pair for pair in pairs if len(pair[0])]


def _next_of(mine: Integers, kind: Mask) -> tuple[Integers, Integers]:
    """The nodes of one kind (a mask over `mine`) that a node of the other kind follows, and for each the next such node."""
    others = np.flatnonzero(~kind)
    first = np.flatnonzero(kind)
    place = np.searchsorted(others, first)
    follows = place < len(others)
    return mine[first[follows]], mine[others[place[follows]]]
