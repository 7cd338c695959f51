"""Floating-point operations and LDS traffic of CDNA2 to CDNA4, computed from the SQ counters.

Source: rocprofiler-compute, roofline_calc.py: a VALU instruction counts as 64 operations, or as 128 if it is an FMA; an MFMA
"MOPS" unit counts as 512.
"""

from __future__ import annotations

from rocm_perf_lab.arch.metric import Metric, metric

VALU_BIAS = "VALU FLOPs count all 64 lanes of each instruction: lanes masked off by EXEC are counted as if they worked"


@metric("FLOP", VALU_BIAS)
def valu_flops_f16(
    SQ_INSTS_VALU_ADD_F16: float, SQ_INSTS_VALU_MUL_F16: float, SQ_INSTS_VALU_TRANS_F16: float, SQ_INSTS_VALU_FMA_F16: float
) -> float:
    return 64 * (SQ_INSTS_VALU_ADD_F16 + SQ_INSTS_VALU_MUL_F16 + SQ_INSTS_VALU_TRANS_F16 + 2 * SQ_INSTS_VALU_FMA_F16)


@metric("FLOP", VALU_BIAS)
def valu_flops_f32(
    SQ_INSTS_VALU_ADD_F32: float, SQ_INSTS_VALU_MUL_F32: float, SQ_INSTS_VALU_TRANS_F32: float, SQ_INSTS_VALU_FMA_F32: float
) -> float:
    return 64 * (SQ_INSTS_VALU_ADD_F32 + SQ_INSTS_VALU_MUL_F32 + SQ_INSTS_VALU_TRANS_F32 + 2 * SQ_INSTS_VALU_FMA_F32)


@metric("FLOP", VALU_BIAS)
def valu_flops_f64(
    SQ_INSTS_VALU_ADD_F64: float, SQ_INSTS_VALU_MUL_F64: float, SQ_INSTS_VALU_TRANS_F64: float, SQ_INSTS_VALU_FMA_F64: float
) -> float:
    return 64 * (SQ_INSTS_VALU_ADD_F64 + SQ_INSTS_VALU_MUL_F64 + SQ_INSTS_VALU_TRANS_F64 + 2 * SQ_INSTS_VALU_FMA_F64)


@metric("FLOP")
def mfma_flops_f8(SQ_INSTS_VALU_MFMA_MOPS_F8: float) -> float:
    return 512 * SQ_INSTS_VALU_MFMA_MOPS_F8


@metric("FLOP")
def mfma_flops_f6f4(SQ_INSTS_VALU_MFMA_MOPS_F6F4: float) -> float:
    """CDNA4's instructions on 8-, 6- and 4-bit floats. Source: AMD, MI350 series performance counters."""
    return 512 * SQ_INSTS_VALU_MFMA_MOPS_F6F4


@metric("FLOP")
def mfma_flops_f16(SQ_INSTS_VALU_MFMA_MOPS_F16: float) -> float:
    return 512 * SQ_INSTS_VALU_MFMA_MOPS_F16


@metric("FLOP")
def mfma_flops_bf16(SQ_INSTS_VALU_MFMA_MOPS_BF16: float) -> float:
    return 512 * SQ_INSTS_VALU_MFMA_MOPS_BF16


@metric("FLOP")
def mfma_flops_f32(SQ_INSTS_VALU_MFMA_MOPS_F32: float) -> float:
    return 512 * SQ_INSTS_VALU_MFMA_MOPS_F32


@metric("FLOP")
def mfma_flops_f64(SQ_INSTS_VALU_MFMA_MOPS_F64: float) -> float:
    return 512 * SQ_INSTS_VALU_MFMA_MOPS_F64


@metric("OP")
def mfma_ops_i8(SQ_INSTS_VALU_MFMA_MOPS_I8: float) -> float:
    """Integer operations, kept apart from FLOPs."""
    return 512 * SQ_INSTS_VALU_MFMA_MOPS_I8


@metric("bytes")
def lds_bytes(SQ_LDS_IDX_ACTIVE: float, SQ_LDS_BANK_CONFLICT: float) -> float:
    """32 banks of 4 bytes in every cycle that is not lost to a bank conflict."""
    return (SQ_LDS_IDX_ACTIVE - SQ_LDS_BANK_CONFLICT) * 4 * 32


# (precision, pipe) -> metric, for operations that all three families count
FLOPS: dict[tuple[str, str], Metric] = {
    ("f16", "valu"): valu_flops_f16,
    ("f32", "valu"): valu_flops_f32,
    ("f64", "valu"): valu_flops_f64,
    ("f16", "mfma"): mfma_flops_f16,
    ("bf16", "mfma"): mfma_flops_bf16,
    ("f32", "mfma"): mfma_flops_f32,
    ("f64", "mfma"): mfma_flops_f64,
}
