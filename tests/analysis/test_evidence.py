"""Evidence for bottlenecks: what it is computed from, and why it is missing."""

from __future__ import annotations

import types

import pytest

from rocm_perf_lab.analysis.evidence import (
    Evidence,
    _activity,
    _compute_fraction,
    _cycles,
    _greatest,
    _is_missing,
    _life,
    _memory_side,
    _parallelism,
    _sources,
)
from rocm_perf_lab.analysis.roofline import NO_TIME
from rocm_perf_lab.arch import cdna3, rdna2
from rocm_perf_lab.arch.metric import Value

UNKNOWN = Value.missing("ns", "no counters")


def roofline(compute: Value = UNKNOWN, ns: int = 0, position: str | None = None, ceiling: Value = UNKNOWN):
    return types.SimpleNamespace(compute_ns=compute, time_ns=ns, position=position, min_ns=ceiling)


@pytest.mark.parametrize(
    "given, value, reason",
    [
        (roofline(Value(25.0, "ns"), 100), 0.25, None),
        (roofline(UNKNOWN, 100), None, "no counters"),
        (roofline(Value(25.0, "ns")), None, NO_TIME),
        (roofline(), None, f"no counters; {NO_TIME}"),
    ],
)
def test_the_share_of_its_time_that_a_kernel_spends_computing(given, value, reason):
    found = _compute_fraction(given)
    assert (found.value, found.reason) == (value, reason)


@pytest.mark.parametrize(
    "given, value, reason",
    [
        (roofline(position="memory-bound"), 1.0, None),
        (roofline(position="compute-bound"), 0.0, None),
        (roofline(), None, "no counters"),
        (roofline(ceiling=Value(1.0, "ns")), None, "it counts no operations and moves no bytes"),
    ],
)
def test_the_side_of_the_ridge(given, value, reason):
    found = _memory_side(given)
    assert (found.value, found.reason) == (value, reason)


def test_the_greatest_of_several_values_is_known_only_if_all_are():
    values = {"a": Value(0.25, "fraction"), "b": Value(0.5, "fraction"), "c": UNKNOWN}
    assert _greatest(values, ("a", "b")).value == 0.5
    assert (_greatest(values, ("a", "c")).value, _greatest(values, ("a", "c")).reason) == (None, "no counters")
    assert _greatest(values, ("a", "d")).value is None
    assert _greatest({}, ("d",)).reason == "no counters are known for it"


@pytest.mark.parametrize(
    "cycles, waves, rounds, value, reason",
    [
        (8000.0, 4.0, 2.0, 2000.0, None),
        (8000.0, 4.0, 1.9, None, "all or nearly all waves start at once, so their start-up costs time only once"),
        (0.0, 4.0, 2.0, None, "no waves were counted"),
        (8000.0, 0.0, 2.0, None, "no waves were counted"),
        (8000.0, None, 2.0, None, "no such counter is known"),
    ],
)
def test_the_lifetime_of_a_wave(cycles, waves, rounds, value, reason):
    names = {"wave_cycles": cycles, "waves": waves, "rounds_of_waves": rounds}
    found = _life({name: Value(number, "cycles") for name, number in names.items() if number is not None})
    assert (found.value, found.reason) == (value, reason)


def device(cu: float | None = 100.0, xcd: float | None = 4.0, clock: float | None = 2000.0):
    return types.SimpleNamespace(
        cu=Value(cu, "", None if cu else "no CUs"), xcd=Value(xcd, ""), clock=Value(clock, "MHz", None if clock else "no clock")
    )


@pytest.mark.parametrize(
    "counted, ns, xcd, clock, measured, cycles",
    [
        (4000.0, 1000, 4.0, 2000.0, True, 1000.0),
        (40_000.0, 1000, 4.0, 2000.0, True, 2000.0),  # no more cycles than at the peak clock
        (4000.0, 1000, 4.0, 2000.0, False, 2000.0),
        (4000.0, 1000, None, 2000.0, True, 2000.0),
        (0.0, 1000, 4.0, 2000.0, True, 2000.0),
        (None, 1000, 4.0, 2000.0, True, 2000.0),
        (4000.0, 1000, 4.0, None, True, 1000.0),
        (4000.0, 0, 4.0, 2000.0, True, 1000.0),
        (None, 1000, 4.0, None, True, "no clock"),
        (None, 0, 4.0, 2000.0, True, NO_TIME),
    ],
)
def test_the_cycles_of_a_kernel_are_counted_or_follow_from_the_peak_clock(counted, ns, xcd, clock, measured, cycles):
    found = _cycles({"active_cycles": Value(counted, "cycles")}, ns, device(xcd=xcd, clock=clock), measured)
    assert (found.value if isinstance(cycles, float) else found.reason) == cycles
    assert _cycles({}, 1000, device(), True).value == 2000.0


COUNTED = {
    "valu_instructions": 5000.0, "mfma_busy_cycles": 4000.0, "lds_busy_cycles": 2500.0, "wave_cycles": 16_000.0,
}  # fmt: skip


