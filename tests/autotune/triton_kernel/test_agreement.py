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


def test_what_is_not_a_number_stays_where_it_is(judged):
    values = np.array([1, np.nan, np.inf, 2], np.float32)
    assert judged(values, values.copy()) is None
    assert "other places" in judged(values, np.array([1, 0, np.inf, 2], np.float32))


def test_whole_numbers_and_unknown_types_are_compared_bit_by_bit(judged):
    assert judged(np.arange(4), np.arange(4) + 1) == "c is not the same"
    assert judged(np.arange(4), np.arange(4) + 1, kind="V8") == "c is not the same"


def test_other_arrays_may_not_change(tmp_path):
    assert "changes c, d" in disagreement({"c": "0"}, {"c": "0", "d": "1"}, {}, tmp_path, None)
