"""Sections that several documents share: every number of the findings is in its field, and each missing one has a reason."""

from __future__ import annotations

import types

import pytest

from rocm_perf_lab.analysis.bottleneck import EXPERIMENTS, Bottleneck, ClassScore
from rocm_perf_lab.analysis.bottleneck_thresholds import LARGER, Factor, signals
from rocm_perf_lab.analysis.durations import Durations
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.fuzzy_score import UNKNOWN as UNSCORED
from rocm_perf_lab.analysis.fuzzy_score import Score
from rocm_perf_lab.analysis.headroom import ASSUMPTION, BY_EXPERIMENTS, Headroom
from rocm_perf_lab.analysis.occupancy import NO_REGISTERS, DispatchOccupancy
from rocm_perf_lab.analysis.roofline import NO_TIME, Arithmetic, Level
from rocm_perf_lab.analysis.time_stack_verdict import Remedy
from rocm_perf_lab.arch.metric import Value
from rocm_perf_lab.arch.occupancy import KernelResources, Occupancy
from rocm_perf_lab.arch.occupancy_lift import OccupancyLift, ResourceChange
from rocm_perf_lab.report import shared_sections

WAIT = signals()["wait_fraction"]


def numbers(section) -> dict[str, object]:
    """The contents of a section, without the field that none of these tests covers."""
    return {name: value for name, value in section.model_dump().items() if name != "reasons"}


def missing(reason: str) -> Value:
    return Value.missing("", reason)


def test_a_number_or_the_reason_for_its_absence():
    found = shared_sections.nullable(a=Value(0.0, "ns"), b=missing("no counters"), c=Value(None, "ns"))
    assert found == {"a": 0.0, "b": None, "c": None, "reasons": {"b": "no counters", "c": "not known"}}


def test_no_dispatch_takes_no_time():
    assert shared_sections.milliseconds(2_500_000).value == 2.5
    assert (shared_sections.milliseconds(0).value, shared_sections.milliseconds(0).reason) == (None, NO_TIME)


def test_durations():
    found = shared_sections.durations(Durations(20.0, 5.0, 10, 15.0, 28.0, 30))
    assert numbers(found) == {
        "mean_ns": 20.0, "stddev_ns": 5.0, "min_ns": 10, "median_ns": 15.0, "p95_ns": 28.0, "max_ns": 30,
    }  # fmt: skip
    assert shared_sections.durations(Durations(1.0, 0.0, 1, 1.0, 1.0, 1)).reasons == {}
    assert shared_sections.durations(Durations(1.0, None, 1, 1.0, 1.0, 1)).reasons == {"stddev_ns": "one dispatch"}


def test_the_gpu():
    device = types.SimpleNamespace(
        clock=Value(2100.0, "MHz"), memory_bandwidth=Value(5300.0, "GB/s"), cu=Value(304.0, ""), pci_id=0x4A1,
        family_name="cdna3", target="gfx942", product_name="MI300X",
    )  # fmt: skip
    found = shared_sections.gpu(device, types.SimpleNamespace(software_device="software gfx942"))
    assert numbers(found) == {
        "architecture": "cdna3", "target": "gfx942", "product": "MI300X", "pci_id": "0x04a1",
        "software_device": "software gfx942", "compute_units": 304, "clock_mhz": 2100.0, "memory_bandwidth_gbps": 5300.0,
    }  # fmt: skip
    assert type(found.compute_units) is int and found.reasons == {}
    assert (
        shared_sections.gpu(
            types.SimpleNamespace(**vars(device) | {"pci_id": 0}), types.SimpleNamespace(software_device="d")
        ).pci_id
        == "0x0000"
    )
    vars(device).update(cu=missing("no CUs"), clock=missing("no clock"), pci_id=None)
    unknown = shared_sections.gpu(device, types.SimpleNamespace(software_device=None))
    assert (unknown.compute_units, unknown.clock_mhz, unknown.pci_id, unknown.software_device) == (None,) * 4
    assert unknown.reasons == {
        "compute_units": "no CUs", "clock_mhz": "no clock", "pci_id": "the trace's agent has no PCI device id",
        "software_device": "the kernels ran on hardware",
    }  # fmt: skip


@pytest.mark.parametrize("arch, accum", [(64, 8), (1, 0), (0, 1), (0, 0)])
def test_registers_are_unknown_if_there_are_none_at_all(arch, accum):
    dispatches = types.SimpleNamespace(lds_bytes=[1, 512], scratch_bytes=[2, 16])
    found = shared_sections.resources(KernelResources(arch, accum, 32, 0, 64), dispatches, 1)
    registers = (found.vgpr_per_thread, found.accum_vgpr_per_thread, found.sgpr_per_wave)
    assert registers == ((arch, accum, 32) if arch + accum else (None, None, None))
    assert (found.lds_bytes, found.scratch_bytes) == (512, 16)
    assert set(found.reasons.values()) == ({NO_REGISTERS} if arch + accum == 0 else set())


