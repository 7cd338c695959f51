"""Where a launch bound is proposed: what all launches in the source say about their block sizes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_results import COMMAND, same_results
from loop_kernels import generate
from rocm_perf_lab.gate.source.promises import Promises
from rocm_perf_lab.hip_source import apply_edits, read
from rocm_perf_lab.optimize.transforms import Proposal, Refusal, launch_bounds

pytestmark = pytest.mark.usefixtures("hipcc")
HEAD = """\
#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
enum hipError_t { hipSuccess };
extern "C" unsigned __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, void* = nullptr);
extern "C" hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
#define LAUNCH(kernel, grid, block, ...) do { kernel<<<(grid), (block)>>>(__VA_ARGS__); } while (0)
constexpr int kSide = 8;
dim3 operator*(dim3 block, int n);
struct Steps { dim3 first, second; };
"""

# Ways to launch k with a block of x by y by z threads.
WAYS = [
    "k<<<4, {x} * {y} * {z}>>>(p, n);",
    "k<<<n, dim3({x}, {y}, {z})>>>(p, n);",
    "{{ const dim3 block({x}, {y}, {z}); k<<<dim3(n, 2), block, 0, nullptr>>>(p, n); }}",
    "{{ dim3 block({x}, {y}, {z}), grid(n); grid.x += 1; k<<<grid, block>>>(p, n); }}",
    "{{ constexpr int x = {x}, y = {y}; const int z = {z}; [&] {{ k<<<4, dim3(x, y, z)>>>(p, n); }}(); }}",
    "LAUNCH(k, dim3(n), dim3({x}, {y}, {z}), p, n);",
]
UNKNOWN = {
    "k<<<4, n>>>(p, n);": "not a constant",
    "k<<<4, dim3(64, n)>>>(p, n);": "not a constant",
    "LAUNCH(k, dim3(4), dim3(n), p, n);": "not a constant",
    "{ dim3 block(64); block.y = n; k<<<4, block>>>(p, n); }": "not a constant",
    "{ dim3 block(64); block = dim3(n); k<<<4, block>>>(p, n); }": "not a constant",
    "{ dim3 block(64); dim3& same = block; same.x = n; k<<<4, block>>>(p, n); }": "not a constant",
    "{ int threads = 64; k<<<4, threads>>>(p, n); }": "not a constant",
    "{ auto pointer = &k; pointer<<<4, 64>>>(p, n); }": "not all of its launches are known",
    "k<<<4, false ? dim3(64) : dim3(n)>>>(p, n);": "not a constant",
    "struct App { bool small; void run(float* p, int n) { k<<<4, small ? dim3(64) : dim3(512)>>>(p, n); } };": "not a constant",
    "LAUNCH(k, dim3(4), false ? dim3(64) : dim3(512), p, n);": "not a constant",
    "{ dim3 block = false ? dim3(64) : dim3(n); k<<<4, block>>>(p, n); }": "not a constant",
    "{ const dim3 block = false ? dim3(64) : dim3(n); k<<<4, block>>>(p, n); }": "not a constant",
    "{ const dim3& block = false ? dim3(64) : dim3(n); k<<<4, block>>>(p, n); }": "not a constant",
    "k<<<4, dim3(64) * n>>>(p, n);": "not a constant",
    "k<<<4, (dim3(64), dim3(n))>>>(p, n);": "not a constant",
    "k<<<4, Steps{dim3(64), dim3(512)}.second>>>(p, n);": "not a constant",
    "{ const Steps steps{dim3(64), dim3(512)}; k<<<4, steps.second>>>(p, n); }": "not a constant",
    "{ const dim3 blocks[] = {dim3(64), dim3(512)}; k<<<4, blocks[n]>>>(p, n); }": "not a constant",
    "k<<<4, [&] { dim3 block(64); return dim3(n); }()>>>(p, n);": "not a constant",
    "k<<<4, ({ dim3 block(64); dim3 other(n); other; })>>>(p, n);": "not a constant",
    "k<<<4, kSide * 128>>>(p, n);": "as the compiler assumes",
}


def answer_of(launches: str, kernel: str = "__global__ void k(float* p, int n) { p[n] = n; }"):
    text = f"{HEAD}{kernel}\nvoid host(float* p, int n) {{ {launches} }}\n"
    source = read(Path("x.hip"), [*COMMAND, "-nogpulib"], text=text.encode())
    (answer,) = launch_bounds.propose(source, source.kernel("k"), ())
    return source, answer


BLOCKS = st.tuples(st.integers(1, 16), st.integers(1, 8), st.integers(1, 4))


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(WAYS), BLOCKS), min_size=1, max_size=4), st.booleans())
def test_the_bound_is_the_largest_of_all_launches(launches, hidden):
    text = " ".join(way.format(x=x, y=y, z=z) for way, (x, y, z) in launches)
    _, answer = answer_of(text)
    threads = max(x * y * z for _, (x, y, z) in launches)
    assert isinstance(answer, Proposal) and answer.promises == Promises(threads=threads), answer
    if hidden:
        _, answer = answer_of(f"{text} k<<<4, n>>>(p, n);")
        assert isinstance(answer, Refusal) and "not a constant" in answer.reason


@pytest.mark.parametrize("launch", UNKNOWN)
def test_an_unknown_block_size_forbids_a_bound(launch):
    _, answer = answer_of(f"k<<<4, 64>>>(p, n); {launch}")
    assert isinstance(answer, Refusal) and UNKNOWN[launch] in answer.reason, answer


def test_a_size_without_operands_is_not_a_missing_size():
    _, answer = answer_of("k<<<4, dim3(64, __builtin_LINE())>>>(p, n);")
    assert isinstance(answer, Refusal) or answer.promises.threads > 64


def test_other_reasons_against_a_bound():
    assert "does not launch" in answer_of("")[1].reason
    bounded = "__global__ __attribute__((amdgpu_flat_work_group_size(1, 128))) void k(float* p, int n) {}"
    assert "it has" in answer_of("k<<<4, 64>>>(p, n);", bounded)[1].reason
    assert "macro" in answer_of("k<<<4, 64>>>(p, n);", "#define NAME k\n__global__ void NAME(float* p, int n) {}")[1].reason


@pytest.mark.parametrize(
    "head", ["__global__ void", "template <int = 4> __global__ static void", "namespace a { __global__ void"]
)
def test_the_compiler_applies_the_bound(head, tmp_path):
    end = " }\nusing namespace a;" if "namespace" in head else ""
    source, answer = answer_of("k<<<4, dim3(8, 24)>>>(p, n);", f"{head} k(float* p, int n) {{ p[n] = n; }}{end}")
    (tmp_path / "x.hip").write_bytes(apply_edits(source.text, answer.edits))
    command = [*COMMAND, "-nogpulib", "--offload-device-only", "--no-gpu-bundle-output", "-fgpu-rdc", "-c", "-emit-llvm", "-S"]
    listing = subprocess.run([*command, "x.hip", "-o", "-"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert '"amdgpu-flat-work-group-size"="1,192"' in listing


def test_bounded_kernels_give_the_same_bits(tmp_path, native_dir, rocm_perf_in):
    program = generate(5, 4)
    source = read(tmp_path / "baseline.hip", COMMAND, text=program.text.encode())
    answers = [answer for kernel in source.kernels for answer in launch_bounds.propose(source, kernel, ())]
    assert all(isinstance(answer, Proposal) and answer.parameters == {"threads": 64} for answer in answers)
    same_results(tmp_path, source, [edit for answer in answers for edit in answer.edits], 4, rocm_perf_in)
