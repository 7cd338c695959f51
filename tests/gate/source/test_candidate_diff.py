"""What is taken from a candidate and what is refused, in sources that Clang reads in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.gate.source.candidate_diff import read_change
from rocm_perf_lab.gate.source.other_files_diff import ChangeNotAllowedError
from rocm_perf_lab.hip_source import read

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ["hipcc", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942"]
HEAD = """\
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
struct Mutable { mutable int x; };
struct Deep { Mutable inner; };
struct Plain { int x; };
__global__ void other(int* p) { p[0] = 1; }
__global__ void another(int* p) { p[0] = 1; }
"""
BASELINE = HEAD + "__global__ void k(int* p, int n) { p[0] = n; }\n"


def taken(body: str, head: str = "int* p, int n", functions: str = ""):
    """The change, or why it is refused."""
    text = f"{HEAD}{functions}__global__ void k({head}) {{ {body} }}\n"
    baseline = read(Path("x.hip"), COMMAND, text=BASELINE.encode())
    try:
        return read_change(baseline, baseline.with_text(text.encode()), baseline.kernel("k").identity)
    except ChangeNotAllowedError as refusal:
        return str(refusal)


@pytest.mark.parametrize(
    "declared, refused",
    [
        ("static const int t[2] = {1, 2}; p[0] = t[n];", False),
        ("static constexpr int t = 2; p[0] = t;", False),
        ("static const int t[2][2] = {{1, 2}, {3, 4}}; p[0] = t[n][0];", False),
        ("static const Plain t = {1}; p[0] = t.x;", False),
        ("static const Plain t[2] = {{1}, {2}}; p[0] = t[n].x;", False),
        ("static __shared__ int t[2]; t[0] = n; p[0] = t[0];", False),
        ("int t = 2; p[0] = t;", False),
        ("static __device__ int t; p[0] = t++;", True),
        ("static const Mutable t = {1}; p[0] = t.x++;", True),
        ("static const Mutable t[2] = {{1}, {2}}; p[0] = t[n].x++;", True),
        ("static const Deep t = {{1}}; p[0] = t.inner.x++;", True),
        ("extern __device__ int t; p[0] = t;", True),
    ],
)
def test_no_variable_may_outlive_a_launch(declared, refused):
    found = taken(declared)
    assert isinstance(found, str) == refused, found
    assert not refused or "declares t, a variable that outlives a launch" in found


@pytest.mark.parametrize(
    "body, head, refused",
    [
        ("p[0] = n + 1;", "int* __restrict__ p, int n", None),
        ("int* __restrict__ q = p; q[0] = n;", "int* p, int n", "makes q restrict"),
        ("int* __restrict__ q = p; q[0] = n;", "int* __restrict__ p, int n", "makes q restrict"),
        ("[](int* __restrict__ r) { r[0] = 1; }(p);", "int* p, int n", "makes r restrict"),
        ("struct { int* __restrict__ s; } t{p}; t.s[0] = n;", "int* p, int n", "makes s restrict"),
        ("int* q = p; q[0] = n + 1;", "int* p, int n", None),
    ],
)
def test_restrict_may_stand_on_the_kernels_own_parameters_alone(body, head, refused):
    found = taken(body, head)
    assert isinstance(found, str) == (refused is not None), found
    assert refused is None or refused in found


def test_the_parameters_of_a_new_function_are_not_judged_and_may_not_promise():
    function = "__device__ void f(int* %s p) { p[0] = 1; }\n"
    assert "makes p restrict" in taken("f(p);", functions=function % "__restrict__")
    found = taken("f(p);", functions=function % "")
    assert found.names == ("f",) and found.functions == ((function % "").strip().encode(),)


@pytest.mark.parametrize(
    "body, refused",
    [
        ("auto f = &another; p[0] = f != nullptr;", "refers to a different kernel, another"),
        ("int* __restrict__ q = p;\n int* __restrict__ r = p; q[0] = r[1];", "line 9 makes q restrict"),
        ("auto f = &other; p[0] = f != nullptr;", "refers to a different kernel, other"),
        ("__device__ int g(int); p[0] = g(n);", "declares the function g in another function's body"),
        ("p[0] = n;", "nothing was changed"),
    ],
)
def test_what_else_is_refused(body, refused):
    assert refused in taken(body)
