"""CDNA3: gfx942 (MI300X, MI325X, MI308X, MI300A)."""

from __future__ import annotations

from rocm_perf_lab.arch import cdna_evidence, cdna_flops, cdna_occupancy
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.metric import metric


@metric("bytes")
def hbm_read_bytes(TCC_BUBBLE_sum: float, TCC_EA0_RDREQ_sum: float, TCC_EA0_RDREQ_32B_sum: float) -> float:
    """TCC_BUBBLE counts 128-byte requests; the others are for 64 or 32 bytes. From rocprofiler-compute, gfx942 panels.

    Agrees with the recorded vector copy (8 MiB read). "HBM" means all traffic beyond L2, part of which the MALL serves.
    """
    large, small = TCC_BUBBLE_sum, TCC_EA0_RDREQ_32B_sum
    return 128 * large + 64 * (TCC_EA0_RDREQ_sum - large - small) + 32 * small


@metric("bytes")
def hbm_write_bytes(TCC_EA0_WRREQ_sum: float, TCC_EA0_WRREQ_64B_sum: float) -> float:
    """From rocprofiler-compute; agrees with the recorded vector copy (8 MiB written)."""
    return 64 * TCC_EA0_WRREQ_64B_sum + 32 * (TCC_EA0_WRREQ_sum - TCC_EA0_WRREQ_64B_sum)


@metric("bytes")
def l2_bytes(
    TCP_TCC_READ_REQ_sum: float,
    TCP_TCC_WRITE_REQ_sum: float,
    TCP_TCC_ATOMIC_WITH_RET_REQ_sum: float,
    TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum: float,
) -> float:
    """L1's requests to L2: 128 bytes per read, 64 per write or atomic. From rocprofiler-compute, gfx942 panels."""
    half_lines = TCP_TCC_WRITE_REQ_sum + TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum
    return 128 * TCP_TCC_READ_REQ_sum + 64 * half_lines


@metric(
    "bytes",
    "L1 bytes are 128 times TCP_TOTAL_CACHE_ACCESSES and overstate the bytes requested: "
    "a recorded coalesced copy has 32 useful bytes per access",
)
def l1_bytes(TCP_TOTAL_CACHE_ACCESSES_sum: float) -> float:
    """From rocprofiler-compute, gfx942 panels."""
    return 128 * TCP_TOTAL_CACHE_ACCESSES_sum


@metric("bytes")
def l2_read_bytes_per_lane(TCP_TCC_READ_REQ_sum: float, SQ_INSTS_VMEM: float) -> float:
    """Bytes that L1 fetches from L2 for each lane of a vector memory instruction. The widest load reads 16 bytes per lane."""
    return 128 * TCP_TCC_READ_REQ_sum / (64 * SQ_INSTS_VMEM)


FAMILY = Family(
    name="cdna3",
    targets=("gfx942",),
    occupancy_rules=cdna_occupancy.RULES,
    flops={**cdna_flops.FLOPS, ("f8", "mfma"): cdna_flops.mfma_flops_f8},
    integer_operations={("i8", "mfma"): cdna_flops.mfma_ops_i8},
    hbm_bytes=(hbm_read_bytes, hbm_write_bytes),
    cache_bytes={"L2": l2_bytes, "L1": l1_bytes, "LDS": cdna_flops.lds_bytes},
    evidence={**cdna_evidence.EVIDENCE, "l2_read_bytes_per_lane": l2_read_bytes_per_lane},
    # AMD CDNA 3 white paper, "peak FLOPs/clk/CU"; packed math, which doubles the rate of the VALU,
    # is assumed for F16 but not for F32.
    peak_ops_per_clock_and_cu={
        ("f16", "valu"): 256,
        ("f32", "valu"): 128,
        ("f64", "valu"): 128,
        ("f8", "mfma"): 4096,
        ("f16", "mfma"): 2048,
        ("bf16", "mfma"): 2048,
        ("f32", "mfma"): 256,
        ("f64", "mfma"): 256,
        ("i8", "mfma"): 4096,
    },
    # rocprofiler-compute, gfx942 speed-of-light panel: L2 128 bytes per clock per channel (16 per XCD), L1 and LDS 128 per CU.
    l2_bytes_per_clock_and_xcd=2048,
    cu_bytes_per_clock={"L1": 128, "LDS": 128},
    valu_cycles_per_instruction=4,
    has_mall=True,
)