@pytest.mark.parametrize(
    "family, shares",
    [
        # 10 CUs of 4 SIMDs for 100 cycles; an instruction takes 4 cycles, and a SIMD holds 8 waves.
        (cdna3.FAMILY, {"valu_busy_fraction": 5.0, "mfma_busy_fraction": 1.0, "lds_busy_fraction": 2.5,
                        "achieved_occupancy": 0.5, "mean_waves_per_simd": 4.0}),
        # 10 CUs of 2 SIMDs for 100 cycles; an instruction takes one, and a SIMD holds 16 waves.
        (rdna2.FAMILY, {"valu_busy_fraction": 2.5, "mfma_busy_fraction": 2.0, "lds_busy_fraction": 2.5,
                        "achieved_occupancy": 0.5, "mean_waves_per_simd": 8.0}),
    ],
)  # fmt: skip
def test_shares_of_the_cycles_of_the_device(family, shares):
    values = {name: Value(number, "") for name, number in COUNTED.items()}
    found = _activity(values, Value(100.0, "cycles"), device(cu=10.0), family)
    assert {name: value.value for name, value in found.items()} == shares
    assert {value.unit for name, value in found.items()} == {"fraction", "waves/SIMD"}
    del values["lds_busy_cycles"]
    values["wave_cycles"] = UNKNOWN
    found = _activity(values, Value(100.0, "cycles"), device(cu=10.0), family)
    assert found["lds_busy_fraction"].reason == f"no such counter is known for {family.name}"
    assert found["achieved_occupancy"].reason == found["mean_waves_per_simd"].reason == "no counters"


@pytest.mark.parametrize(
    "cu, cycles, reason",
    [
        (None, Value(1.0, "cycles"), "no CUs"),
        (10.0, Value(None, "cycles", "no clock"), "no clock"),
        (10.0, Value(None, ""), NO_TIME),
    ],
)
def test_without_cycles_or_cus_there_are_no_shares(cu, cycles, reason):
    found = _activity({}, cycles, device(cu=cu), cdna3.FAMILY)
    assert len(found) == 5 and {value.reason for value in found.values()} == {reason}


def occupancy(fill: float | None = 2.5, compute_units: int = 1, found: bool = True, reason: str | None = None):
    of = types.SimpleNamespace(fraction=0.25, resident_waves_per_cu=8, simds_per_cu=4, compute_units=compute_units)
    return types.SimpleNamespace(occupancy=of if found else None, waves=1600 if found else None, fill=fill, reason=reason)


def test_how_many_waves_there_are():
    found = _parallelism(occupancy(), device(cu=100.0))
    assert {name: value.value for name, value in found.items()} == {
        "theoretical_occupancy": 0.25, "resident_waves_per_simd": 2.0, "grid_waves_per_simd": 4.0, "rounds_of_waves": 2.5,
    }  # fmt: skip
    of_two = _parallelism(occupancy(compute_units=2), device(cu=100.0))
    assert of_two["grid_waves_per_simd"].value == 8.0
    unknown = _parallelism(occupancy(fill=None), device(cu=None))
    assert unknown["grid_waves_per_simd"].reason == unknown["rounds_of_waves"].reason == "no CUs"
    assert _parallelism(occupancy(fill=0.0), device())["rounds_of_waves"].reason == "no waves fit"
    for reason, said in (("no rules", "no rules"), (None, "no occupancy")):
        none = _parallelism(occupancy(found=False, reason=reason), device())
        assert len(none) == 4 and {value.reason for value in none.values()} == {said}


def test_a_thread_trace_may_fill_in_only_missing_values():
    values = {"a": Value(0.0, ""), "b": UNKNOWN}
    assert [_is_missing(values, name) for name in "abc"] == [False, True, True]
    assert [Evidence(values).number(name) for name in "abc"] == [0.0, None, None]


def test_the_counters_behind_each_number():
    found = _sources(cdna3.FAMILY)
    assert found["wait_fraction"] == ("SQ_WAIT_ANY", "SQ_WAVE_CYCLES") and found["l2_fraction"][0] == "TCP_TCC_READ_REQ_sum"
    assert found["valu_busy_fraction"] == ("SQ_INSTS_VALU",) and found["achieved_occupancy"] == ("SQ_WAVE_CYCLES",)
    memory = ("TCC_BUBBLE_sum", "TCC_EA0_RDREQ_sum", "TCC_EA0_RDREQ_32B_sum", "TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum")
    assert found["hbm_fraction"] == memory and found["memory_side"] == (*memory, *found["flop_fraction"])
    levels = found["busiest_level_fraction"]
    assert levels == (*memory, *found["l2_fraction"], *found["l1_fraction"], "SQ_LDS_IDX_ACTIVE")
    assert _sources(rdna2.FAMILY)["valu_busy_fraction"] == () == _sources(rdna2.FAMILY)["flop_fraction"]
