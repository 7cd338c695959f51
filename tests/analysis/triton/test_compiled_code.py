"""What is read from TTGIR and AMDGCN, and which options would raise occupancy. For real kernels, see tests/triton_plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.analysis.occupancy import DispatchOccupancy
from rocm_perf_lab.analysis.triton.compiled_code import compiled
from rocm_perf_lab.analysis.triton.kernel_descriptions import FOLDER, DescribedKernel, described_kernels
from rocm_perf_lab.analysis.triton.options import raising_occupancy
from rocm_perf_lab.arch.cdna_occupancy import RULES
from rocm_perf_lab.arch.occupancy import KernelResources, occupancy
from rocm_perf_lab.arch.occupancy_lift import lifts
from rocm_perf_lab.report.triton import _in_triton_terms as in_triton_terms
from rocm_perf_lab.report.triton import triton_section

PIPELINED = """\
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 4], instrShape = [32, 32, 8], isTransposed = true}>
#shared = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0]}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#unused = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
    %x = ttg.local_alloc : () -> !ttg.memdesc<2x128x64xf16, #shared, #smem, mutable> loc(#loc1)
    %y = ttg.local_alloc : () -> !ttg.memdesc<2x64x128xf16, #shared1, #smem, mutable> loc(#loc2)
    scf.for %k = %c0 to %c1 step %c2 {
      %t = tt.dot %a, %b, %c : tensor<128x128xf32, #mma>
"""
CODE = """\
\tbuffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen
\tglobal_load_dwordx2 v[0:1], v4, s[0:1]
\tglobal_load_ushort v0, v4, s[0:1]
\tglobal_load_short_d16_hi v0, v4, s[0:1]
\tv_mfma_f32_32x32x8_f16 v[0:15], v[2:3], v[4:5], v[0:15]
\tv_mfma_f32_32x32x8_f16 v[0:15], v[2:3], v[4:5], v[0:15]
    .vgpr_spill_count: 12
"""
OPTIONS = {"num_warps": 4, "num_stages": 3, "waves_per_eu": 0, "matrix_instr_nonkdim": 0, "kpack": 1}


def described(ttgir: str = PIPELINED, **options: int) -> DescribedKernel:
    return DescribedKernel(
        symbol="matmul", function="matmul", file="/m.py", line=3, version="3.9.0",
        constants={"BLOCK_M": "128", "EVEN": "True", "GROUP": "8"}, options=OPTIONS | options, ttgir=ttgir, amdgcn=CODE,
    )  # fmt: skip


def of(resources: KernelResources) -> DispatchOccupancy:
    return DispatchOccupancy(resources, 1, occupancy(RULES, resources), 4, 4, None, lifts(RULES, resources))


def test_instructions_loads_and_spills_are_counted():
    found = compiled(described())
    assert found.matrix_instructions == {"v_mfma_f32_32x32x8_f16": 2}
    assert found.loads == {16: 2, 64: 1, 128: 1} and found.spilled == 12 and found.dots == 1
    assert [layout.spreads for layout in found.layouts] == [True, False]


@pytest.mark.parametrize(
    "ttgir, stages, buffers",
    [
        (PIPELINED, 3, 2),
        (PIPELINED.replace("2x128x64", "1x128x64").replace("2x64x128", "1x64x128"), 2, 1),
        (f"{PIPELINED}      amdg.buffer_load_to_local %p into %x\n", 2, 2),
        (PIPELINED.replace(", mutable", ""), 1, 0),
        (PIPELINED.replace("scf.for", "").replace(", mutable", ""), None, 0),
    ],
)
def test_how_many_stages_of_a_loop_overlap(ttgir: str, stages: int | None, buffers: int):
    found = compiled(described(ttgir))
    assert (found.stages, found.buffers) == (stages, buffers)


def test_occupancy_limits_are_stated_in_options_of_the_function():
    by_registers = raising_occupancy(described(), of(KernelResources(256, 0, 32, 0, 256)))
    assert len(by_registers) == 1
    assert "a smaller BLOCK_M, num_warps=8" in by_registers[0] and "waves_per_eu=3" in by_registers[0]
    first, second = raising_occupancy(described(), of(KernelResources(64, 0, 32, 65536, 256)))
    assert first == "for 32,768 bytes of LDS: a smaller BLOCK_M or num_stages=2"
    assert second == "for workgroups of 1024 threads: num_warps=16"
    assert raising_occupancy(described(), of(KernelResources(32, 0, 32, 0, 256))) == ()


def test_sentences_compare_what_was_reached_with_what_was_requested():
    resources = of(KernelResources(32, 0, 32, 0, 256))
    all_of_them = in_triton_terms(triton_section(described(), resources))
    assert all_of_them[0].endswith("with BLOCK_M=128, EVEN=True, GROUP=8, num_warps=4, num_stages=3.")
    assert any("reach all 3 stages" in line for line in all_of_them) and any(
        "12 VGPRs are spilled" in line for line in all_of_them
    )
    fewer = in_triton_terms(triton_section(described(num_stages=4), resources))
    assert any(line.startswith("3 of 4 stages overlap") for line in fewer)
    flat = in_triton_terms(triton_section(described(PIPELINED.replace(", mutable", "")), resources))
    assert any("num_stages=3 has no effect" in line for line in flat)


def test_specialisations_are_read_once_and_broken_files_are_skipped(tmp_path: Path):
    (folder := tmp_path / FOLDER).mkdir()
    for name, kernel in (("a", described()), ("b", described()), ("c", described(num_warps=8))):
        (folder / f"{name}.json").write_text(kernel.model_dump_json())
    (folder / "d.json").write_text(described(num_warps=16).model_dump_json()[:-1])
    found = described_kernels(tmp_path / "base_results.db")
    assert [one.options["num_warps"] for one in found.of("matmul.kd")] == [4, 8] and found.of("other") == []
