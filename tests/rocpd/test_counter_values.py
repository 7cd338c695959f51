"""Values of counters, also where a file holds something else in their place."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.rocpd.columns import NO_ID
from rocm_perf_lab.rocpd.counter_values import _ids, _numbers


@pytest.mark.parametrize("given", [[1, 2], [1.5, 2.0], [1, 2.5]])
def test_numbers_are_kept(given):
    found = _numbers(given)
    assert found.dtype == np.float64 and found.tolist() == given


@pytest.mark.parametrize("given, expected", [(["a", 2], [None, 2]), ([None, 2.5], [None, 2.5]), ([b"1", 3], [None, 3])])
def test_a_value_that_is_not_a_number_is_missing(given, expected):
    found = _numbers(given)
    assert found.dtype == np.float64 and [None if np.isnan(one) else one for one in found] == expected


@pytest.mark.parametrize("given, expected", [([1, 2], [1, 2]), ([1.5, 2], [NO_ID, 2]), (["1", 2, None], [NO_ID, 2, NO_ID])])
def test_a_value_that_is_not_an_integer_is_no_id(given, expected):
    assert _ids(given).tolist() == expected
