"""Work in order whose recorded times overlap a little.

On an MI300X kernels of one stream were recorded to overlap by up to 253 ns, though the second waits for the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.rocpd.columns import NO_ID

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask

QUEUE_JITTER = 1_000  # ns; a queue alone does not promise order, so a longer overlap is taken for what it says


def is_slight(start: Integers, end: Integers, first: Integers, then: Integers, most: int | None = None) -> Mask:
    """Whether nodes `then` can have waited for nodes `first`, which started before them, whatever their times say.

    They can if the two overlap by no more than half of the shorter one (and `most` ns): what ran at once for longer than
    that was not in order.
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
    """When each node was done for what follows it in order: its end, or the start of that which it overlaps slightly, ns.

    queue, stream: codes or NO_ID, as edges.inferred_edges makes them; order: nodes by time.
    """
    done = end.copy()
    pairs = [(*_neighbours(order, queue), QUEUE_JITTER), (*_neighbours(order, stream), None)]
    pairs += [(*pair, None) for pair in _beside_null_streams(order, stream, gpu_of_stream, null_of_gpu)]
    for first, then, most in pairs:
        slight = is_slight(start, end, first, then, most)
        first, then = first[slight], then[slight]  # no node is twice in `first`
        done[first] = np.minimum(done[first], start[then])
    return done


def _neighbours(order: Integers, lane: Integers) -> tuple[Integers, Integers]:
    """Each node that has a next one in its lane, and that one."""
    by_lane = order[np.argsort(lane[order], kind="stable")]
    together = (lane[by_lane[1:]] == lane[by_lane[:-1]]) & (lane[by_lane[1:]] != NO_ID)
    return by_lane[:-1][together], by_lane[1:][together]


def _beside_null_streams(
    order: Integers, stream: Integers, gpu_of_stream: Integers, null_of_gpu: Integers
) -> list[tuple[Integers, Integers]]:
    """Of each GPU with a null stream: nodes of it and the next of another stream; nodes of others and the next of it."""
    pairs = []
    for gpu, null in enumerate(null_of_gpu.tolist()):
        mine = order[(stream[order] != NO_ID) & (gpu_of_stream[stream[order]] == gpu)] if null != NO_ID else order[:0]
        is_null = stream[mine] == null
        pairs += [_next_of(mine, is_null), _next_of(mine, ~is_null)]
    return [pair for pair in pairs if len(pair[0])]


def _next_of(mine: Integers, kind: Mask) -> tuple[Integers, Integers]:
    """Nodes of one kind (a mask over `mine`), and for each the next of the other kind, where there is one."""
    others = np.flatnonzero(~kind)
    first = np.flatnonzero(kind)
    place = np.searchsorted(others, first)
    follows = place < len(others)
    return mine[first[follows]], mine[others[place[follows]]]
