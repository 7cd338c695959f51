"""What a body may do to a variable, against annotated statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.cursors import body_of
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.variables import changes, escapes

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "-nogpulib", "-std=c++20", "--offload-arch=gfx942", "x.hip", "-o", "x")
HEAD = """\
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
typedef int& Reference;
__device__ void bump(int& i);
__device__ int value(int i);
__device__ int value(const float& f);
"""
# statement with int x and y, int* p, float* out -> whether it may change x, whether something may refer to x afterwards
STATEMENTS = {
    "x = 3;": (True, False),
    "(x) += y;": (True, False),
    "++x;": (True, False),
    "out[x] = x + y;": (False, False),
    "p[x]++;": (False, False),
    "*(p + x) = 1;": (False, False),
    "(y ? x : y) = 3;": (True, False),
    "(y, x) = 3;": (True, False),
    "(int&)x = 3;": (True, False),
    "reinterpret_cast<float&>(x) += 3;": (True, False),
    "(y ? out : out + x)[0] = 3;": (False, False),
    "y = (x, y);": (False, False),
    "p = &x;": (True, True),
    "p = &(y ? x : y);": (True, True),
    "p = &p[x];": (False, False),
    "bump(x);": (True, True),
    "bump((x));": (True, True),
    "bump(y ? x : y);": (True, True),
    "bump(p[x]);": (False, False),
    "y = value(x);": (False, False),
    "y = value((x));": (False, False),
    "y = value((int)x);": (False, False),
    "y = value(static_cast<float>(x));": (False, False),
    "y = value(y ? x : 1);": (False, False),
    "y = value(x + 1);": (False, False),
    "y = value((y, x) + 0);": (False, False),
    "int& r = x; r = 1;": (True, True),
    "auto& r = y ? x : y; r = 1;": (True, True),
    "auto&& r = x; r = 1;": (True, True),
    "Reference r = x; r = 1;": (True, True),
    "int&& r = static_cast<int&&>(x); r = 1;": (True, True),
    "int& r = p[x]; r = 1;": (False, False),
    "auto f = [&] { x = 1; }; f();": (True, True),
    "auto f = [&] { y = 1; }; f();": (False, False),
}


@pytest.fixture(scope="module")
def unit():
    kernels = (
        f"__global__ void k{number}(int x, int y, int* p, float* out) {{ {statement} }}\n"
        for number, statement in enumerate(STATEMENTS)
    )
    source = read(Path("x.hip"), COMMAND, text=(HEAD + "".join(kernels)).encode())
    return source.device, source.kernels


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_a_statement_may_do_to_x(unit, statement):
    device, kernels = unit
    function = function_of(device, kernels[list(STATEMENTS).index(statement)])
    x = next(c for c in function.get_children() if c.spelling == "x")
    assert (changes(body_of(function), x, device.bindings), escapes(function, x, device.bindings)) == STATEMENTS[statement]