def occupancy(device_waves: int | None) -> DispatchOccupancy:
    found = Occupancy(3, 8, 4, 32, 4, 2, {"VGPRs": 8, "wave slots": 32}, ("VGPRs",), ())
    lift = OccupancyLift((ResourceChange("VGPRs", 200, 128),), 16)
    return DispatchOccupancy(KernelResources(200, 0, 32, 0, 128), 5, found, 10, device_waves, None, (lift,), ("a note",))


def test_occupancy():
    found = shared_sections.occupancy(occupancy(2432), "no CUs")
    assert numbers(found) == {
        "theoretical": 0.25, "unit": "CU", "compiler_waves_per_simd": 3, "resident_waves_per_cu": 8,
        "resident_workgroups_per_cu": 4, "max_waves_per_cu": 32, "simds_per_cu": 4, "limited_by": ["VGPRs"],
        "limits": {"VGPRs": 8, "wave slots": 32}, "waves_in_grid": 10, "device_waves": 2432, "notes": ["a note"],
        "lifts": [{"changes": [{"resource": "VGPRs", "now": 200, "then": 128}], "resident_waves_per_cu": 16}],
    }  # fmt: skip
    assert found.reasons == {}
    assert shared_sections.occupancy(occupancy(None), "no CUs").reasons == {"device_waves": "no CUs"}
    assert shared_sections.occupancy(occupancy(None), None).reasons == {"device_waves": "not known"}


@pytest.mark.parametrize("reason, said", [("no rules", "no rules"), (None, "not known")])
def test_an_occupancy_that_is_not_known(reason, said):
    found = shared_sections.occupancy(DispatchOccupancy(KernelResources(0, 0, 0, 0, 0), 0, None, None, None, reason), None)
    assert (found.limited_by, found.limits, found.lifts, found.notes) == ([], {}, [], [])
    assert len(found.reasons) == 9 and set(found.reasons.values()) == {said}


def test_a_kernel_under_its_roofs():
    arithmetic = Arithmetic(*(Value(float(number), "") for number in range(1, 7)), "f32", "valu")
    level = Level(*(Value(float(number), "") for number in range(1, 7)), "L2", Value(7.0, ""))
    roof = types.SimpleNamespace(
        time_ns=2_500_000, flops=Value(10.0, ""), gflops=Value(11.0, ""), attainable_gflops=Value(12.0, ""),
        fraction=Value(13.0, ""), measured_attainable_gflops=Value(14.0, ""), fraction_of_measured_ceiling=Value(15.0, ""),
        intensity=Value(16.0, ""), ridge=Value(17.0, ""), position="memory-bound", arithmetic=(arithmetic,), levels=(level,),
        notes=("a note",), min_ns=Value(1.0, "ns"),
    )  # fmt: skip
    found = shared_sections.roofline("sum()", roof)
    assert numbers(found) == {
        "kernel": "sum()", "time_ms": 2.5, "flop": 10.0, "gflops": 11.0, "attainable_gflops": 12.0,
        "fraction_of_ceiling": 13.0, "measured_attainable_gflops": 14.0, "fraction_of_measured_ceiling": 15.0,
        "operational_intensity": 16.0, "ridge": 17.0, "position": "memory-bound", "notes": ["a note"],
        "arithmetic": [{
            "precision": "f32", "pipe": "valu", "flop": 1.0, "gflops": 2.0, "peak_gflops": 3.0, "fraction": 4.0,
            "measured_gflops": 5.0, "fraction_of_measured": 6.0,
        }],
        "levels": [{
            "level": "L2", "bytes": 1.0, "gbps": 2.0, "peak_gbps": 3.0, "fraction": 4.0, "measured_gbps": 5.0,
            "fraction_of_measured": 6.0, "operational_intensity": 7.0,
        }],
    }  # fmt: skip
    roof.position = None
    assert shared_sections.roofline("sum()", roof).reasons == {
        "position": "the kernel performs no operations that are counted, and moves no bytes"
    }
    roof.min_ns = missing("no counters")
    assert shared_sections.no_position(roof) == "no counters"
    assert shared_sections.no_position(None) == "no ceilings are known for this device"


def test_all_evidence_or_a_part_of_it():
    found = Evidence({"a": Value(1.0, "ns"), "b": missing("no counters")})
    assert [(one.name, one.value, one.reasons) for one in shared_sections.evidence(found)] == [
        ("a", 1.0, {}), ("b", None, {"value": "no counters"}),
    ]  # fmt: skip
    assert [(one.name, one.unit) for one in shared_sections.evidence(found, ("a", "c"))] == [("a", "ns")]


