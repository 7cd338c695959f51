"""Code objects of real programs, against LLVM's own readers; damaged ones give one clear error."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from disassembly import llvm_tool
from hip_compiler import compile_hip
from rocm_perf_lab.code_object import code_objects_in, parse
from rocm_perf_lab.errors import SourceError

SOURCE = """
#include <hip/hip_runtime.h>
__global__ __launch_bounds__(128) void lds(const float* in, float* out, short n) {
  __shared__ float tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[127 - threadIdx.x] * n;
}
template <typename T> __global__ void scaled(T* p, T by) { p[blockIdx.x * blockDim.x + threadIdx.x] *= by; }
template __global__ void scaled<double>(double*, double);
int main() { return 0; }
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("programs")
    (folder / "x.hip").write_text(SOURCE)
    built = {}
    arch = ["--offload-arch=gfx942", "--offload-arch=gfx1030"]
    for name, flags in {"plain": [], "compressed": ["--offload-compress"]}.items():
        built[name] = folder / name
        compile_hip("-O3", *arch, *flags, "x.hip", "-o", name, cwd=folder)
    return built


@pytest.mark.parametrize("form", ["plain", "compressed"])
def test_every_target_is_found_in_a_program(programs, form):
    found = code_objects_in(programs[form])
    assert sorted(target for target, _ in found) == ["gfx1030", "gfx942"]
    for target, image in found:
        code_object = parse(image)
        assert code_object.target.endswith(target)
        assert set(code_object.kernels) == {"_Z3ldsPKfPfs", "_Z6scaledIdEvPT_S0_"}


def test_metadata_equals_what_llvm_reads(programs, tmp_path):
    readelf = llvm_tool("llvm-readelf")
    for target, image in code_objects_in(programs["plain"]):
        path = tmp_path / f"{target}.hsaco"
        path.write_bytes(image)
        assert code_objects_in(path) == [("", image)]
        notes = subprocess.run([readelf, "--notes", path], capture_output=True, text=True, check=True).stdout
        kernels = re.split(r"\n  - (?=\.a)", notes.split("amdhsa.kernels:")[1])
        for text in kernels[1:]:
            field = dict(re.findall(r"^    (\.\w+): +(\S+)$", text, re.MULTILINE))
            kernel = parse(image).kernels[field[".name"]]
            seen = (
                kernel.vgprs,
                kernel.sgprs,
                kernel.lds_bytes,
                kernel.scratch_bytes,
                kernel.kernarg_bytes,
                kernel.max_workgroup_size,
            )
            names = "vgpr_count sgpr_count group_segment_fixed_size private_segment_fixed_size kernarg_segment_size "
            names += "max_flat_workgroup_size"
            assert seen == tuple(int(field[f".{name}"]) for name in names.split())
            assert len(kernel.kernarg_layout) == text.count(".value_kind:")
    lds = parse(dict(code_objects_in(programs["plain"]))["gfx942"]).kernels["_Z3ldsPKfPfs"]
    assert (lds.lds_bytes, lds.max_workgroup_size, lds.wave_size) == (512, 128, 64) and len(lds.code) > 40
    assert [(a.offset, a.size, a.value_kind) for a in lds.arguments[:3]] == [
        (0, 8, "global_buffer"),
        (8, 8, "global_buffer"),
        (16, 2, "by_value"),
    ]


def test_a_program_without_device_code_has_none():
    assert code_objects_in(Path("/bin/sh")) == []


def test_damage_gives_one_clear_error(programs, tmp_path):
    (target, image), *_ = code_objects_in(programs["plain"])
    draw, clean = random.Random(3), 0
    for number in range(300):
        damaged = bytearray(image[: draw.randrange(1, len(image))] if number % 2 else image)
        for _ in range(draw.randrange(1, 40)):
            damaged[draw.randrange(min(len(damaged), 2048))] = draw.randrange(256)
        try:
            parse(bytes(damaged))
            clean += 1
        except SourceError as error:
            assert "\n" not in str(error)
    assert clean < 300
    (tmp_path / "text").write_text("not a program")
    assert code_objects_in(tmp_path / "text") == []
    with pytest.raises(SourceError, match="No such file"):
        code_objects_in(tmp_path / "absent")
