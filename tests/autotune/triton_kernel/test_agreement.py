"""Results of configurations: rounding agrees, anything else does not."""

from __future__ import annotations

import hashlib

import ml_dtypes
import numpy as np
import pytest

from rocm_perf_lab.autotune.triton_kernel.agreement import disagreement

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.fixture
def judged(tmp_path):
    def judge(before, after, tolerance=None, kind=None):
        names = []
        for array in (before, after):
            names.append(hashlib.sha256(array.tobytes()).hexdigest())
            (tmp_path / names[-1]).write_bytes(array.tobytes())
        types = {"c": kind or before.dtype.name}
        return disagreement({"c": names[0]}, {"c": names[1]}, types, tmp_path, tolerance)

    return judge


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_in_another_order_agree_and_a_lost_term_does_not(judged, dtype):
    generator = np.random.default_rng(0)
    products = generator.standard_normal((64, 256)) * generator.standard_normal((64, 256))
    wide = np.float32 if np.dtype(dtype).itemsize <= 4 else np.float64
    total = products.astype(wide).sum(1, dtype=wide).astype(dtype)
    reordered = np.cumsum(products[:, ::-1].astype(wide), 1, dtype=wide)[:, -1].astype(dtype)
    assert judged(total, reordered) is None
    one_less = products[:, :-1].astype(wide).sum(1, dtype=wide).astype(dtype)
    lost = judged(total, one_less)
    assert (lost is None) == (np.dtype(dtype) == ml_dtypes.bfloat16)  # a term of 256 is within its rounding
    assert "of its largest number" in (judged(total, one_less, tolerance=1e-3) or "")


def test_nan_and_infinities_must_be_in_the_same_places(judged):
    values = np.array([1, np.nan, np.inf, 2], np.float32)
    assert judged(values, values.copy()) is None
    assert "different places" in judged(values, np.array([1, 0, np.inf, 2], np.float32))


def test_whole_numbers_and_unknown_types_are_compared_bit_by_bit(judged):
    assert judged(np.arange(4), np.arange(4) + 1) == "c is not the same"
    assert judged(np.arange(4), np.arange(4) + 1, kind="V8") == "c is not the same"


def test_other_arrays_may_not_change(tmp_path):
    assert "changes c, d" in disagreement({"c": "0"}, {"c": "0", "d": "1"}, {}, tmp_path, None)


def test_bytes_beyond_the_last_whole_number_do_not_count(tmp_path):
    whole = np.array([1.0, 2.0], np.float32).tobytes()
    for name, contents in (("a", whole + b"xyz"), ("b", whole + b"abc"), ("c", whole), ("d", whole[:4]), ("e", b"xyz")):
        (tmp_path / name).write_bytes(contents)
    for other in "bcde":
        assert disagreement({"y": "a"}, {"y": other}, {"y": "float32"}, tmp_path, None) is None


@pytest.mark.parametrize(
    "before, after, tolerance, said",
    [
        ([4.0, 1.0], [4.0, 1.5], 0.125, None),
        ([4.0, 1.0], [4.0, 1.75], 0.125, "c differs by 0.19 of its largest number; 0.12 is allowed"),
        ([-4.0, 1.0], [-4.0, 0.25], 0.125, "c differs by 0.19 of its largest number; 0.12 is allowed"),
        ([4.0, np.inf], [4.5, np.inf], 0.125, None),
        ([0.0, 0.0], [0.0, 0.25], 0.25, None),
        ([0.0, 0.0], [0.0, 0.5], 0.25, "c differs by 0.5 of its largest number; 0.25 is allowed"),
        ([1.0, 1.0], [1.0, 1.0 + 2**-18], None, None),  # 32 times the distance from 1 to the next number, 2 ** -23
        ([1.0, 1.0], [1.0, 1.0 + 2**-17], None, "c differs by 7.6e-06 of its largest number; 3.8e-06 is allowed"),
    ],
)
def test_differences_are_relative_to_the_largest_number_of_the_reference(judged, before, after, tolerance, said):
    assert judged(np.array(before, np.float32), np.array(after, np.float32), tolerance) == said


def test_an_array_that_only_one_configuration_changes_is_named(tmp_path):
    assert disagreement({"c": "0"}, {}, {}, tmp_path, None) == "it changes nothing, where the reference changes c"
    assert disagreement({}, {"d": "0", "c": "1"}, {}, tmp_path, None) == "it changes c, d, where the reference changes nothing"
    assert disagreement({}, {}, {}, tmp_path, None) is None
