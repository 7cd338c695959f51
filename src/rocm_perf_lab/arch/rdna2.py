"""RDNA2: gfx1030 (RX 6800 XT and its relatives). Dispatches and occupancy; its counters are not mapped to FLOPs or bytes."""

from __future__ import annotations

from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.occupancy import OccupancyRules

WGP_NOTE = "taken as WGP mode and wave32, the compiler's defaults: a rocpd trace does not say which the kernel uses"


def _separate(arch_vgprs: int, accum_vgprs: int) -> int:
    return arch_vgprs


def _never_limited(sgprs: int) -> int:
    """Every wave slot has its own 128 SGPRs."""
    return 16


def rules(wave_size: int, wgp_mode: bool) -> OccupancyRules:
    """gfx1030's rules. wave_size: 32 or 64. wgp_mode: the two CUs of a WGP share a workgroup (clang's default).

    In WGP mode all figures "per CU" are per WGP. Source: LLVM AMDGPUBaseInfo.cpp.
    """
    return OccupancyRules(
        wave_size=wave_size,
        simds=4 if wgp_mode else 2,
        max_waves_per_simd=16,
        vgprs=1024 if wave_size == 32 else 512,
        vgpr_granule=16 if wave_size == 32 else 8,
        lds_bytes=128 * 1024 if wgp_mode else 64 * 1024,
        lds_granule=512,
        max_workgroups=32 if wgp_mode else 16,
        total_vgprs=_separate,
        compiler_waves_by_sgprs=_never_limited,
        resident_waves_by_sgprs=_never_limited,
        notes=(WGP_NOTE,) if wgp_mode else (),
    )


FAMILY = Family(
    name="rdna2",
    targets=("gfx1030", "gfx1031", "gfx1032"),
    occupancy_rules=rules(wave_size=32, wgp_mode=True),
    flops={},
    integer_operations={},
    hbm_bytes=(),
    cache_bytes={},
    evidence={},
    # AMD RDNA 2 data sheets: 64 FMA lanes a CU, FP16 packed.
    peak_ops_per_clock_and_cu={("f16", "valu"): 256, ("f32", "valu"): 128},
    l2_bytes_per_clock_and_xcd=None,
    cu_bytes_per_clock={},
    valu_cycles_per_instruction=1,
    other_occupancy_rules={
        "wave32, CU": rules(wave_size=32, wgp_mode=False),
        "wave64, WGP": rules(wave_size=64, wgp_mode=True),
        "wave64, CU": rules(wave_size=64, wgp_mode=False),
    },
)
