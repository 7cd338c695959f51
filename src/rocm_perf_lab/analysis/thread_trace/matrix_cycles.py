"""How long a matrix instruction keeps its SIMD's matrix unit busy."""

from __future__ import annotations

import re

from rocm_perf_lab.arch.family import Family

_SIMDS = 4
# v_mfma_f32_32x32x8_f16, v_mfma_f32_32x32x8f16 (before gfx940), v_mfma_f32_32x32x4_2b_f16, v_mfma_f32_32x32x16_fp8_bf8
_MFMA = re.compile(r"v_mfma_[a-z0-9]+_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_?((?:fp8|bf8|f16|bf16|f32|f64|i8)(?:_\w+)?)")
_PRECISION = {"fp8": "f8", "bf8": "f8", "f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64", "i8": "i8"}


def is_matrix(text: str) -> bool:
    return text.startswith(("v_mfma_", "v_smfmac_"))


def busy_cycles(text: str, family: Family) -> float | None:
    """The instruction's operations divided by the unit's rate, but no less than its shape needs; None if the rate is unknown or
    the instruction has another form (such as sparse or XF32).
    """
    match = _MFMA.match(text)
    if match is None:
        return None
    m, n, k = (int(match[group]) for group in (1, 2, 3))
    precision = _PRECISION.get(match[5].split("_")[0])
    rate = family.peak_ops_per_clock_and_cu.get((precision or "", "mfma"))
    if not rate or "_1k" in match[5]:
        return None
    blocks = int(match[4] or 1)
    # CDNA4's rate applies to its shapes with doubled K; the older shapes take as many cycles as their doubled versions.
    least = 4.0 if blocks > 1 else float(m)
    return max(least, 2.0 * m * n * k * blocks * _SIMDS / rate)
