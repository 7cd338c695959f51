"""Rooflines worked out by hand from the MI300X's figures: 304 CUs, 2100 MHz, 5300 GB/s."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.analysis.ceilings import Ceiling, Ceilings
from rocm_perf_lab.analysis.counters import SymbolCounters, sum_of
from rocm_perf_lab.analysis.device import device_of
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.headroom import headroom
from rocm_perf_lab.analysis.roofline import roofline
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.metric import Value
from rocm_perf_lab.rocpd.trace import Agent

MI300X = Agent(1, "GPU", "gfx942", "MI300X", 0x74A1, {"cu_count": 304, "num_xcc": 8, "max_engine_clk_fcompute": 2100})
NOTHING = dict.fromkeys(family_of("gfx942").counters(), 0.0)
PEAK_F32 = 304 * 2100e6 * 128
PEAK_BF16 = 304 * 2100e6 * 2048


def roof(time_ns=1_000_000, device=None, **counters):
    return roofline(SymbolCounters(NOTHING | counters), time_ns, device or device_of(MI300X))


def test_a_streaming_kernel_by_hand():
    """64 Mi FMA wave instructions would be too many: 1 Mi FMAs, 64 MiB read in 128-byte requests, 1 ms."""
    found = roof(SQ_INSTS_VALU_FMA_F32=2.0**20, TCC_BUBBLE_sum=2.0**19, TCC_EA0_RDREQ_sum=2.0**19)
    flops, bytes = 2 * 64 * 2**20, 128 * 2**19
    assert (found.flops.value, found.levels[0].work.value) == (flops, bytes)
    assert found.intensity.value == flops / bytes == 2
    assert found.gflops.value == pytest.approx(flops / 1e6)
    assert found.ridge.value == pytest.approx(PEAK_F32 / 5300e9)
    assert found.position == "memory-bound"
    assert found.min_ns.value == pytest.approx(bytes / 5300e9 * 1e9)
    assert found.fraction.value == pytest.approx(bytes / 5300e9 / 1e-3)
    assert found.attainable_gflops.value == pytest.approx(2 * 5300)
    assert any("EXEC" in note for note in found.notes) and any("MALL" in note for note in found.notes)


def test_the_ridge_of_a_mix_lies_between_those_of_its_pipes():
    mops, fmas = 2.0**20, 2.0**18
    found = roof(SQ_INSTS_VALU_MFMA_MOPS_BF16=mops, SQ_INSTS_VALU_FMA_F32=fmas, TCC_BUBBLE_sum=1000.0, TCC_EA0_RDREQ_sum=1000.0)
    t_compute = 512 * mops / PEAK_BF16 + 128 * fmas / PEAK_F32
    assert found.compute_ns.value == pytest.approx(t_compute * 1e9)
    assert found.ridge.value == pytest.approx((512 * mops + 128 * fmas) / t_compute / 5300e9)
    assert PEAK_F32 / 5300e9 < found.ridge.value < PEAK_BF16 / 5300e9
    assert found.position == "compute-bound"
    assert found.attainable_gflops.value == pytest.approx((512 * mops + 128 * fmas) / t_compute / 1e9)


def test_integer_operations_take_time_but_are_no_flops():
    found = roof(SQ_INSTS_VALU_MFMA_MOPS_I8=2.0**20, TCC_EA0_WRREQ_sum=4.0)
    assert found.flops.value == 0
    assert found.compute_ns.value == pytest.approx(512 * 2**20 / (304 * 2100e6 * 4096) * 1e9)
    assert found.position == "compute-bound"


def test_a_copy_has_intensity_zero_and_no_ridge():
    found = roof(TCC_BUBBLE_sum=65536.0, TCC_EA0_RDREQ_sum=65536.0)
    assert found.intensity.value == 0 and found.position == "memory-bound"
    assert found.ridge.value is None and "0" in found.ridge.reason


def test_an_idle_kernel_has_no_position_and_no_headroom():
    found = roof()
    assert found.position is None
    assert headroom(found, Evidence({}), 0.5).kernel_speedup.value is None


def test_one_missing_counter_does_not_affect_the_rest():
    counters = {name: value for name, value in NOTHING.items() if name != "SQ_INSTS_VALU_MFMA_MOPS_F8"}
    found = roofline(SymbolCounters(counters | {"TCC_EA0_WRREQ_sum": 8.0}), 1000, device_of(MI300X))
    assert found.flops.value is None and found.flops.not_collected == ("SQ_INSTS_VALU_MFMA_MOPS_F8",)
    assert found.levels[0].work.value == 256 and found.levels[0].fraction.value > 0
    assert found.position is None
    assert found.fraction.value is None and "MOPS_F8" in found.fraction.reason


def test_given_figures_replace_those_of_the_device():
    device = device_of(MI300X, clock_mhz=1000, memory_bandwidth_gbps=100)
    found = roof(device=device, SQ_INSTS_VALU_ADD_F64=2.0**20, TCC_EA0_WRREQ_64B_sum=1000.0, TCC_EA0_WRREQ_sum=1000.0)
    part = next(p for p in found.arithmetic if (p.precision, p.pipe) == ("f64", "valu"))
    assert part.peak.value == 304 * 1000 * 128 / 1e3
    assert found.levels[0].peak.value == 100


def test_a_partition_has_its_own_cus_and_an_unknown_product_no_bandwidth():
    cpx = Agent(1, "GPU", "gfx942", "MI300X", 0x74A1, {"cu_count": 38, "num_xcc": 1, "max_engine_clk_fcompute": 2100})
    assert device_of(cpx).cu.value == 38
    unknown = device_of(Agent(1, "GPU", "gfx942", "", 0x1234, {"cu_count": 80, "max_engine_clk_fcompute": 2100}))
    found = roof(device=unknown, TCC_EA0_WRREQ_sum=8.0)
    assert found.position is None
    assert "0x1234" in found.levels[0].peak.reason and "--memory-bandwidth" in found.levels[0].peak.reason


def test_amdahl_bounds_the_program():
    found = headroom(roof(TCC_BUBBLE_sum=65536.0, TCC_EA0_RDREQ_sum=65536.0), Evidence({}), fraction_of_path=0.5)
    kernel = 1e6 / (65536 * 128 / 5300)
    assert found.kernel_speedup.value == pytest.approx(kernel)
    assert found.program_speedup.value == pytest.approx(1 / (0.5 + 0.5 / kernel))
    assert found.fraction.value == pytest.approx(1 - 1 / kernel)
    assert found.priority.value == pytest.approx(0.5 * (1 - 1 / kernel))
    assert found.binding == "HBM"


def test_headroom_counts_the_issue_time_of_vector_instructions_but_not_masked_lanes():
    reads = dict(TCC_BUBBLE_sum=1024.0, TCC_EA0_RDREQ_sum=1024.0)
    busy = {"valu_busy_fraction": Value(0.8, "fraction"), "divergent_lane_fraction": Value(0.0, "fraction")}
    found = headroom(roof(**reads), Evidence(busy), 1.0)
    assert (found.binding, found.fraction.value) == ("VALU issue", pytest.approx(0.2))
    half = headroom(roof(**reads), Evidence(busy | {"divergent_lane_fraction": Value(0.5, "fraction")}), 1.0)
    assert half.fraction.value == pytest.approx(0.6)


def test_headroom_is_never_less_than_0():
    found = headroom(roof(TCC_BUBBLE_sum=1e8, TCC_EA0_RDREQ_sum=1e8), Evidence({}), 0.5)  # served by a MALL: above the peak
    assert (found.fraction.value, found.kernel_speedup.value, found.priority.value) == (0, 1, 0)


def test_without_times_there_are_bytes_but_no_rates():
    found = roof(time_ns=0, TCC_EA0_WRREQ_sum=8.0)
    assert found.levels[0].work.value == 256
    assert found.levels[0].rate.value is None and "start and end" in found.levels[0].rate.reason
    assert found.fraction.value is None


# ---- measured ceilings ----


def measured(bandwidth=None, arithmetic=None):
    def rates(table):
        return {key: Ceiling(rate, rate, rate) for key, rate in (table or {}).items()}

    return Ceilings("roofline.csv", None, None, rates(bandwidth), rates(arithmetic))


def test_measured_ceilings_are_shown_beside_the_peaks_by_hand():
    """64 MiB at 4000 GB/s of HBM where the data sheet says 5300; FMAs at 70 of 81.7 TFLOP/s."""
    work = dict(SQ_INSTS_VALU_FMA_F32=2.0**20, TCC_BUBBLE_sum=2.0**19, TCC_EA0_RDREQ_sum=2.0**19)
    ceilings = measured({"HBM": 4000.0}, {("f32", "valu"): 70_000.0})
    found = roofline(SymbolCounters(NOTHING | work), 1_000_000, device_of(MI300X), ceilings)
    flops, bytes = 2 * 64 * 2**20, 128 * 2**19
    hbm, l2 = found.level("HBM"), found.level("L2")
    f32 = next(part for part in found.arithmetic if (part.precision, part.pipe) == ("f32", "valu"))
    assert hbm.fraction_of_measured.value == pytest.approx(bytes / 1e6 / 4000)
    assert f32.fraction_of_measured.value == pytest.approx(flops / 1e6 / 70_000)
    assert l2.measured.value is None and "roofline.csv" in l2.measured.reason
    assert found.measured_attainable_gflops.value == pytest.approx(flops / (bytes / 4000))
    assert found.attainable_gflops.value == pytest.approx(flops / (bytes / 5300))
    assert found.fraction_of_measured_ceiling.value > found.fraction.value
    assert headroom(found, Evidence({}), 1.0).min_ns.value == pytest.approx(bytes / 4000)


def test_without_ceilings_their_fields_are_null_with_the_reason():
    found = roof(TCC_EA0_WRREQ_sum=8.0)
    assert found.level("HBM").measured.value is None and "--ceilings" in found.level("HBM").measured.reason
    assert found.measured_attainable_gflops.value is None and "--ceilings" in found.fraction_of_measured_ceiling.reason


@given(st.lists(st.tuples(st.integers(1, 10**9), st.floats(0, 1e12), st.floats(0, 1e12)), min_size=1, max_size=5))
def test_several_kernels_combined_are_ratios_of_sums(kernels):
    parts = [SymbolCounters(NOTHING | {"SQ_INSTS_VALU_FMA_F32": fma, "TCC_EA0_WRREQ_sum": w}) for _, fma, w in kernels]
    time_ns = sum(ns for ns, _, _ in kernels)
    together = roofline(sum_of(parts), time_ns, device_of(MI300X))
    flops, bytes = 128 * sum(fma for _, fma, _ in kernels), 32 * sum(w for *_, w in kernels)
    assert together.gflops.value == pytest.approx(flops / time_ns)
    assert together.level("HBM").rate.value == pytest.approx(bytes / time_ns)
    if bytes:
        assert together.intensity.value == pytest.approx(flops / bytes)


def test_kernels_combined_have_only_the_figures_that_all_of_them_have():
    some = {name: value for name, value in NOTHING.items() if name != "TCC_BUBBLE_sum"}
    together = roofline(sum_of([SymbolCounters(NOTHING), SymbolCounters(some)]), 1000, device_of(MI300X))
    assert together.level("HBM").work.not_collected == ("TCC_BUBBLE_sum",)


# ---- other families ----


def test_mall_traffic_is_all_traffic_beyond_the_l2():
    found = roof(TCC_BUBBLE_sum=65536.0, TCC_EA0_RDREQ_sum=65536.0)
    assert [level.name for level in found.levels] == ["HBM", "MALL", "L2", "L1", "LDS"]
    assert found.level("MALL").work == found.level("HBM").work
    assert found.level("MALL").peak.value == 17200
    mi250x = Agent(1, "GPU", "gfx90a", "", 0x7408, {"cu_count": 110, "num_xcc": 1, "max_engine_clk_fcompute": 1700})
    cdna2 = roofline(SymbolCounters(dict.fromkeys(family_of("gfx90a").counters(), 1.0)), 1000, device_of(mi250x))
    assert [level.name for level in cdna2.levels] == ["HBM", "L2", "L1", "LDS"]


def test_rdna2_reports_the_bytes_beyond_its_l2_and_a_reason_for_the_rest():
    """A copy of 1 MiB with 128-byte reads and 64-byte writes."""
    rx6800xt = Agent(1, "GPU", "gfx1030", "", 0x73BF, {"cu_count": 72, "num_xcc": 1, "max_engine_clk_fcompute": 2250})
    counters = dict.fromkeys(family_of("gfx1030").counters(), 0.0)
    counters |= {"GL2C_EA_RDREQ_128B_sum": 8192.0, "GL2C_MC_WRREQ_sum": 16384.0, "GL2C_EA_WRREQ_64B_sum": 16384.0}
    found = roofline(SymbolCounters(counters), 10_000, device_of(rx6800xt))
    assert found.level("HBM").work.value == 2 * 2**20
    assert found.level("HBM").fraction.value == pytest.approx(2 * 2**20 / 1e4 / 512)
    for name in ("L2", "L1", "LDS"):
        assert found.level(name).work.value is None and "gfx1030" in found.level(name).work.reason
    peaks = {(part.precision, part.pipe): part for part in found.arithmetic}
    assert peaks["f32", "valu"].peak.value == pytest.approx(20_736)  # 20.7 TFLOP/s
    assert peaks["f16", "valu"].work.value is None and "floating-point" in peaks["f16", "valu"].work.reason
    assert found.flops.value is None and found.position is None
