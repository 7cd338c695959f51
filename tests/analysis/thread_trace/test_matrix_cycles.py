"""How many cycles a matrix instruction keeps its unit busy: its operations divided by the rate of the unit."""

from __future__ import annotations

import pytest

from rocm_perf_lab.analysis.thread_trace.matrix_cycles import busy_cycles, is_matrix
from rocm_perf_lab.arch.families import family_of


@pytest.mark.parametrize(
    "text, target, cycles",
    [
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", "gfx942", 32),
        ("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", "gfx942", 16),
        ("v_mfma_f32_32x32x16_fp8_bf8 a[0:15], v[0:1], v[2:3], a[0:15]", "gfx942", 32),
        ("v_mfma_f32_32x32x2_f32 a[0:15], v0, v1, a[0:15]", "gfx942", 64),
        ("v_mfma_f32_32x32x4_2b_f16 a[0:31], v[0:1], v[2:3], a[0:31]", "gfx942", 32),
        ("v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], a[0:3]", "gfx942", 4),
        ("v_mfma_i32_32x32x16_i8 a[0:15], v[0:1], v[2:3], a[0:15]", "gfx942", 32),
        ("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]", "gfx942", 32),
        ("v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", "gfx90a", 64),
        ("v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], a[0:15]", "gfx90a", None),
        ("v_mfma_f32_32x32x16_f16 a[0:15], v[0:3], v[4:7], a[0:15]", "gfx950", 32),
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", "gfx950", 32),
        ("v_mfma_f32_16x16x16_f16 a[0:3], v[0:1], v[2:3], a[0:3]", "gfx950", 16),
        ("v_mfma_f32_16x16x8_xf32 a[0:3], v[0:1], v[2:3], a[0:3]", "gfx942", None),
        ("v_smfmac_f32_16x16x32_f16 a[0:3], v[0:1], v[2:5], v6", "gfx942", None),
        ("v_add_f32 v0, v1, v2", "gfx942", None),
        ("v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", "gfx1030", None),
    ],
)
def test_cycles_of_a_matrix_instruction(text, target, cycles):
    assert busy_cycles(text, family_of(target)) == cycles


@pytest.mark.parametrize(
    "text, is_one", [("v_mfma_f32_4x4x1_16b_f32 a", True), ("v_smfmac_f32 a", True), ("v_add_f32 v0", False), ("s_mfma", False)]
)
def test_what_is_a_matrix_instruction(text, is_one):
    assert is_matrix(text) == is_one
