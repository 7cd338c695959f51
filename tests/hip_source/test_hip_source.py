"""The source model: checked against answers in the comments of sources, against the compiler, and after edits."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source import Edit, apply_edits, read

pytestmark = pytest.mark.usefixtures("hipcc")

COMMAND = ["hipcc", "-O3", "-std=c++20", "--offload-arch=gfx942", "x.hip", "-o", "x"]
# A comment states what is expected for each loop: its kind, its trip count where known, and what forbids reordering in it.
ANNOTATED = r"""
#include <hip/hip_runtime.h>
#define LOOP(n) for (int q = 0; q < n; ++q) s += q
#define TWICE(x) ((x) + (x))
constexpr int N = 12;
__device__ float wrap(float x) { return __shfl_xor(x, 1); }
__device__ float plain(float x) { return expf(x) * 2.0f; }
__device__ void bump(int& i) { ++i; }
__device__ float far(float x);
struct V { float x; __device__ V operator+(V o) const { return {x + o.x}; } };
template <typename T, int K> __global__ __launch_bounds__(256, 2) void generic(const T* __restrict__ a, T* b, int n) {
  extern __shared__ float dynamic[];
  __shared__ float fixed[64];
  T s = 0;
#pragma unroll 4
  for (int i = threadIdx.x; i < N + K; i += 2) s += a[i] + __shfl_down(s, 1);       // for hint: wave operation
  LOOP(3);                                                                          // for 3 macro
  for (;;) { if (s > 1) break; s += 1; }                                            // for
  for (int i = 0; i < N; i++) s += TWICE(expf(i)) + dynamic[i];                     // for 12: dynamic LDS
  for (unsigned i = N * 2; i > 3; i -= 2) { b[i] = s; fixed[i] = a[i]; }            // for 11
  while (s < 3) s++;                                                                // while
  do { asm volatile("s_nop 0"); } while (s < 4);                                    // do: inline assembly
  volatile T* v = b;
  for (int i = 0; i < 4; i++) s += v[i];                                            // for 4: volatile access
  for (int i : {1, 2}) s += i;                                                      // range-for
  for (int i = 0; i < 3; i++) { i += n; }                                           // for
  for (int i = 10; i >= 0; --i) atomicAdd(&b[i], s);                                // for 11: atomic
  b[0] = s;
}
template __global__ void generic<float, 3>(const float*, float*, int);
namespace inner {
__global__ void named(V* p, int n, float (*f)(float)) {
  V s{0};
  for (int i = 0; i < n; ++i) s = s + p[i];                                         // for
  for (int i = 0; i < 3; i++) s.x += wrap(s.x);                                     // for 3: wave operation
  for (int i = 0; i < 3; i++) s.x += plain(s.x);                                    // for 3
  for (int i = 0; i < 3; i++) s.x = f(s.x);                                         // for 3: call through a pointer
  for (int i = 0; i < 3; i++) s.x = far(s.x);                                       // for 3: call of a function whose body is not visible
  for (int i = 0; i < 3; i++) { bump(i); }                                          // for
  for (int i = 0; i < 3; i++) { __syncthreads(); }                                  // for 3: barrier
  for (int i = 0; i < 3; i++) printf("%d", i);                                      // for 3: side effect outside memory
  for (int i = 0; i < n; i++) { goto out; out: s.x += 1; }                          // for: goto or label
  p[0] = s;
}
}
int main() { return 0; }
"""  # noqa: E501
ANNOTATION = re.compile(r"// (for|while|do|range-for)( \d+)?( hint)?( macro)?(?:: (.*))?$")


@pytest.fixture(scope="module")
def source():
    return read(Path("x.hip"), COMMAND, text=ANNOTATED.encode())


def test_each_loop_is_what_its_comment_says(source):
    expected = {}
    for number, line in enumerate(ANNOTATED.splitlines(), start=1):
        if found := ANNOTATION.search(line.rstrip()):
            kind, count, hint, macro, obstacle = found.groups()
            expected[number] = (
                kind,
                int(count) if count else None,
                bool(hint),
                bool(macro),
                {obstacle} if obstacle else set(),
            )
    loops = [loop for kernel in source.kernels for loop in kernel.all_loops()]
    seen = {
        loop.span.line: (loop.kind, loop.trip_count, loop.hint, loop.in_macro, {f.kind.value for f in loop.obstacles})
        for loop in loops
    }
    assert len(loops) == len(seen) and seen == expected


def test_kernels_parameters_and_attributes(source):
    generic, named = source.kernels
    assert (generic.name, generic.symbol, generic.attributes[1]) == ("generic", None, "__launch_bounds__(256, 2)")
    a, b, n = generic.parameters
    assert (a.const_pointee, a.restrict, b.const_pointee, b.restrict, n.pointee) == (True, True, False, False, None)
    assert named.name == "inner::named" and named.parameters[0].pointee == "V"
    assert source.kernel("named") is named and source.kernel(named.symbol) is named
    with pytest.raises(SourceError, match="has 0 kernels named absent.*choose one of: .*named"):
        source.kernel("absent")


def test_mangled_names_equal_those_of_the_code_object(source, tmp_path):
    (tmp_path / "x.hip").write_text(ANNOTATED)
    listing = subprocess.run(
        ["hipcc", "--offload-arch=gfx942", "--offload-device-only", "-fgpu-rdc", "-S", "-emit-llvm", "-o", "-", "x.hip"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    defined = set(re.findall(r"define .*amdgpu_kernel void @(\w+)\(", listing.stdout))
    assert source.kernels[1].symbol in defined


def test_spans_are_exact(source):
    text = source.text
    for kernel in source.kernels:
        for loop in kernel.all_loops():
            if not loop.in_macro:
                assert text[loop.span.start :].startswith({"range-for": b"for"}.get(loop.kind, loop.kind.encode()))
                assert loop.span.start < loop.body.start < loop.body.end <= loop.span.end
        assert text[kernel.body.start : kernel.body.start + 1] == b"{" and text[kernel.body.end - 1 : kernel.body.end] == b"}"


def test_a_source_that_does_not_compile_gives_one_clear_error(tmp_path):
    with pytest.raises(SourceError, match=r"x.hip:1: .*expected"):
        _ = read(Path("x.hip"), COMMAND, text=b"int main() { return }").kernels
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match="is a named pipe"):
        read(tmp_path / "pipe")
    with pytest.raises(SourceError, match="No such file"):
        read(Path("absent.hip"), COMMAND)


def test_edits_are_made_at_once_and_never_overlap():
    assert apply_edits(b"abcdef", [Edit(4, 5, "E"), Edit(0, 0, ">"), Edit(1, 3, "")]) == b">adEf"
    for wrong in ([Edit(0, 2, ""), Edit(1, 3, "")], [Edit(5, 9, "")], [Edit(3, 2, "")]):
        with pytest.raises(ValueError):
            apply_edits(b"abcdef", wrong)
