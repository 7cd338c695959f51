"""Which memory a kernel stores to, whatever it leaves there: what is put back before the end is written, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .outputs import Difference

if TYPE_CHECKING:
    from .buffers import Buffer

Ranges = Sequence[tuple[int, int]]
"""[begin, end) of addresses, in ascending order, apart from each other."""


def stores_elsewhere(before: Ranges, after: Ranges, buffers: Sequence[Buffer]) -> Difference | None:
    """before, after: what the baseline and the candidate store to. None where the candidate stores to nothing else."""
    more = list(_beyond(before, after))
    if not more:
        return None
    address, count = more[0][0], sum(end - begin for begin, end in more)
    inside = next((buffer for buffer in buffers if buffer.address <= address < buffer.address + buffer.size), None)
    where = f" (in {inside.name}, {address - inside.address} bytes from its beginning)" if inside else ""
    evidence = {"parameter": inside.parameter if inside else None, "address": f"{address:#x}", "stored_bytes": count}
    what = f"it stores to {count} bytes that the baseline does not write, from {address:#x} on{where}"
    return Difference(f"{what}: whoever reads there meanwhile sees that", evidence)


def _beyond(before: Ranges, after: Ranges) -> Ranges:
    """What `after` covers and `before` does not."""
    found: list[tuple[int, int]] = []
    known = iter(before)
    low, high = next(known, (0, 0))
    for begin, end in after:
        while begin < end:
            while high <= begin and (low, high) != (0, 0):
                low, high = next(known, (0, 0))
            if (low, high) == (0, 0) or end <= low:
                found.append((begin, end))
                break
            if begin < low:
                found.append((begin, low))
            begin = min(end, high) if begin < high else end
    return found
