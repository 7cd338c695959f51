"""Assigns kernels colours and patterns that stay the same from run to run and differ from kernel to kernel."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

_COLORS, _PATTERNS = 7, 5  # as in timeline.js


def kinds_of(kernels: Iterable[str]) -> dict[str, int]:
    """Name -> the number of a colour and pattern. Plain colours are used first; with more than 35 kernels, some look alike.

    A kernel's colour depends on its name, unless another kernel in the run already uses that colour.
    """
    kinds: dict[str, int] = {}
    free: list[int] = []
    ring = 0
    for name in sorted(set(kernels)):
        if not free:
            first = _COLORS * (ring % _PATTERNS)
            free, ring = list(range(first, first + _COLORS)), ring + 1
        wanted = zlib.crc32(name.encode("utf-8", "surrogatepass")) % _COLORS
        kind = min(free, key=lambda candidate: (candidate % _COLORS - wanted) % _COLORS)
        free.remove(kind)
        kinds[name] = kind
    return kinds
