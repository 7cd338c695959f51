"""Numbers the distinct values of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

_MAX_TABLE_ENTRIES = 1 << 22  # ids of queues, streams, kernels and agents are usually small, so a table avoids sorting


def factorize(ids: Integers) -> tuple[Integers, Integers]:
    """The distinct values, in ascending order, and every element's index among them, int32."""
    if not len(ids):
        return ids, np.empty(0, np.int32)
    low, high = int(ids.min()), int(ids.max())
    if high - low >= _MAX_TABLE_ENTRIES:
        values, index = np.unique(ids, return_inverse=True)
        return values, index.reshape(-1).astype(np.int32)
    offset = ids - low
    present = np.bincount(offset, minlength=high - low + 1) > 0
    index = (np.cumsum(present) - 1).astype(np.int32)
    return np.flatnonzero(present) + low, index[offset]
