"""Which memory a kernel stores to, whatever it leaves there: what is put back before the end is written, too."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocm_perf_lab.gate.outputs import Difference, location

if TYPE_CHECKING:
    from rocm_perf_lab.gate.buffers import Buffer

Ranges = Sequence[tuple[int, int]]
"""[begin, end) of addresses, in ascending order, apart from each other."""


def stores_elsewhere(before: Ranges, after: Ranges, buffers: Sequence[Buffer]) -> Difference | None:
    """before, after: what the baseline and the candidate store to. None where the candidate stores to nothing else."""
    more = list(_beyond(before, after))
    if not more:
        return None
    address, count = more[0][0], sum(end - begin for begin, end in more)
    where, section = location(address, buffers)
    what = f"it stores to {count} bytes that the baseline does not write, from {where}"
    return Difference(f"{what}: whoever reads there meanwhile sees that", section.model_copy(update={"stored_bytes": count}))


def _beyond(before: Ranges, after: Ranges) -> Ranges:
    """What `after` covers and `before` does not."""
    found: list[tuple[int, int]] = []
    first = 0  # of those of `before` that do not end ahead of the range that is looked at
    for begin, end in after:
        while first < len(before) and before[first][1] <= begin:
            first += 1
        for low, high in itertools.islice(before, first, None):
            if low >= end:
                break
            if begin < low:
                found.append((begin, low))
            begin = max(begin, high)
        if begin < end:
            found.append((begin, end))
    return found
