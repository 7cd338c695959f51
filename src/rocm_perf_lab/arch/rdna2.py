"""RDNA2: gfx1030 (RX 6800 XT and its relatives).

Its counters report memory traffic beyond the L2, cache hits, wait times and wave counts, but no floating-point operations. The
choice of counters and the byte formulas come from the gfx1030 entries of rocprofiler-sdk's counter_defs.yaml.
"""

from __future__ import annotations

from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.metric import Metric, metric
from rocm_perf_lab.arch.occupancy import OccupancyRules

WGP_NOTE = "assumed to use WGP mode and wave32, the compiler's defaults: a rocpd trace does not record the mode"


def _separate(arch_vgprs: int, accum_vgprs: int) -> int:
    return arch_vgprs


def _never_limited(sgprs: int) -> int:
    """Every wave slot has its own 128 SGPRs."""
    return 16


def rules(wave_size: int, wgp_mode: bool) -> OccupancyRules:
    """gfx1030's rules. wave_size: 32 or 64. wgp_mode: whether the two CUs of a WGP share a workgroup (clang's default).

    In WGP mode, all figures "per CU" are per WGP. Source: LLVM AMDGPUBaseInfo.cpp.
    """
    return OccupancyRules(
        compute_units=2 if wgp_mode else 1,
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


@metric("bytes")
def memory_read_bytes(
    GL2C_EA_RDREQ_32B_sum: float, GL2C_EA_RDREQ_64B_sum: float, GL2C_EA_RDREQ_96B_sum: float, GL2C_EA_RDREQ_128B_sum: float
) -> float:
    """FETCH_SIZE of counter_defs.yaml, in bytes. Covers all reads beyond the L2, some of which the Infinity Cache serves."""
    return 32 * GL2C_EA_RDREQ_32B_sum + 64 * GL2C_EA_RDREQ_64B_sum + 96 * GL2C_EA_RDREQ_96B_sum + 128 * GL2C_EA_RDREQ_128B_sum


@metric("bytes")
def memory_write_bytes(GL2C_MC_WRREQ_sum: float, GL2C_EA_WRREQ_64B_sum: float) -> float:
    """WRITE_SIZE of counter_defs.yaml, in bytes: requests other than 64-byte ones count as 32 bytes."""
    return 32 * (GL2C_MC_WRREQ_sum - GL2C_EA_WRREQ_64B_sum) + 64 * GL2C_EA_WRREQ_64B_sum


@metric("fraction")
def l2_hit_rate(GL2C_HIT_sum: float, GL2C_MISS_sum: float) -> float:
    return GL2C_HIT_sum / (GL2C_HIT_sum + GL2C_MISS_sum)


@metric("fraction")
def wait_fraction(SQ_WAIT_ANY: float, SQ_WAVE_CYCLES: float) -> float:
    """WAVE_DEP_WAIT of counter_defs.yaml, as a fraction."""
    return SQ_WAIT_ANY / SQ_WAVE_CYCLES


@metric("fraction")
def issue_wait_fraction(SQ_WAIT_INST_ANY: float, SQ_WAVE_CYCLES: float) -> float:
    """WAVE_ISSUE_WAIT of counter_defs.yaml, as a fraction."""
    return SQ_WAIT_INST_ANY / SQ_WAVE_CYCLES


@metric("wave cycles")
def wave_cycles(SQ_WAVE_CYCLES: float) -> float:
    """In cycles: OccupancyPercent in counter_defs.yaml divides this value by the GPU's cycles, its CUs and 32 wave slots."""
    return SQ_WAVE_CYCLES


@metric("fraction")
def lds_conflict_fraction(SQC_LDS_BANK_CONFLICT: float, SQC_LDS_IDX_ACTIVE: float) -> float:
    """LDSBankConflict of counter_defs.yaml, as a fraction."""
    return SQC_LDS_BANK_CONFLICT / SQC_LDS_IDX_ACTIVE


@metric("waves")
def waves(SQ_WAVES: float) -> float:
    return SQ_WAVES


@metric("cycles")
def active_cycles(GRBM_GUI_ACTIVE: float) -> float:
    """Cycles of the actual clock, which can be below the peak."""
    return GRBM_GUI_ACTIVE


EVIDENCE: dict[str, Metric] = {
    m.name: m
    for m in [wait_fraction, issue_wait_fraction, l2_hit_rate, lds_conflict_fraction, wave_cycles, waves, active_cycles]
}
NO_OPERATIONS = "no counter of gfx1030 tells floating-point operations from other vector instructions"
NO_REQUESTS = "no counter of gfx1030 tells how many bytes pass through it"

FAMILY = Family(
    name="rdna2",
    targets=("gfx1030", "gfx1031", "gfx1032"),
    occupancy_rules=rules(wave_size=32, wgp_mode=True),
    flops={},
    integer_operations={},
    hbm_bytes=(memory_read_bytes, memory_write_bytes),
    cache_bytes={},
    evidence=EVIDENCE,
    # AMD RDNA 2 data sheets: 64 FMA lanes per CU, FP16 packed.
    peak_ops_per_clock_and_cu={("f16", "valu"): 256, ("f32", "valu"): 128},
    l2_bytes_per_clock_and_xcd=None,
    cu_bytes_per_clock={},
    valu_cycles_per_instruction=1,
    has_mall=True,
    uncounted={
        ("f16", "valu"): NO_OPERATIONS,
        ("f32", "valu"): NO_OPERATIONS,
        **dict.fromkeys(("L2", "L1", "LDS"), NO_REQUESTS),
    },
    other_occupancy_rules={
        "wave32, CU": rules(wave_size=32, wgp_mode=False),
        "wave64, WGP": rules(wave_size=64, wgp_mode=True),
        "wave64, CU": rules(wave_size=64, wgp_mode=False),
    },
)
