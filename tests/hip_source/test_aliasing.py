"""Which kernels reach memory only through their parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.hip_source import read
from rocm_perf_lab.hip_source.aliasing import other_memory_access

SOURCE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
DECLARED
__global__ void k(const float* in, float* out, int n) { BODY }
"""


def way(declared: str, body: str) -> str | None:
    text = SOURCE.replace("DECLARED", declared).replace("BODY", body)
    source = read(Path("x.hip"), ("hipcc", "-nogpuinc", "--offload-arch=gfx942"), Path.cwd(), text.encode())
    return other_memory_access(source.device, source.kernel("k"))


@pytest.mark.parametrize(
    "declared",
    [
        "__constant__ float w[9];",
        "__constant__ struct { int steps; float w[2]; } w[9];",
        "__device__ const float w[9] = {1};",
        "constexpr float w[9] = {1};",
        "__device__ float weight(int i) { const float w[2] = {1, 2}; return w[i]; }",
    ],
)
def test_constants_are_no_other_way_to_memory(declared):
    use = "weight(n)" if "weight" in declared else "w[n].w[1]" if "steps" in declared else "w[n]"
    assert way(declared, f"__shared__ float part[4]; part[n] = in[n]; out[n] = part[0] * {use};") is None


@pytest.mark.parametrize(
    "declared, body, reason",
    [
        ("__device__ float w[9];", "out[n] = w[n];", "the variable w"),
        ("", "static float kept; out[n] = kept += in[n];", "the variable kept"),
        ("__constant__ float* w[9];", "*w[n] = in[n];", "the variable w"),
        ("__constant__ struct { float* to; } w;", "*w.to = in[n];", "the variable w"),
        ("__device__ float g; __device__ float* const w = &g;", "*w = in[n];", "the variable w"),
        ("__device__ float g; __device__ float& w = g;", "w = in[n];", "the variable"),
        ("__device__ float g; __device__ void put(float x) { g = x; }", "put(in[n]);", "the variable g"),
        ("", "*(float*)(unsigned long)n = in[n];", "makes a pointer from a number"),
    ],
)
def test_other_ways_to_memory_are_named(declared, body, reason):
    found = way(declared, body)
    assert found is not None and reason in found
