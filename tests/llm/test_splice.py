"""The answer's bytes in the kernel's place, and what Clang must not find there."""

from __future__ import annotations

from pathlib import Path

import pytest

from model_run import COMMAND, LDS, PROGRAM
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.llm.splice import contract_breach, splice

pytestmark = pytest.mark.usefixtures("hipcc")
HEAD = """\
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define ASSEMBLE(text) asm volatile(text)
namespace outer {
namespace {
"""
KERNEL = 'template <typename T, int N>\n__global__ void scale(T* values) {\n  asm volatile("s_nop 0");\n  values[N] *= 2;\n}'
TAIL = "\n}\n}\n"


def breach(code: str, head: str = HEAD, kernel: str = KERNEL, name: str = "scale") -> str | None:
    path = Path("x.hip")
    baseline = read(path, COMMAND, text=(head + kernel + TAIL).encode())
    edit = splice(baseline, baseline.kernel(name), code)
    text = apply_edits(baseline.text, [edit])
    assert text == (head + code.strip("\n") + TAIL).encode()  # exactly the kernel, its template head included
    return contract_breach(baseline, baseline.kernel(name), read(path, COMMAND, text=text), edit)


def test_a_kernel_with_device_functions_is_what_may_stand_there():
    helper = "__device__ inline int twice(int x) { return 2 * x; }\ntemplate <typename T> __device__ T id(T x) { return x; }\n"
    assert breach(f"\n{helper}{KERNEL.replace('*= 2', '*= twice(id(1))')}\n") is None


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda k: k.replace("s_nop 0", '.incbin \\"/etc/passwd\\"'), "inline assembly that the kernel did not have"),
        (lambda k: k.replace("values[N]", 'asm volatile("s_nop 1");\n  values[N]'), "inline assembly"),
        (lambda k: k.replace("values[N]", 'ASSEMBLE(".incbin");\n  values[N]'), "inline assembly"),
        (lambda k: k.replace("values[N]", 'auto f = [] { ASSEMBLE("a"); };\n  f();\n  values[N]'), "inline assembly"),
        (lambda k: 'asm(".incbin \\"x\\"");\n' + k, "neither the kernel nor a __device__ function"),
        (lambda k: '__device__ float f(float x) asm("other");\n' + k, "inline assembly"),
        (lambda k: "int host() { return 1; }\n" + k, "function host is a host function"),
        (lambda k: "struct Pair { int a, b; };\n" + k, "struct Pair is neither"),
        (lambda k: "__device__ int kept;\n" + k, "kept is neither"),
        (lambda k: "using Real = float;\n" + k, "Real is neither"),
        (lambda k: "template <int N> constexpr int twice = 2 * N;\n" + k, "twice is neither"),
        (lambda k: k.replace("scale", "shrink"), "it defines the kernel shrink"),
        (lambda k: k + "\n__global__ void more() {}", "it defines the kernel more"),
        (lambda k: "__device__ int f() { return 1; }", "defines outer::scale 0 times"),
        (lambda k: k.replace("typename T, int N", "typename T") .replace("[N]", "[0]") + "\n" + k, "2 times"),
    ],
)  # fmt: skip
def test_anything_else_is_a_breach(change, words):
    found = breach(change(KERNEL))
    assert found is not None and words in found


def test_assembly_is_refused_by_its_word_where_the_kernel_has_none():
    kernel = "__global__ void plain(int* p) { p[0] = 1; }"
    assert "inline assembly" in breach(kernel.replace("p[0]", '__asm__ ("x"); p[0]'), kernel=kernel, name="plain")


def test_the_kernel_of_a_program_takes_its_head_with_it():
    baseline = read(PROGRAM, COMMAND)
    edit = splice(baseline, baseline.kernel("softmax_naive"), LDS)
    assert baseline.text[edit.start : edit.end].startswith(b"__global__ __launch_bounds__(kWave) void softmax_naive(")
    assert baseline.text[edit.start : edit.end].endswith(b"\n}")
