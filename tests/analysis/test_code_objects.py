"""What the program's own code object adds to a profile on the software device; the compiler's remarks are the oracle."""

from __future__ import annotations

import json
import re

import pytest

from fuzz import thread_traces
from hip_compiler import compile_hip
from rocm_perf_lab.analysis import code_objects
from rocm_perf_lab.code_object import code_objects_in
from rocm_perf_lab.rocpd.reader import read_trace

SOURCE = r"""
#include <hip/hip_runtime.h>
typedef float F2 __attribute__((ext_vector_type(2)));
constexpr int kTurns = 64;
__global__ void hip_packed(F2* x) {
  F2 a = x[threadIdx.x + blockIdx.x * 256], b = a;
  for (int i = 0; i < kTurns; i++) a = __builtin_elementwise_fma(a, b, b);
  x[threadIdx.x + blockIdx.x * 256] = a;
}
__global__ void hsa_plain(float* x) {
  float a = x[threadIdx.x + blockIdx.x * 256], b = a;
  for (int i = 0; i < kTurns; i++) a = fmaf(a, b, b);
  x[threadIdx.x + blockIdx.x * 256] = a;
}
__global__ void idle(float* x, int n) { if (blockIdx.x < n) x[blockIdx.x * 256 + threadIdx.x] = 1; }
__global__ void counts(int* c, const int* v) { atomicAdd(&c[v[blockIdx.x * 256 + threadIdx.x] & 7], 1); }
__global__ void in_memory(float* x, int n) {
  float a[64];
  for (int i = 0; i < 64; i++) a[i] = x[i];
  x[threadIdx.x] = a[(n + threadIdx.x) & 63];
}
int main() {
  float* d;
  if (hipMalloc(&d, 1 << 22) || hipMemset(d, 0, 1 << 22)) return 1;
  hip_packed<<<512, 256>>>((F2*)d);
  hsa_plain<<<512, 256>>>(d);
  idle<<<4096, 256>>>(d, 40);
  counts<<<512, 256>>>((int*)d, (int*)d + 4096);
  in_memory<<<64, 256>>>(d, 5);
  return hipDeviceSynchronize();
}
"""
LANES = 512 * 256


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the program, and kernel -> {'VGPRs': 3, ...} from the compiler's remarks."""
    folder = tmp_path_factory.mktemp("code")
    (folder / "k.hip").write_text(SOURCE)
    flags = "-O2", "--offload-arch=gfx942", "-Rpass-analysis=kernel-resource-usage"
    said = compile_hip(*flags, "-o", "k", "k.hip", cwd=folder).stderr
    remarks: dict[str, dict[str, int]] = {}
    for name, value in re.findall(r"remark: (?:[^\n]*?remark: )?\s*([A-Za-z ]+?)(?: \[[^]\n]*\])?: (\S+)", said):
        if name == "Function Name":
            length, rest = re.fullmatch(r"_Z(\d+)(.*)", value).groups()
            found = remarks.setdefault(rest[: int(length)], {})
        elif value.isdigit():
            found[name] = int(value)
    return folder, remarks


@pytest.fixture(scope="module")
def kernels(built, rocm_perf_in):
    options = ("--device", "gfx942", "--runs", 1, "--no-deep-analysis", "--json", "-o", "run")
    documents = json.loads(rocm_perf_in(built[0], "profile", *options, "./k", "its", "arguments").stdout)
    return {entry["kernel"].partition("(")[0]: entry for entry in documents["analysis"]["kernels"]} | {"": documents}


def flop(kernels, name):
    roofs = kernels[""]["roofline"]["kernels"]
    return next(roof["flop"] for roof in roofs if roof["kernel"].startswith(name))


def test_registers_are_those_that_the_compiler_reports(built, kernels):
    assert set(built[1]) == set(kernels) - {"", "__amd_rocclr_fillBufferAligned"}
    for name, remarks in built[1].items():
        found = kernels[name]["resources"]
        assert (found["vgpr_per_thread"], found["accum_vgpr_per_thread"]) == (remarks["VGPRs"], remarks["AGPRs"])
        assert found["sgpr_per_wave"] == remarks["TotalSGPRs"] and found["scratch_bytes"] == remarks["ScratchSize"]


def test_a_packed_instruction_counts_as_two_operations_and_a_plain_one_as_one(kernels):
    assert flop(kernels, "hip_packed") == LANES * 64 * 2 * 2
    assert flop(kernels, "hsa_plain") == LANES * 64 * 2
    assert any("100 % of SQ_INSTS_VALU_FMA_F32 are packed" in note for note in kernels["hip_packed"]["notes"])
    assert not any("packed" in note for note in kernels["hsa_plain"]["notes"])


@pytest.mark.parametrize("kernel, factor", [("idle", "idle-waves"), ("counts", "atomics"), ("in_memory", "scratch")])
def test_what_limits_the_occupancy_of_a_kernel_is_named(kernels, kernel, factor):
    names = {name: [found["name"] for found in kernels[name]["bottleneck"]["factors"]] for name in kernels if name}
    assert factor in names[kernel] and factor not in names["hsa_plain"]


def test_a_program_that_is_too_large_is_not_read(built, kernels, monkeypatch):
    monkeypatch.chdir(built[0])
    trace = read_trace(built[0] / "run/.rocpd_profile/base_results.db")
    (size,) = {(built[0] / "k").stat().st_size}
    for most, images in ((size, 1), (size - 1, 0)):
        monkeypatch.setattr(code_objects, "_MAX_BYTES", most)
        assert len(code_objects.CodeObjects(trace)._of_program()) == images


def test_the_code_of_a_program_that_was_rebuilt_since_is_not_used(built, kernels, rocm_perf_in):
    """Its code may have changed since, so the analysis reports only what the trace contains."""
    program = built[0] / "k"
    program.touch()
    database = built[0] / "run/.rocpd_profile/base_results.db"
    again = json.loads(rocm_perf_in(built[0], "analyze", database, "--json", "-o", "again").stdout)
    packed = next(entry for entry in again["analysis"]["kernels"] if entry["kernel"].startswith("hip_packed"))
    assert any("count once" in note and "SQ_INSTS_VALU_FMA_F32" in note for note in packed["notes"])
    assert packed["resources"]["vgpr_per_thread"] % 4 == 0
    # rocprofv3 leaves the code objects that it saw beside its thread traces.
    att = thread_traces.write(built[0] / "att")
    ((_, image),) = code_objects_in(program)
    (att / "gfx942_code_object_id_2.out").write_bytes(image)
    asked = json.loads(rocm_perf_in(built[0], "analyze", database, "--thread-trace", att, "--json", "-o", "asked").stdout)
    assert flop({"": asked}, "hip_packed") == LANES * 64 * 2 * 2
