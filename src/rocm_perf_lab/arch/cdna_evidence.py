"""Ratios that tell why a CDNA2 or CDNA3 kernel waits.

SQ_WAVE_CYCLES, SQ_WAIT_* and SQ_ACTIVE_INST_ANY count in units of four cycles (AMD, "MI300 and MI200 performance
counters"); SQ_WAIT_ANY + SQ_WAIT_INST_ANY + SQ_ACTIVE_INST_ANY = SQ_WAVE_CYCLES in the recorded gfx90a run: a wave waits for
something (s_waitcnt, barrier), has an instruction that cannot be issued yet, or issues.
"""

from __future__ import annotations

from rocm_perf_lab.arch.metric import Metric, metric


@metric("fraction")
def wait_fraction(SQ_WAIT_ANY, SQ_WAVE_CYCLES):
    """Share of the waves' life spent in s_waitcnt or at barriers."""
    return SQ_WAIT_ANY / SQ_WAVE_CYCLES


@metric("fraction")
def issue_wait_fraction(SQ_WAIT_INST_ANY, SQ_WAVE_CYCLES):
    """Share of the waves' life spent ready, but not issuing."""
    return SQ_WAIT_INST_ANY / SQ_WAVE_CYCLES


@metric("accesses")
def l1_accesses_per_vmem_instruction(TCP_TOTAL_CACHE_ACCESSES_sum, SQ_INSTS_VMEM):
    """16 for a fully coalesced 8-byte access of a wave (recorded on gfx90a and gfx942); 64 when every lane goes elsewhere."""
    return TCP_TOTAL_CACHE_ACCESSES_sum / SQ_INSTS_VMEM


@metric("fraction")
def l2_hit_rate(TCC_HIT_sum, TCC_MISS_sum):
    return TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)


@metric("fraction")
def lds_conflict_fraction(SQ_LDS_BANK_CONFLICT, SQ_LDS_IDX_ACTIVE):
    """Share of the LDS's busy cycles lost to bank conflicts."""
    return SQ_LDS_BANK_CONFLICT / SQ_LDS_IDX_ACTIVE


@metric("instructions")
def vmem_instructions(SQ_INSTS_VMEM):
    return SQ_INSTS_VMEM


@metric("instructions")
def valu_instructions(SQ_INSTS_VALU):
    return SQ_INSTS_VALU


@metric("cycles")
def lds_busy_cycles(SQ_LDS_IDX_ACTIVE):
    """Summed over the CUs: one LDS each."""
    return SQ_LDS_IDX_ACTIVE


@metric("wave cycles")
def wave_cycles(SQ_WAVE_CYCLES):
    """The sum of the waves' lives, in cycles."""
    return 4 * SQ_WAVE_CYCLES


@metric("waves")
def waves(SQ_WAVES):
    return SQ_WAVES


EVIDENCE: dict[str, Metric] = {
    m.name: m
    for m in [
        wait_fraction, issue_wait_fraction, l1_accesses_per_vmem_instruction, l2_hit_rate, lds_conflict_fraction,
        vmem_instructions, valu_instructions, lds_busy_cycles, wave_cycles, waves,
    ]
}  # fmt: skip