def bottleneck(**changed) -> Bottleneck:
    first = ClassScore("latency-bound", Score(0.75, 0.5, 1.0), {"wait_fraction": Score.known(0.75)})
    given = dict(
        name="latency-bound", why="waves wait", score=0.75, confidence=0.123_456_789, certainty="low",
        classes=(first, ClassScore("under-occupied", UNSCORED, {"rounds_of_waves": UNSCORED})),
        factors=(Factor("scratch", "scratch_bytes", 0.0, None, "it spills", (), ""),),
        undecided={"under-occupied": "no waves"}, advice=("one", LARGER, "two"),
    )  # fmt: skip
    return Bottleneck(**(given | changed))


NUMBERS = Evidence(
    {"wait_fraction": Value(0.5, "fraction"), "scratch_bytes": Value(8.0, "bytes")}, {"wait_fraction": ("WAITS", "WAVES")}
)


def test_the_verdict_by_counters():
    found = shared_sections.bottleneck(bottleneck(), NUMBERS)
    assert (found.name, found.by, found.why, found.score, found.certainty) == (
        "latency-bound", "counters", "waves wait", 0.75, "low",
    )  # fmt: skip
    assert found.confidence == 0.123457 and found.undecided == {"under-occupied": "no waves"}
    assert found.reasons == {"on_full_device": "there is no verdict by experiments that the grid is small"}
    assert found.advice == ["one", LARGER, "two"] and found.remedies == []
    assert [(one.name, one.value, one.counters) for one in found.evidence] == [("wait_fraction", 0.5, ["WAITS", "WAVES"])]
    (factor,) = found.factors
    assert (factor.name, factor.why) == ("scratch", "it spills")
    assert [(one.name, one.value) for one in factor.evidence] == [("scratch_bytes", 8.0)]
    first, second = found.classes
    assert (first.name, first.score, first.at_least, first.at_most, first.reasons) == ("latency-bound", 0.75, 0.5, 1.0, {})
    assert first.signals[0].name == "wait_fraction" and first.advice == [*WAIT.advice]
    assert (second.score, second.at_least, second.at_most, second.advice) == (None, 0.0, 1.0, [])
    assert second.reasons == {"score": "the numbers that determine its score are missing"}


def test_the_verdict_by_experiments():
    remedy = Remedy("latency", "unroll", 0.25, "a.hip:7", 0.125, 0.5, 0.0625, "scan()")
    found = shared_sections.bottleneck(bottleneck(by=EXPERIMENTS, remedies=(remedy,), on_full_device="uncoalesced"), NUMBERS)
    (said,) = found.remedies
    assert found.advice == [LARGER, shared_sections.in_words_all([said])[0], "one", "two"]
    assert (found.on_full_device, found.reasons, found.evidence) == ("uncoalesced", {}, [])
    unknown = shared_sections.bottleneck(bottleneck(name="unknown", score=None), NUMBERS)
    assert unknown.reasons["score"] == "waves wait" and unknown.evidence == []


@pytest.mark.parametrize(
    "value, holds, reasons",
    [
        (Value(WAIT.threshold, "fraction"), True, {}),
        (Value(WAIT.threshold - 0.01, "fraction"), False, {}),
        (missing("not traced"), None, {"value": "not traced", "holds": "not traced"}),
        (None, None, dict.fromkeys(("value", "holds"), "no counters are known for wait_fraction")),
    ],
)
def test_a_signal_holds_from_its_threshold_onwards(value, holds, reasons):
    found = shared_sections._signal(WAIT, Evidence({} if value is None else {"wait_fraction": value}))
    assert (found.holds, found.reasons, found.counters) == (holds, reasons, [])
    assert (found.threshold, found.direction, found.rationale) == (WAIT.threshold, "at least", WAIT.rationale)


def headroom(ceiling: Value, binding: str | None, by: str) -> Headroom:
    rest = (Value(0.5, "") if binding else missing("no counters") for _ in range(4))
    return Headroom(ceiling, binding, *rest, by)


def test_headroom():
    found = shared_sections.headroom(Headroom(Value(2_500_000.0, "ns"), "HBM", *(Value(n, "") for n in (0.5, 2.0, 1.5, 0.25))))
    assert numbers(found) == {
        "ceiling_ms": 2.5, "binding": "HBM", "fraction": 0.5, "kernel_speedup": 2.0, "program_speedup": 1.5,
        "priority": 0.25, "by": "counters", "assumption": ASSUMPTION,
    }  # fmt: skip
    assert shared_sections.headroom(headroom(Value(1.0, "ns"), "launch", EXPERIMENTS)).assumption == BY_EXPERIMENTS
    none = shared_sections.headroom(headroom(missing("no roofs"), None, "counters"))
    assert none.reasons == {
        "ceiling_ms": "no roofs",
        **dict.fromkeys(("fraction", "kernel_speedup", "program_speedup", "priority", "binding"), "no counters"),
    }
