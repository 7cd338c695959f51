"""Ratios that show why a kernel on CDNA2 to CDNA4 waits.

SQ_WAVE_CYCLES, SQ_WAIT_* and SQ_ACTIVE_INST_ANY count in units of four cycles (AMD, "MI300 and MI200 performance counters"). In
the recorded gfx90a run, SQ_WAIT_ANY + SQ_WAIT_INST_ANY + SQ_ACTIVE_INST_ANY = SQ_WAVE_CYCLES: at any time, a wave is waiting
for something (s_waitcnt, barrier), has an instruction that cannot be issued yet, or is issuing.
"""

from __future__ import annotations

from rocm_perf_lab.arch.metric import Metric, metric


@metric("fraction")
def wait_fraction(SQ_WAIT_ANY: float, SQ_WAVE_CYCLES: float) -> float:
    """Share of the waves' lifetime spent in s_waitcnt or at barriers."""
    return SQ_WAIT_ANY / SQ_WAVE_CYCLES


@metric("fraction")
def issue_wait_fraction(SQ_WAIT_INST_ANY: float, SQ_WAVE_CYCLES: float) -> float:
    """Share of the waves' lifetime spent ready but not issuing."""
    return SQ_WAIT_INST_ANY / SQ_WAVE_CYCLES


@metric("accesses")
def l1_accesses_per_vmem_instruction(TCP_TOTAL_CACHE_ACCESSES_sum: float, SQ_INSTS_VMEM: float) -> float:
    """16 for a fully coalesced 8-byte access by a wave (recorded on gfx90a and gfx942); 64 if each lane uses its own line."""
    return TCP_TOTAL_CACHE_ACCESSES_sum / SQ_INSTS_VMEM


@metric("fraction")
def l2_hit_rate(TCC_HIT_sum: float, TCC_MISS_sum: float) -> float:
    return TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)


@metric("fraction")
def lds_conflict_fraction(SQ_LDS_BANK_CONFLICT: float, SQ_LDS_IDX_ACTIVE: float) -> float:
    """Share of the LDS's busy cycles lost to bank conflicts."""
    return SQ_LDS_BANK_CONFLICT / SQ_LDS_IDX_ACTIVE


@metric("instructions")
def vmem_instructions(SQ_INSTS_VMEM: float) -> float:
    return SQ_INSTS_VMEM


@metric("instructions")
def valu_instructions(SQ_INSTS_VALU: float) -> float:
    return SQ_INSTS_VALU


@metric("cycles")
def lds_busy_cycles(SQ_LDS_IDX_ACTIVE: float) -> float:
    """Summed over the CUs, each of which has one LDS."""
    return SQ_LDS_IDX_ACTIVE


@metric("wave cycles")
def wave_cycles(SQ_WAVE_CYCLES: float) -> float:
    """The sum of the waves' lifetimes, in cycles."""
    return 4 * SQ_WAVE_CYCLES


@metric("waves")
def waves(SQ_WAVES: float) -> float:
    return SQ_WAVES


@metric("fraction")
def divergent_lane_fraction(
    SQ_THREAD_CYCLES_VALU: float, SQ_ACTIVE_INST_VALU: float, SQ_ITEMS: float, SQ_WAVES: float
) -> float:
    """Share of the launched lanes that were masked off during vector instructions; 0 in the recorded copy on gfx90a."""
    working = SQ_THREAD_CYCLES_VALU / (64 * SQ_ACTIVE_INST_VALU)
    launched = SQ_ITEMS / (64 * SQ_WAVES)
    return max(0.0, 1 - working / launched)


@metric("fraction")
def partial_wave_fraction(SQ_ITEMS: float, SQ_WAVES: float) -> float:
    """Share of the waves' lanes for which no work-item was launched."""
    return 1 - SQ_ITEMS / (64 * SQ_WAVES)


@metric("instructions/wave")
def memory_instructions_per_wave(SQ_INSTS_VMEM: float, SQ_INSTS_SMEM: float, SQ_WAVES: float) -> float:
    """Vector and scalar instructions together, because the loads are scalar when all lanes traverse the same list."""
    return (SQ_INSTS_VMEM + SQ_INSTS_SMEM) / SQ_WAVES


@metric("cycles/instruction")
def wait_cycles_per_memory_instruction(SQ_WAIT_ANY: float, SQ_INSTS_VMEM: float, SQ_INSTS_SMEM: float) -> float:
    """Cycles that a wave waits, for any reason, per vector or scalar memory instruction."""
    return 4 * SQ_WAIT_ANY / (SQ_INSTS_VMEM + SQ_INSTS_SMEM)


@metric("instructions/wave")
def vector_memory_instructions_per_wave(SQ_INSTS_VMEM: float, SQ_WAVES: float) -> float:
    """A wave whose work has any effect must store a result, which takes at least one vector memory instruction."""
    return SQ_INSTS_VMEM / SQ_WAVES


@metric("fraction")
def atomic_request_fraction(
    TCP_TCC_ATOMIC_WITH_RET_REQ_sum: float,
    TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum: float,
    TCP_TCC_READ_REQ_sum: float,
    TCP_TCC_WRITE_REQ_sum: float,
) -> float:
    """Share of L1's requests to L2 that are atomics. Lanes of a wave that add to the same cache line share one request."""
    atomics = TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum
    return atomics / (atomics + TCP_TCC_READ_REQ_sum + TCP_TCC_WRITE_REQ_sum)


@metric("cycles")
def active_cycles(GRBM_GUI_ACTIVE: float) -> float:
    """Summed over the XCDs, at the actual clock: rocprofiler-compute's GRBM_GUI_ACTIVE_PER_XCD times the number of XCDs."""
    return GRBM_GUI_ACTIVE


@metric("cycles")
def mfma_busy_cycles(SQ_VALU_MFMA_BUSY_CYCLES: float) -> float:
    """Summed over the SIMDs, each of which has one matrix unit."""
    return SQ_VALU_MFMA_BUSY_CYCLES


EVIDENCE: dict[str, Metric] = {
    m.name: m
    for m in [
        wait_fraction, issue_wait_fraction, l1_accesses_per_vmem_instruction, l2_hit_rate, lds_conflict_fraction,
        vmem_instructions, valu_instructions, lds_busy_cycles, wave_cycles, waves, divergent_lane_fraction,
        partial_wave_fraction, memory_instructions_per_wave, wait_cycles_per_memory_instruction, mfma_busy_cycles,
        active_cycles, vector_memory_instructions_per_wave, atomic_request_fraction,
    ]
}  # fmt: skip
