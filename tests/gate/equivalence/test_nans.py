"""Which NaNs are equal results, checked against the fields of the formats, and which kernels compute at all."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.code_object import parse
from rocm_perf_lab.gate.equivalence.nans import Nans, computes_with_floats
from rocm_perf_lab.gate.equivalence.numbers import dtype_of

FRACTIONS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
QUIET, DEFAULT = True, 0
# (sign, quiet, payload), where the payload is left-aligned in 51 bits so that it means the same in all types
nan = st.tuples(st.booleans(), st.booleans(), st.sampled_from([DEFAULT, 1 << 50, 3 << 45, 1 << 42, (1 << 51) - 1]))


def number(scalar: str, sign: bool, quiet: bool, payload: int) -> np.ndarray:
    dtype, fraction = dtype_of(scalar), FRACTIONS[scalar]
    width = 8 * dtype.itemsize
    bits = payload >> 51 - (fraction - 1) | quiet << fraction - 1
    bits = bits or 1  # a signalling NaN without a payload would be an infinity
    exponent = (1 << width - 1) - (1 << fraction)
    return np.array([sign << width - 1 | exponent | bits], f"u{dtype.itemsize}").view(dtype)


def kept(scalar: str, payload: int) -> int:
    lost = 51 - (FRACTIONS[scalar] - 1)
    return payload >> lost << lost


@given(st.sampled_from(sorted(FRACTIONS)), nan, nan, st.lists(st.tuples(st.sampled_from(sorted(FRACTIONS)), nan), max_size=3))
def test_nans_of_one_kind_are_equal_if_their_payloads_come_from_inputs(scalar, one, other, given_):
    inputs = [number(kind, *each) for kind, each in given_]
    for x, y in ((one, other), (other, one)):
        found = Nans(lambda: inputs).same(number(scalar, *x), number(scalar, *y))
        payloads = [int(number(scalar, *each).view(f"u{dtype_of(scalar).itemsize}")[0]) for each in (x, y)]
        fields = [word & (1 << FRACTIONS[scalar] - 1) - 1 for word in payloads]
        known = {0}
        for kind, each in given_:
            word = int(number(kind, *each).view(f"u{dtype_of(kind).itemsize}")[0])
            aligned = (word & (1 << FRACTIONS[kind] - 1) - 1) << 51 - (FRACTIONS[kind] - 1)
            known.add(kept(scalar, aligned) >> 51 - (FRACTIONS[scalar] - 1))
        assert bool(found[0]) == (x[1] == y[1] and all(field in known for field in fields))


def test_numbers_and_nans_differ_whatever_the_inputs():
    x, y = np.array([1.0, np.nan, np.inf, np.nan], np.float32), np.array([np.nan, 1.0, np.nan, np.nan], np.float32)
    assert Nans(list).same(x, -y).tolist() == [False, False, False, True]


def test_inputs_are_read_only_if_two_nans_meet():
    def given_():
        raise AssertionError("read")

    assert not Nans(given_).same(np.zeros(3, np.float32), np.full(3, np.nan, np.float32)).any()


@pytest.mark.parametrize("scalar", ["float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3fn", "float8_e5m2"])
def test_nans_of_one_byte_have_no_payload(scalar):
    every = np.arange(256, dtype=np.uint8).view(dtype_of(scalar))
    nans = every[np.isnan(every)]
    same = np.array(
        [[Nans(list).same(nans[i : i + 1], nans[j : j + 1])[0] for j in range(nans.size)] for i in range(nans.size)]
    )
    quiet = nans.view(np.uint8) >> max(ml_dtypes.finfo(dtype_of(scalar)).nmant - 1, 0) & 1
    assert (same == (quiet[:, None] == quiet[None, :])).all()


def test_a_kernel_that_only_moves_numbers_does_not_compute(hipcc, tmp_path):
    import subprocess

    source = """
#define GLOBAL extern "C" __attribute__((global)) void
GLOBAL moved(const float* in, float* out, int n) {
  const int i = __builtin_amdgcn_workitem_id_x();
  if (i < n) out[i] = in[n - 1 - i] > 0.0f ? in[n - 1 - i] : 7.0f;
}
GLOBAL added(const float* in, float* out, int) { *out = in[0] + in[1]; }
GLOBAL halved(const _Float16* in, _Float16* out, int) { *out = *in * (_Float16)0.5f; }
__attribute__((device, noinline)) float twice(float x) { return x + x; }
GLOBAL called(const float* in, float* out, int) { *out = twice(*in); }
"""
    (tmp_path / "code.hip").write_text(source)
    words = [hipcc, "-O2", "-nogpuinc", "--offload-arch=gfx942", "--offload-device-only", "--no-gpu-bundle-output"]
    subprocess.run([*words, "-Xoffload-linker", "--emit-relocs", "code.hip", "-o", "code.o"], cwd=tmp_path, check=True)
    image = (tmp_path / "code.o").read_bytes()
    names = ("moved", "added", "halved", "called")
    assert [computes_with_floats(image, name, parse(image).target) for name in names] == [False, True, True, True]
