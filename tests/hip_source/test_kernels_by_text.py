"""The kernels that a text appears to define, against the compiler's own list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.kernels_by_text import defined_kernels, defines_kernels

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("testbed/*.hip"), *ROOT.glob("tests/gate/*.hip"), *ROOT.glob("tests/optimize/*.hip")])


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_compiler_finds_the_same_kernels(path, native_dir):
    text = path.read_bytes()
    known = {kernel.name.rsplit("::", 1)[-1] for kernel in read(path, ["hipcc", "-c", str(path)], path.parent).kernels}
    assert {re.sub("<.*", "", name) for name in known} <= set(defined_kernels(text))
    assert defines_kernels(text) == bool(known)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("__global__ void f(int* a);", []),
        ("__global__ void f(int* a) {}", ["f"]),
        ("__global__ void __launch_bounds__(256, 2) f(int* a)\n{}", ["f"]),
        ("template <int N> __global__ void f(int (&a)[N]) { g(); }", ["f"]),
        ("template <> __global__ void f<3>(int* a) { g(); }", ["f"]),
        ("__global__ void __attribute__((amdgpu_flat_work_group_size(64, 64))) f(S<(1 > 0)> a) {}", ["f"]),
        ("// __global__ void f() {}\n/* __global__ void g() {} */ int x;", []),
        ("__global__ void f(int); __global__ void g(int) { } void h() {}", ["g"]),
        ("#define __global__ __attribute__((global))\n#define __device__\n__device__ int g() { return 1; }", []),
        ("extern template __global__ void f<float>(float*);\nint main() {}", []),
    ],
)
def test_a_definition_has_a_body(text, names):
    assert list(defined_kernels(text.encode())) == names
    assert defines_kernels(text.encode()) == bool(names)


def test_a_macro_may_define_kernels():
    assert defines_kernels(b'#define KERNEL(name) \\\n  extern "C" __global__ \\\n  void name\nKERNEL(f)(int* a) {}')
