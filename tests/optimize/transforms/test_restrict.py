"""Random kernels with separate buffers: qualified, they give the same bits; where that is not certain, they stay unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_results import COMMAND, same_results
from loop_kernels import FORBIDDEN, generate
from rocm_perf_lab.gate.source.promises import Promises
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.optimize.transforms import Proposal, restrict

pytestmark = pytest.mark.usefixtures("hipcc")
UNSEEN = {"volatile access": FORBIDDEN["volatile access"], "inline assembly": FORBIDDEN["inline assembly"]}


def check(seed: int, kernels: int, folder: Path, rocm_perf_in) -> None:
    program = generate(seed, kernels)
    source, edits = read(folder / "baseline.hip", COMMAND, text=program.text.encode()), []
    for kernel in source.kernels:
        body = program.text[kernel.body.start : kernel.body.end]
        reasons = {words for words, statement in UNSEEN.items() if statement in body}
        answers = list(restrict.propose(source, kernel, ()))
        if reasons:
            assert len(answers) == 4 and all(any(words in a.reason for words in reasons) for a in answers), (seed, answers)
        else:
            (answer,) = answers
            assert isinstance(answer, Proposal) and answer.promises == Promises(restrict=("in", "index", "out", "count"))
            edits += answer.edits
    candidate = same_results(folder, source, edits, kernels, rocm_perf_in)
    assert candidate.count(b"__restrict__") == len(edits) > 0


def test_qualified_parameters_give_the_same_bits_and_others_stay(tmp_path, native_dir, rocm_perf_in):
    check(3, 6, tmp_path, rocm_perf_in)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30, 44))
def test_hundreds_of_kernels(seed, tmp_path, native_dir, rocm_perf_in):
    check(seed, 24, tmp_path, rocm_perf_in)


SOURCE = """\
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
enum hipError_t { hipSuccess };
extern "C" unsigned __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, void* = nullptr);
extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
#define POINTER float* m
struct Pair { float *a, *b; };
__device__ float shared;
__global__ void good(const float* a, float* b, float* __restrict__ c) { b[0] = a[0] + c[0]; }
__global__ void one(float* a, int n) { a[0] = n; }
__global__ void same(const float* a, float* b) { b[0] = a[0]; }
__global__ void indirect(float** a, float* b) { b[0] = a[0][0]; }
__global__ void holder(Pair a, float* b, float* c) { b[0] = a.a[0] + c[0]; }
__global__ void global(const float* a, float* b) { b[0] = a[0] + shared; }
__global__ void number(const float* a, float* b, long n) { b[0] = a[0] + *(float*)n; }
__global__ void moved(const float* a, float* b) { a = b; b[0] = a[0]; }
__global__ void macro(const float* a, POINTER) { m[0] = a[0]; }
__global__ void array(const float* a, float b[]) { b[0] = a[0]; }
__global__ void taken(const float* a, float* b) { b[0] = a[0]; }
template <typename T> __global__ void any(const T* a, T* b) { b[0] = a[0]; }
extern "C" int hipMalloc(void**, unsigned long);
static void host(float* x, float* y, float* z) {
  good<<<1, 64>>>(x, y, z); good<<<1, 64>>>(z, x, y + 4); same<<<1, 64>>>(x, y); same<<<1, 64>>>(y, y + 64);
  moved<<<1, 1>>>(x, y); any<<<1, 64>>>(x, y);
  void (*pointer)(const float*, float*) = taken; pointer(x, y);
}
int main() { float *a, *b, *c; hipMalloc((void**)&a, 64), hipMalloc((void**)&b, 64), hipMalloc((void**)&c, 64); host(a, b, c); }
"""
REASONS = {
    "one": "only pointer", "same": "from the same y", "indirect": "a may hold addresses", "holder": "a may hold addresses",
    "global": "variable shared", "number": "pointer from a number", "taken": "not all of its launches are known",
}  # fmt: skip


@pytest.fixture(scope="module")
def source():
    return read(Path("x.hip"), [*COMMAND, "-nogpulib"], text=SOURCE.encode())


@pytest.mark.parametrize("name", REASONS)
def test_each_refusal_has_its_reason(source, name):
    answers = list(restrict.propose(source, source.kernel(name), ()))
    assert answers and all(not isinstance(answer, Proposal) and REASONS[name] in answer.reason for answer in answers), answers


@pytest.mark.parametrize(
    "name, chosen",
    [("good", ("a", "b")), ("moved", ("b",)), ("macro", ("a",)), ("array", ("a",)), ("any", ("a", "b"))],
)
def test_the_parameters_that_can_are_qualified(source, name, chosen):
    (proposal,) = [answer for answer in restrict.propose(source, source.kernel(name), ()) if isinstance(answer, Proposal)]
    assert proposal.promises.restrict == chosen
    changed = read(source.path, source.command, text=apply_edits(source.text, proposal.edits)).kernel(name)
    already = {p.name for p in source.kernel(name).parameters if p.restrict}
    assert {p.name for p in changed.parameters if p.restrict} == set(chosen) | already
    assert changed.symbol == source.kernel(name).symbol
