"""Addresses of lanes that are related to each other, as those of most kernels are."""

from __future__ import annotations

from wave import LANES

import numpy as np


def patterned(random: np.random.Generator, size: int, alignment: int) -> list[int]:
    """Offsets that are consecutive or the same, in rows of 16 lanes or altogether; now and then a lane is elsewhere."""
    step = size * random.integers(2)
    rows = random.integers(0, 0x1800 // alignment, 4) * alignment
    if random.integers(2):
        rows = rows[0] + np.arange(4) * 16 * step
    lanes = np.repeat(rows, 16) + np.tile(np.arange(16), 4) * step
    if random.integers(4) == 0:
        lanes[random.integers(LANES)] += alignment
    return lanes.tolist()
