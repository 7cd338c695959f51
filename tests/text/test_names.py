"""Names of kernels where space is limited: never longer than it allows, and never two alike."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocm_perf_lab.text.names import KernelNames, fitted

# Few letters and the marks that shortening itself uses, so that collisions are likely.
ALIKE = st.lists(st.text("ab…#2(<>) ", min_size=1, max_size=40), min_size=1, max_size=12, unique=True)
GEMM = "batched_matrix_multiplication_matrix_core_128x128x16{}<float, float, 128, 128, 16, 64, 64>"


@given(ALIKE, st.integers(12, 30))
@example([GEMM.format(""), GEMM.format("_IGLP")], 20)
@example([f"{'a' * n}b{'a' * (60 - n)}" for n in range(60)], 12)
def test_different_names_stay_different_within_the_width(names, width):
    shown = fitted(names, width)
    assert set(shown) == set(names)
    assert len(set(shown.values())) == len(names)
    assert all(len(text) <= width for text in shown.values())
    assert all(shown[name] == name for name in names if len(name) <= width)


def test_parts_that_distinguish_names_are_kept():
    plain, hinted = GEMM.format(""), GEMM.format("_IGLP")
    shown = fitted([plain, hinted], 36)
    assert "IGL" in shown[hinted] and "IGL" not in shown[plain]
    assert all(text.startswith("batched_ma") and text.endswith("64, 64>") for text in shown.values())


def test_a_lone_name_loses_its_middle():
    assert fitted(["softmax_with_a_long_name_backward"], 15) == {"softmax_with_a_long_name_backward": "softmax…ackward"}


KERNELS = ["void f<1u, (Kind)2>(int, float (*)(int))", "vadd(float const*, float*, int)", "(anonymous namespace)::g(int)", "h"]


def test_arguments_are_left_out_unless_they_distinguish_kernels():
    names = KernelNames(KERNELS)
    assert [names.prose(kernel) for kernel in KERNELS] == ["f<1u, (Kind)2>", "vadd", "(anonymous namespace)::g", "h"]
    both = KernelNames(["scale(float*)", "scale(double*)", "vadd(int*)"])
    assert [both.cell(kernel) for kernel in ("scale(float*)", "scale(double*)", "vadd(int*)")] == [
        "scale(float*)", "scale(double*)", "vadd"]  # fmt: skip


@given(ALIKE)
@example(["f", "f(int)", "void f()"])
def test_two_kernels_never_have_the_same_name(kernels):
    names = KernelNames(kernels)
    assert len({str(names.cell(kernel)) for kernel in kernels}) == len(kernels)
    assert len({names.prose(kernel) for kernel in kernels}) == len(kernels)


@pytest.mark.parametrize("length", [64, 65, 500])
def test_names_within_sentences_are_limited_in_length(length):
    assert len(KernelNames(["k" * length]).prose("k" * length)) == 64
