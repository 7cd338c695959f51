"""Which other values are tried for a number passed by value."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.gate.equivalence.kernel_inputs import NumberArgument
from rocm_perf_lab.gate.equivalence.perturbation import _other_values


def others(value: int, seed: int) -> list[int | float]:
    return list(_other_values(NumberArgument("n", 0, "int32", value, None), np.random.default_rng(seed)))


@given(st.integers(1, 8), st.integers(0, 99))
def test_a_number_that_may_be_a_choice_gets_larger_values_too(value, seed):
    found = others(value, seed)
    assert value not in found and {0, value - 1, value + 1} - {value} <= set(found)
    assert sum(one > value for one in found) >= 2 and max(found) <= 11


@given(st.integers(9, 1 << 30), st.integers(0, 99))
def test_a_size_only_shrinks(value, seed):
    found = others(value, seed)
    assert {0, 1, value - 1} <= set(found) and max(found) < value
