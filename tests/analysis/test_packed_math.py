"""Packed instructions: distinguished from plain ones by a thread trace or the code, and counted as two operations each."""

from __future__ import annotations

import pytest

from rocm_perf_lab.analysis.counters import SymbolCounters, sum_of
from rocm_perf_lab.analysis.device import device_of
from rocm_perf_lab.analysis.packed_math import Packing, from_code, from_executed, packed_counted_twice
from rocm_perf_lab.analysis.roofline import roofline
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.rocpd.trace import Agent

FMA, ADD, MUL = (f"SQ_INSTS_VALU_{kind}_F32" for kind in ("FMA", "ADD", "MUL"))
HALF = "SQ_INSTS_VALU_FMA_F16"
CODE = [
    "v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]",
    "v_fmac_f32_e32 v0, v1, v2",
    "v_pk_fma_f16 v3, v4, v5, v3",
    "v_add_f32_e32 v0, v1, v2",
    "v_pk_mul_f32 v[0:1], v[2:3], v[4:5]",
    "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]",
    "v_add_u32_e32 v0, v1, v2",
    "s_mul_f32 s0, s1, s2",
]


def test_a_trace_tells_how_often_each_ran():
    found = from_executed(zip(CODE, (3, 1, 5, 7, 0, 9, 9, 9), strict=True))
    assert found.shares == {FMA: 0.75, HALF: 1.0, ADD: 0.0}


def test_code_alone_decides_only_if_all_instructions_have_one_form():
    assert from_code(CODE).shares == {HALF: 1.0, ADD: 0.0, MUL: 1.0}


def counters(**values: float) -> SymbolCounters:
    return SymbolCounters(dict.fromkeys(family_of("gfx90a").counters(), 0.0) | values)


def of_f32(of: SymbolCounters):
    device = device_of(Agent(1, "GPU", "gfx90a", "MI250X", 0x7408, {"cu_count": 110, "max_engine_clk_fcompute": 1700}))
    return next(part for part in roofline(of, 1000, device).arithmetic if (part.precision, part.pipe) == ("f32", "valu"))


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_flops_and_the_peak_of_f32_grow_with_the_packed_share(share):
    plain = of_f32(counters(**{FMA: 100.0}))
    packed = of_f32(packed_counted_twice(counters(**{FMA: 100.0}), Packing({FMA: share}, "its code")))
    assert plain.work.value == 64 * 2 * 100
    assert packed.work.value == pytest.approx(plain.work.value * (1 + share))
    assert packed.peak.value == pytest.approx(plain.peak.value * (1 + share)), "no instruction can take more of the pipe"
    assert packed.fraction.value == pytest.approx(plain.fraction.value)


def test_a_saturated_packed_f16_kernel_is_at_its_peak_and_not_at_half_of_it():
    device = device_of(Agent(1, "GPU", "gfx90a", "MI210", 0x740F, {"cu_count": 104, "max_engine_clk_fcompute": 1700}))
    cycles = 104 * 4 * 1700e6 * 1e-3  # over all SIMDs in 1 ms; an instruction takes four
    busy = packed_counted_twice(counters(**{HALF: cycles / 4}), Packing({HALF: 1.0}, "its code"))
    (part,) = (part for part in roofline(busy, 10**6, device).arithmetic if part.precision == "f16" and part.pipe == "valu")
    assert part.fraction.value == pytest.approx(1.0)


def test_what_is_not_known_stays_unchanged_and_is_noted():
    same = packed_counted_twice(counters(**{FMA: 100.0, ADD: 5.0}), Packing({ADD: 0.0}, "its code"))
    assert same.values[FMA] == 100.0 and not same.raw
    (note,) = same.notes
    assert FMA in note and ADD not in note and "count once" in note
    assert not packed_counted_twice(counters(), None).notes


def test_kernels_combined_keep_the_counts_of_each():
    first = packed_counted_twice(counters(**{FMA: 100.0}), Packing({FMA: 1.0}, "its code"))
    together = sum_of([first, counters(**{FMA: 100.0})])
    assert (together.values[FMA], together.raw[FMA]) == (300.0, 200.0)
    assert of_f32(together).peak.value == pytest.approx(1.5 * of_f32(counters(**{FMA: 1.0})).peak.value)
