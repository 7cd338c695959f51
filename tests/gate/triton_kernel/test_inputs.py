"""Numbers that replace those that a script passed to a launch."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from rocm_perf_lab.gate.triton_kernel.inputs import (
    INPUTS,
    large_values,
    positive_values,
    random_values,
    replace_numbers,
    special_values,
    store_contents,
)

CAPTURED = np.array([2.0, 6.0] * 2000, np.float32)  # with a spread of 2


def of(make, values: np.ndarray = CAPTURED, seed: int = 0) -> np.ndarray:
    return make(values, np.random.default_rng(seed))


def test_random_numbers_have_the_spread_of_the_scripts_numbers():
    assert abs(float(of(random_values).std()) - 2) < 0.1 and abs(float(of(random_values).mean())) < 0.2
    assert np.array_equal(of(large_values), 64 * of(random_values))
    assert 1.0 <= of(positive_values).min() < 1.01 and 2.99 < of(positive_values).max() < 3.0


@pytest.mark.parametrize("values", [[7.0] * 4000, [0.0] * 4000, [np.nan, np.inf] * 2000, [np.nan, 7.0] * 2000])
def test_without_a_spread_numbers_are_around_one(values):
    assert abs(float(of(random_values, np.array(values)).std()) - 1) < 0.05


def test_non_finite_numbers_do_not_affect_the_spread():
    assert np.array_equal(of(random_values, np.array([2.0, np.inf, 6.0, np.nan])), of(random_values, np.array([2.0, 6.0] * 2)))
    assert of(random_values, np.empty(0)).size == 0


def test_one_number_in_a_hundred_is_special():
    found = of(special_values)
    apart = found[found != of(random_values)]
    assert 20 < apart.size < 70 and set(np.abs(apart[~np.isnan(apart)])) == {0.0, np.inf} and np.isnan(apart).any()
    assert {*np.signbit(apart[apart == 0])} == {*np.signbit(apart[np.isinf(apart)])} == {True, False}
    assert [*INPUTS] == ["random", "positive", "large", "special values"]


@pytest.mark.parametrize("kind, size", [("float32", 4), ("float16", 2), ("bfloat16", 2), ("float64", 8), ("float8_e4m3fn", 1)])
def test_numbers_keep_their_type_and_a_remainder_too_short_for_one_stays(kind, size):
    def numbered(values, _generator):
        return np.arange(values.size)

    content = replace_numbers(bytes(4 * size) + b"\x05" * (size - 1), kind, numbered, np.random.default_rng(0))
    assert len(content) == 5 * size - 1 and content.endswith(b"\x05" * (size - 1)) and content[:size] == bytes(size)
    assert len({content[at * size : (at + 1) * size] for at in range(4)}) == 4


def test_numbers_too_large_for_their_type_become_infinities_without_a_warning(recwarn):
    found = replace_numbers(bytes(8), "float16", lambda *_: np.array([1e30, -1e30, np.nan, 1.0]), np.random.default_rng(0))
    assert np.array_equal(np.frombuffer(found, np.float16), [np.inf, -np.inf, np.nan, 1], equal_nan=True) and not recwarn


@pytest.mark.parametrize("kind, dtype", [("int32", np.int32), ("uint8", np.uint8), ("int64", np.int64), ("bool", np.bool_)])
def test_whole_numbers_are_permuted(kind, dtype):
    before = np.arange(64).astype(dtype)
    found = np.frombuffer(replace_numbers(before.tobytes(), kind, random_values, np.random.default_rng(0)), dtype)
    assert np.array_equal(np.sort(found), np.sort(before)) and found.tobytes() != before.tobytes()


@pytest.mark.parametrize("kind", [None, "V4", "no type"])
def test_contents_of_unknown_type_stay(kind):
    assert replace_numbers(b"12345678", kind, random_values, np.random.default_rng(0)) == b"12345678"


def test_identical_contents_are_stored_once(tmp_path):
    name = store_contents(b"some", tmp_path)
    assert name == hashlib.sha256(b"some").hexdigest() and (tmp_path / name).read_bytes() == b"some"
    (tmp_path / name).write_bytes(b"kept")
    assert store_contents(b"some", tmp_path) == name and (tmp_path / name).read_bytes() == b"kept"
    assert store_contents(b"other", tmp_path) != name
