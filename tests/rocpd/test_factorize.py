"""The distinct values of a column, numbered."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.rocpd.factorize import factorize


@pytest.mark.parametrize(
    "ids, values, places",
    [
        ([7, 3, 7, 5], [3, 5, 7], [2, 0, 2, 1]),
        ([-1, -1], [-1], [0, 0]),
        ([-5, 2, -1], [-5, -1, 2], [0, 2, 1]),
        ([4], [4], [0]),
        ([], [], []),
        ([0, (1 << 22) - 1, 0], [0, (1 << 22) - 1], [0, 1, 0]),
        ([0, 1 << 22, 0], [0, 1 << 22], [0, 1, 0]),  # too far apart for a table
        ([1 << 62, 0, -(1 << 61), 0], [-(1 << 61), 0, 1 << 62], [2, 1, 0, 1]),
    ],
)
def test_values_ascend_and_each_element_has_its_index(ids, values, places):
    found, place = factorize(np.array(ids, np.int64))
    assert (found.tolist(), place.tolist(), place.dtype) == (values, places, np.int32)
