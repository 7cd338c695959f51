"""The memory that a kernel stores to, whatever it holds in the end: memory whose old value is restored also counts as
written.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocm_perf_lab.gate.equivalence.memory_difference import Difference, location

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer

Ranges = Sequence[tuple[int, int]]
"""Disjoint address ranges [begin, end), in ascending order."""


def stores_elsewhere(before: Ranges, after: Ranges, buffers: Sequence[Buffer]) -> Difference | None:
    """How the candidate's stores go beyond the baseline's.

    before, after: the ranges that baseline and candidate store to. None if the candidate stores nowhere else.
    """
    more = list(_ranges_beyond(before, after))
    if not more:
        return None
    address, count = more[0][0], sum(end - begin for begin, end in more)
    where, section = location(address, buffers)
    message = f"it stores to {count} bytes that the baseline does not write, the first at {where}"
    return Difference(f"{message}: a concurrent reader would see that", section.model_copy(update={"stored_bytes": count}))


def union_of_ranges(first: Ranges, second: Ranges) -> Ranges:
    """The ranges covered by at least one of the two."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted([*first, *second]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _ranges_beyond(before: Ranges, after: Ranges) -> Ranges:
    """The ranges that `after` covers and `before` does not."""
    beyond: list[tuple[int, int]] = []
    first = 0  # index of the first range in `before` that does not end before the current range begins
    for begin, end in after:
        while first < len(before) and before[first][1] <= begin:
            first += 1
        for low, high in itertools.islice(before, first, None):
            if low >= end:
                break
            if begin < low:
                beyond.append((begin, low))
            begin = max(begin, high)
        if begin < end:
            beyond.append((begin, end))
    return beyond
