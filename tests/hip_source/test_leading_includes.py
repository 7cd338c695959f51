"""The includes at the beginning of a source: text before and between them must not change what they mean."""

from __future__ import annotations

import pytest

from rocm_perf_lab.hip_source.leading_includes import can_be_precompiled, leading_includes

HIP = b"#include <hip/hip_runtime.h>\n"
KERNEL = b"__global__ void k(float* a) { a[threadIdx.x] = sinf(a[threadIdx.x]); }\n"


@pytest.mark.parametrize(
    "text, includes",
    [
        (HIP + KERNEL, [b"<hip/hip_runtime.h>"]),
        (b"// #include <a>\n/* #include <b>\n*/ # include <c> // why\n\n" + HIP, [b"<c>", b"<hip/hip_runtime.h>"]),
        (HIP + b'#include "d.h"\n#define N\n#include <e>\n', [b"<hip/hip_runtime.h>", b'"d.h"']),
        (b"#define N 4\n" + HIP, []),  # it may change what the header means
        (b"#pragma once\n" + HIP, []),
        (b"#include <a> /* begins\n" + HIP, []),
        (b"#include <a> int x;\n" + HIP, []),
        (b"#include A\n" + HIP, []),
        (b"#ifdef A\n" + HIP + b"#endif\n", []),
        (b"#include <a>\r\n" + HIP, [b"<a>", b"<hip/hip_runtime.h>"]),
        (b"/* does not end " + HIP, []),
        (b"#include <a>", []),
        (b"", []),
    ],
)  # fmt: skip
def test_the_includes_at_the_head_of_a_source(text, includes):
    head = leading_includes(text)
    assert list(head.names) == includes
    assert head.remainder.count(b"\n") == text.count(b"\n")
    assert leading_includes(head.remainder).names == () or not includes
    assert head.remainder == text or includes


@pytest.mark.parametrize(
    "words, can",
    [(("-O2", "-I", "a"), True), (("-includea.h",), False), (("-Xarch_host", "-DA"), False), (("-imacros", "a.h"), False)],
)
def test_headers_included_by_the_command_come_first(words, can):
    assert can_be_precompiled(words) == can
