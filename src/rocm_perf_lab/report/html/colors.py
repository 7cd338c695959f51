"""Assigns kernels colours and patterns that are the same in every run and differ within a run."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

_COLORS, _PATTERNS = 7, 5  # as in timeline.js


def kinds_of(kernels: Iterable[str]) -> dict[str, int]:
    """Name -> a number that stands for a colour and a pattern. Plain colours are used first; with more than 35 kernels, some
    look alike.

    A kernel's colour depends on its name, unless another kernel in the run already uses that colour.
    """
    found: dict[str, int] = {}
    free: list[int] = []
    ring = 0
    for name in sorted(set(kernels)):
        if not free:
            first = _COLORS * (ring % _PATTERNS)
            free, ring = list(range(first, first + _COLORS)), ring + 1
        wanted = zlib.crc32(name.encode("utf-8", "surrogatepass")) % _COLORS
        kind = min(free, key=lambda one: (one % _COLORS - wanted) % _COLORS)
        free.remove(kind)
        found[name] = kind
    return found
