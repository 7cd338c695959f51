"""What a replay left in memory, and whether two replays left the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .buffers import Buffer


@dataclass(frozen=True)
class Outputs:
    """The regions that a kernel changed, read lazily from the folder that a replay dumped them to."""

    folder: Path

    @property
    def regions(self) -> dict[str, dict]:
        """By base address: what outputs.json says of each changed region."""
        return {r["base"]: r for r in json.loads((self.folder / "outputs.json").read_bytes())["regions"]}

    @property
    def changed_bytes(self) -> int:
        return sum(region["changed_bytes"] for region in self.regions.values())

    def content(self, region: dict) -> np.ndarray:
        """Of all its bytes, as uint8."""
        return np.fromfile(self.folder / region["file"], np.uint8)


def difference(expected: Outputs, found: Outputs, buffers: list[Buffer], ulps: int = 0) -> str | None:
    """How `found` differs, in one sentence; None where it does not.

    ulps: how many units in the last place floating-point buffers may be off. A NaN equals nothing but its own bits.
    """
    before, after = expected.regions, found.regions
    if lost := before.keys() - after.keys():
        return f"the candidate leaves {sorted(lost)[0]} as it was, where the baseline writes"
    if more := after.keys() - before.keys():
        return f"the candidate writes to the region at {sorted(more)[0]}, which the baseline leaves alone"
    for base, region in before.items():
        a, b = expected.content(region), found.content(after[base])
        differing = np.flatnonzero(a != b)
        if ulps:
            differing = _beyond(a, b, differing, int(base, 16), buffers, ulps)
        if differing.size:
            return f"{differing.size} bytes differ from {int(base, 16) + int(differing[0]):#x} on"
    return None


def _beyond(a: np.ndarray, b: np.ndarray, differing: np.ndarray, base: int, buffers: list[Buffer], ulps: int) -> np.ndarray:
    """Those of the differing bytes that no tolerance covers."""
    covered = np.zeros(a.size, bool)
    for buffer in buffers:
        start, size = buffer.address - base, buffer.count * buffer.dtype.itemsize
        if 0 <= start and start + size <= a.size:
            x, y = (data[start : start + size].view(buffer.dtype) for data in (a, b))
            covered[start : start + size] = np.repeat(_within(x, y, ulps), buffer.dtype.itemsize)
    return differing[~covered[differing]]


def _within(x: np.ndarray, y: np.ndarray, ulps: int) -> np.ndarray:
    """Distance in representable numbers: floats of one sign are ordered as their bits are."""
    signed, bits = np.dtype(f"<i{x.itemsize}"), 8 * x.itemsize - 1
    ordered = []
    for values in (x, y):
        raw = values.view(signed).astype(object if x.itemsize == 8 else np.int64)
        ordered.append(np.where(raw < 0, -(raw + (1 << bits)), raw))
    near = np.abs(ordered[0] - ordered[1]) <= ulps
    return near.astype(bool) & ~np.isnan(x) & ~np.isnan(y)
