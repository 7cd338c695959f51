"""CDNA2: gfx90a (MI250X, MI250, MI210)."""

from __future__ import annotations

from rocm_perf_lab.arch import cdna_evidence, cdna_flops, cdna_occupancy
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.metric import metric


@metric("bytes")
def hbm_read_bytes(TCC_EA_RDREQ_sum: float, TCC_EA_RDREQ_32B_sum: float) -> float:
    """From rocprofiler-compute, gfx90a; agrees with the recorded vector copy (8 MiB read)."""
    return 64 * (TCC_EA_RDREQ_sum - TCC_EA_RDREQ_32B_sum) + 32 * TCC_EA_RDREQ_32B_sum


@metric("bytes")
def hbm_write_bytes(TCC_EA_WRREQ_sum: float, TCC_EA_WRREQ_64B_sum: float) -> float:
    """From rocprofiler-compute, gfx90a; agrees with the recorded vector copy (8 MiB written)."""
    return 64 * TCC_EA_WRREQ_64B_sum + 32 * (TCC_EA_WRREQ_sum - TCC_EA_WRREQ_64B_sum)


@metric("bytes")
def l2_bytes(
    TCP_TCC_READ_REQ_sum: float,
    TCP_TCC_WRITE_REQ_sum: float,
    TCP_TCC_ATOMIC_WITH_RET_REQ_sum: float,
    TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum: float,
) -> float:
    """L1's requests to L2, 64 bytes each. From rocprofiler-compute, gfx90a."""
    atomics = TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum
    return 64 * (TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum + atomics)


@metric(
    "bytes",
    "L1 bytes are 64 times TCP_TOTAL_CACHE_ACCESSES and overstate the bytes requested: "
    "a recorded coalesced copy has 32 useful bytes per access",
)
def l1_bytes(TCP_TOTAL_CACHE_ACCESSES_sum: float) -> float:
    """From rocprofiler-compute, gfx90a."""
    return 64 * TCP_TOTAL_CACHE_ACCESSES_sum


@metric("bytes")
def l2_read_bytes_per_lane(TCP_TCC_READ_REQ_sum: float, SQ_INSTS_VMEM: float) -> float:
    """Bytes that L1 fetches from L2 for each lane of a vector memory instruction. The widest load reads 16 bytes per lane."""
    return 64 * TCP_TCC_READ_REQ_sum / (64 * SQ_INSTS_VMEM)


FAMILY = Family(
    name="cdna2",
    targets=("gfx90a",),
    occupancy_rules=cdna_occupancy.RULES,
    flops=cdna_flops.FLOPS,
    integer_operations={("i8", "mfma"): cdna_flops.mfma_ops_i8},
    hbm_bytes=(hbm_read_bytes, hbm_write_bytes),
    cache_bytes={"L2": l2_bytes, "L1": l1_bytes, "LDS": cdna_flops.lds_bytes},
    evidence={**cdna_evidence.EVIDENCE, "l2_read_bytes_per_lane": l2_read_bytes_per_lane},
    # AMD CDNA 2 white paper, "peak FLOPs/clk/CU".
    peak_ops_per_clock_and_cu={
        ("f16", "valu"): 256,
        ("f32", "valu"): 128,
        ("f64", "valu"): 128,
        ("f16", "mfma"): 1024,
        ("bf16", "mfma"): 1024,
        ("f32", "mfma"): 256,
        ("f64", "mfma"): 256,
        ("i8", "mfma"): 1024,
    },
    # rocprofiler-compute, gfx90a speed-of-light panel: L2 128 bytes per clock per channel (32 channels), L1 64 per CU, LDS 128.
    l2_bytes_per_clock_and_xcd=4096,
    cu_bytes_per_clock={"L1": 64, "LDS": 128},
    valu_cycles_per_instruction=4,
)
