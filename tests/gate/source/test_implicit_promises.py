"""Ends of bodies that must not be reached, and calls of functions that promise something, in sources that Clang reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.gate.source.implicit_promises import may_fall_off_end, promise_not_in_baseline
from rocm_perf_lab.hip_source import read

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ["hipcc", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942"]
HEAD = "#define __device__ __attribute__((device))\nvoid use(int);\n"


def parsed(text: str):
    """The unit, and its functions by name."""
    unit = read(Path("x.hip"), COMMAND, text=(HEAD + text).encode()).device
    return unit, {one.spelling: one for one in unit.functions()}


@pytest.mark.parametrize(
    "body, falls",
    [
        ("return 1;", False),
        ("", True),
        ("x = 1;", True),
        ("if (x) return 1;", True),
        ("if (x) return 1; else return 2;", False),
        ("if (x) return 1; else x = 2;", True),
        ("if (x) x = 1; else return 2;", True),
        ("if (int y = x; y) return 1; else return 2;", False),
        ("if (x) { return 1; } else if (x > 2) { return 2; } else { return 3; }", False),
        ("if (x) { return 1; } else if (x > 2) { return 2; }", True),
        ("switch (x) { case 1: return 1; default: return 2; }", False),
        ("switch (x) { case 1: return 1; case 2: return 2; }", True),
        ("switch (int y = x; y) { case 1: return 1; default: return 2; }", False),
        ("switch (x) { case 1: break; default: return 2; }", True),
        ("switch (x) { default: x = 2; }", True),
        ("{ return 1; }", False),
        ("for (;;) return 1;", True),
        ("auto f = [] { return 1; };", True),
    ],
)
def test_a_body_ends_plainly_with_a_return_or_falls_off(body, falls):
    unit, functions = parsed(f"__device__ int f(int x) {{ {body} }}")
    assert may_fall_off_end(unit, functions["f"]) == falls


@pytest.mark.parametrize(
    "result, body, falls",
    [
        ("void", "", False),
        ("auto", "", False),
        ("auto", "if (x) return 1;", True),
        ("auto", "return;", False),
        ("bool", "", True),
    ],
)
def test_only_what_has_a_result_has_to_return_one(result, body, falls):
    unit, functions = parsed(f"__device__ {result} f(int x) {{ {body} }}")
    assert may_fall_off_end(unit, functions["f"]) == falls


def promise(before: str, after: str, helpers: str = "") -> tuple[int, str] | None:
    """Of a candidate's kernel k, with these bodies and the same helpers in both."""
    old, ours = parsed(f"{helpers}\n__device__ int k(int x) {{ {before} }}")
    new, theirs = parsed(f"{helpers}\n__device__ int k(int x) {{ {after} }}")
    return promise_not_in_baseline((old, ours["k"]), (new, [theirs["k"]]))


POSITIVE = "__device__ int positive(int x) { if (x < 0) __builtin_unreachable(); return x; }"
PLAIN = "__device__ int plain(int x) { return x; } __device__ int through(int x) { return plain(x) + positive(x); }"


@pytest.mark.parametrize(
    "before, after, helpers, said",
    [
        ("return x;", "return x + 1;", POSITIVE, None),
        ("return x;", "return positive(x);", POSITIVE, "positive, which has __builtin_unreachable, a promise"),
        ("return positive(x);", "return positive(x) + 1;", POSITIVE, None),
        # What is called again, or twice, hides nothing that is called after it.
        ("return plain(x);", "return plain(x) + plain(x) + through(x);", f"{POSITIVE} {PLAIN}", "positive, which has"),
        ("return x;", "return k(x - 1) + plain(x) + positive(x);", f"{POSITIVE} {PLAIN}", "positive, which has"),
        ("return x;", "return plain(x);", f"{POSITIVE} {PLAIN}", None),
        ("return x;", "return [](int y) -> int { if (y) return 1; }(x);", "", "the end of a body that has to return a value"),
        ("return x;", "if (x) return 1;", "", "the end of a body that has to return a value"),
        ("if (x) return 1;", "if (x) return 1;", "", None),
        ("return x;", "return loose(x);", "__device__ int loose(int x) { if (x) return 1; }", "loose, which need not return"),
    ],
)
def test_a_promise_that_the_baseline_does_not_make_is_named(before, after, helpers, said):
    found = promise(before, after, helpers)
    assert (found is None) == (said is None) and (said is None or said in found[1]), found


@pytest.mark.parametrize(
    "branches, falls",
    [
        ("return x; else { return x + 1; }", False),
        ("return x; else { /* nothing */ }", True),
        ("return x; else {}", True),
        ("return x; else { x = 2; }", True),
        ("{ x = 2; } else return x;", True),
        ("{ return x + 1; } else return x;", False),
    ],
)
def test_a_branch_that_a_template_leaves_out_returns_nothing(branches, falls):
    helper = f"template <bool B> __device__ int h(int x) {{ if constexpr (B) {branches} }}"
    found = promise("return x;", "return h<true>(x) + h<false>(x);", helper)
    assert (found is not None) == falls, found
