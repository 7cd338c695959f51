"""The HIP runtime's own kernels, by their names and by those of kernels in the same code object."""

from __future__ import annotations

import pytest

from rocm_perf_lab.rocpd.runtime_kernels import runtime_kernels

FILL, COPY = "__amd_rocclr_fillBufferAligned", "__amd_rocclr_copyBuffer"


@pytest.mark.parametrize(
    "code_objects, own",
    [
        ({FILL: {1}, "helper": {1}, "k": {2}}, {FILL, "helper"}),
        ({FILL: {None}, "k": {None}}, {FILL}),
        ({FILL: {1, 3}, "helper": {3, 4}, "k": {4}}, {FILL, "helper"}),
        ({FILL: {1}, COPY: set(), "k": set()}, {FILL, COPY}),
        ({"__amd_rocclr_mine": {1}, "k": {1}}, set()),
        ({}, set()),
    ],
)
def test_a_kernel_in_the_code_object_of_a_runtime_kernel_is_a_runtime_kernel(code_objects, own):
    assert runtime_kernels(code_objects) == own
