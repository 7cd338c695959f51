"""The numbers that a candidate's text contains and the baseline's does not."""

from __future__ import annotations

import pytest

from rocm_perf_lab.gate.equivalence.added_literals import literals_added


@pytest.mark.parametrize(
    "added, numbers",
    [
        ("x == 7.25f", (7.25,)),
        ("x == -1e-3 || k == 0x1Fu", (1e-3, 31.0)),
        ("k == 1'000'000ull && m == 0b101", (1e6, 5.0)),
        ("x == 0x1.8p3f", (12.0,)),
        ("x == .5h + 12_km", (0.5,)),
        ("/* 3 */ \"4\" '5' // 6\n", ()),
        ("\n  #pragma unroll 8\n a7 + b[k8]", ()),
        (" ".join(f"{number}" for number in range(100, 140)), tuple(range(100, 112))),
        ("64 + 64", (64.0,)),
    ],
)
def test_literals_that_were_added(added, numbers):
    before = "void f() { return 64 + 3.0f; }"
    assert literals_added(before.encode(), before.replace("return", f"{added} + return").encode()) == numbers


def test_a_literal_that_only_moved_was_not_added():
    assert literals_added(b"f(1, 2, 3.5f)", b"f(3.5f, 1, 2)") == ()
