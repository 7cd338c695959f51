"""Occupancy of gfx90a, gfx942 and gfx950: 512 unified VGPRs per lane and SIMD, 4 SIMDs, 64 KiB LDS (gfx950: 160).

Source: LLVM AMDGPUBaseInfo.cpp; SGPRs are clang's TotalSGPRs, which include VCC and the like.
"""

from __future__ import annotations

from rocm_perf_lab.arch.occupancy import OccupancyRules


def _unified(arch_vgprs: int, accum_vgprs: int) -> int:
    """AGPRs begin at the next multiple of 4 in the same register file; without AGPRs, there is no padding."""
    return -(-arch_vgprs // 4) * 4 + accum_vgprs if accum_vgprs else arch_vgprs


def _compiler_waves_by_sgprs(sgprs: int) -> int:
    return 8 if sgprs <= 100 else 7


def _resident_waves_by_sgprs(sgprs: int) -> int:
    """800 SGPRs per SIMD, allocated in steps of 16: a wave with more than 96 gets 112. HIP's occupancy functions agree."""
    return 8 if sgprs <= 96 else 7


RULES = OccupancyRules(
    wave_size=64,
    simds=4,
    max_waves_per_simd=8,
    vgprs=512,
    vgpr_granule=8,
    lds_bytes=64 * 1024,
    lds_granule=512,
    max_workgroups=16,
    total_vgprs=_unified,
    compiler_waves_by_sgprs=_compiler_waves_by_sgprs,
    resident_waves_by_sgprs=_resident_waves_by_sgprs,
)
