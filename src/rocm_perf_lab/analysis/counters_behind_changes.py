"""Counters whose change explains a change in a kernel's time."""

EXPLANATORY = {
    "SQ_WAIT_ANY": "wave cycles spent waiting",
    "SQ_WAIT_INST_ANY": "wave cycles waiting to issue",
    "SQ_WAVE_CYCLES": "total wave cycles",
    "SQ_BUSY_CYCLES": "cycles with a wave on the device",
    "SQ_INSTS": "instructions",
    "SQ_INSTS_VALU": "vector instructions",
    "SQ_INSTS_SALU": "scalar instructions",
    "SQ_INSTS_BRANCH": "branches",
    "SQ_INSTS_SMEM": "scalar loads",
    "SQ_INSTS_VMEM_RD": "vector loads",
    "SQ_INSTS_VMEM_WR": "vector stores",
    "SQ_INSTS_LDS": "LDS instructions",
    "SQ_LDS_BANK_CONFLICT": "cycles of LDS bank conflicts",
    "SQ_IFETCH": "instruction fetches",
    "TCP_TOTAL_CACHE_ACCESSES_sum": "L1 accesses",
    "TCC_REQ_sum": "L2 requests",
    "TCC_MISS_sum": "L2 misses",
    "TCP_TCC_READ_REQ_sum": "L1 reads from L2",
    "TCC_EA0_RDREQ_sum": "reads beyond L2",
    "TCC_EA0_RDREQ_LEVEL_sum": "cycles during which reads beyond L2 are outstanding, summed",
}
"""Name -> what it counts."""
