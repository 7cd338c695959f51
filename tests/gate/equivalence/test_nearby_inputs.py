"""Values near the captured ones: all differ from them, and give a kernel the same amount of work."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.gate.equivalence.kernel_inputs import NumberArgument
from rocm_perf_lab.gate.equivalence.nearby_inputs import nearby_number, nearby_values
from rocm_perf_lab.gate.equivalence.numbers import dtype_of


def drawn(values, scalar: str):
    captured = np.array(values, dtype_of(scalar))
    return captured, nearby_values(captured, np.random.default_rng(1))


@pytest.mark.parametrize("scalar", ["float64", "float32", "float16", "bfloat16"])
def test_floats_keep_order_signs_zeros_and_how_often_they_occur(scalar):
    captured, others = drawn([3.0, -1.0, 0.0, 8.0, -1.0, np.inf, np.nan, 3.0, -100.0], scalar)
    numbers = np.isfinite(captured) & (captured != 0)
    assert not np.any(captured[numbers] == others[numbers])
    assert np.array_equal(np.sign(captured[numbers]), np.sign(others[numbers]))
    assert np.array_equal(
        np.argsort(captured[numbers].astype(float), stable=True), np.argsort(others[numbers].astype(float), stable=True)
    )
    assert others[0] == others[7] and others[1] == others[4] and others[2] == 0
    assert np.isinf(others[5]) and np.isnan(others[6])
    assert np.nanmax(np.abs(others[numbers])) <= 100


@pytest.mark.parametrize("scalar", ["int8", "int32", "uint32", "int64", "uint64"])
def test_integers_stay_between_their_neighbours(scalar):
    limits = np.iinfo(scalar)
    captured, others = drawn([0, 5, 10, 10, 11, 40, limits.max], scalar)
    assert others.dtype == captured.dtype and others[0] == 0 and others[2] == others[3] == 10 and others[4] == 11
    assert 2 < others[1] < 5 and 25 < others[5] < 40 and 40 < others[6] < limits.max


def test_negative_integers_move_towards_zero_too():
    captured, others = drawn([-40, -7, np.iinfo(np.int64).min], "int64")
    assert np.all(captured < others) and np.all(others < 0)


def numbers_near(value: int | float, scalar: str = "int32", values: tuple[int, ...] | None = None) -> set[int | float | None]:
    number = NumberArgument("n", 0, scalar, value, values)
    return {nearby_number(number, np.random.default_rng(seed)) for seed in range(100)}


@pytest.mark.parametrize(("size", "multiple"), [(4096, 128), (100, 4), (40, 4), (64, 4), (3, 1), (12345, 1)])
def test_sizes_become_a_little_smaller_and_stay_aligned(size, multiple):
    found = numbers_near(size)
    assert all(size * 0.66 <= one < size and one % multiple == 0 for one in found)
    assert len(found) > 1 or size == 3


@pytest.mark.parametrize("value", [0, 1, -1, 2, 0.0, float("inf"), float("nan")])
def test_flags_and_zero_remain(value):
    assert numbers_near(value, "float32" if isinstance(value, float) else "int32") == {None}
    assert numbers_near(7, values=(0, 7)) == {None}


def test_floats_passed_by_value_keep_their_sign():
    assert all(-2 < one < -1 for one in numbers_near(-2.0, "float32"))
