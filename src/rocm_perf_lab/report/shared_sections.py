"""Turns findings into sections that several documents share."""

from __future__ import annotations

from typing import Any

from rocm_perf_lab.analysis.bottleneck import EXPERIMENTS, Bottleneck, ClassScore
from rocm_perf_lab.analysis.bottleneck_thresholds import LARGER, Signal
from rocm_perf_lab.analysis.device import GpuSpecs
from rocm_perf_lab.analysis.durations import Durations
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.headroom import ASSUMPTION, BY_EXPERIMENTS, Headroom
from rocm_perf_lab.analysis.occupancy import NO_REGISTERS, DispatchOccupancy
from rocm_perf_lab.analysis.roofline import NO_TIME, Arithmetic, Level, Roofline
from rocm_perf_lab.arch.metric import Value
from rocm_perf_lab.arch.occupancy import KernelResources
from rocm_perf_lab.arch.occupancy_lift import OccupancyLift
from rocm_perf_lab.report import schema
from rocm_perf_lab.report.remedies import in_words_all, remedy_section
from rocm_perf_lab.rocpd.trace import Dispatches, Trace


def nullable(**fields: Value) -> dict[str, Any]:
    """Keyword arguments for a Section: the numbers and, under `reasons`, why some of them are None."""
    reasons = {name: value.reason or "not known" for name, value in fields.items() if value.value is None}
    return {name: value.value for name, value in fields.items()} | {"reasons": reasons}


def milliseconds(ns: int | float) -> Value:
    """A duration of dispatches; missing if it is 0, which occurs only in traces without GPU times."""
    return Value(ns / 1e6, "ms") if ns else Value.missing("ms", NO_TIME)


def durations(statistics: Durations) -> schema.DurationsSection:
    return schema.DurationsSection(
        mean_ns=statistics.mean,
        stddev_ns=statistics.stddev,
        min_ns=statistics.min,
        median_ns=statistics.median,
        p95_ns=statistics.p95,
        max_ns=statistics.max,
        reasons={} if statistics.stddev is not None else {"stddev_ns": "one dispatch"},
    )


def gpu(device: GpuSpecs, trace: Trace) -> schema.Gpu:
    numbers = nullable(clock_mhz=device.clock, memory_bandwidth_gbps=device.memory_bandwidth, compute_units=device.cu)
    if numbers["compute_units"] is not None:
        numbers["compute_units"] = int(numbers["compute_units"])
    if device.pci_id is None:
        numbers["reasons"]["pci_id"] = "the trace's agent has no PCI device id"
    if trace.software_device is None:
        numbers["reasons"]["software_device"] = "the kernels ran on hardware"
    return schema.Gpu(
        architecture=device.family_name,
        target=device.target,
        product=device.product_name,
        pci_id=f"{device.pci_id:#06x}" if device.pci_id is not None else None,
        software_device=trace.software_device,
        **numbers,
    )


def resources(uses: KernelResources, dispatches: Dispatches, row: int) -> schema.Resources:
    """The registers that the kernel uses, and the memory that its dispatch in `row` uses."""
    registers = dict(vgpr_per_thread=uses.arch_vgprs, accum_vgpr_per_thread=uses.accum_vgprs, sgpr_per_wave=uses.sgprs)
    known = uses.arch_vgprs + uses.accum_vgprs > 0
    return schema.Resources(
        **(registers if known else dict.fromkeys(registers)),
        reasons={} if known else dict.fromkeys(registers, NO_REGISTERS),
        lds_bytes=int(dispatches.lds_bytes[row]),
        scratch_bytes=int(dispatches.scratch_bytes[row]),
    )


_OCCUPANCY_FIELDS = (
    "theoretical", "compiler_waves_per_simd", "resident_waves_per_cu", "resident_workgroups_per_cu", "max_waves_per_cu",
    "simds_per_cu", "waves_in_grid", "device_waves", "unit",
)  # fmt: skip


def occupancy(dispatch: DispatchOccupancy, device_reason: str | None) -> schema.OccupancySection:
    """device_reason: why the number of compute units is unknown, if it is."""
    theoretical = dispatch.occupancy
    if theoretical is None:
        nulls: dict[str, Any] = dict.fromkeys(_OCCUPANCY_FIELDS)
        reasons = dict.fromkeys(_OCCUPANCY_FIELDS, dispatch.reason or "not known")
        return schema.OccupancySection(limited_by=[], limits={}, lifts=[], notes=[], reasons=reasons, **nulls)
    return schema.OccupancySection(
        theoretical=theoretical.fraction,
        compiler_waves_per_simd=theoretical.compiler_waves_per_simd,
        resident_waves_per_cu=theoretical.resident_waves_per_cu,
        resident_workgroups_per_cu=theoretical.resident_workgroups_per_cu,
        max_waves_per_cu=theoretical.max_waves_per_cu,
        simds_per_cu=theoretical.simds_per_cu,
        unit=theoretical.unit,
        limited_by=list(theoretical.limited_by),
        limits=theoretical.limits,
        waves_in_grid=dispatch.waves,
        device_waves=dispatch.device_waves,
        lifts=[_lift(lift) for lift in dispatch.lifts],
        notes=list(dispatch.notes),
        reasons={} if dispatch.device_waves is not None else {"device_waves": device_reason or "not known"},
    )


def _lift(lift: OccupancyLift) -> schema.LiftSection:
    changes = [schema.ResourceChange(resource=c.resource, now=c.now, then=c.then) for c in lift.changes]
    return schema.LiftSection(changes=changes, resident_waves_per_cu=lift.waves)


def roofline(kernel: str, roof: Roofline) -> schema.RooflineSection:
    fields = nullable(
        time_ms=milliseconds(roof.time_ns),
        flop=roof.flops,
        gflops=roof.gflops,
        attainable_gflops=roof.attainable_gflops,
        fraction_of_ceiling=roof.fraction,
        measured_attainable_gflops=roof.measured_attainable_gflops,
        fraction_of_measured_ceiling=roof.fraction_of_measured_ceiling,
        operational_intensity=roof.intensity,
        ridge=roof.ridge,
    )
    if roof.position is None:
        fields["reasons"]["position"] = no_position(roof)
    return schema.RooflineSection(
        kernel=kernel,
        position=roof.position,
        arithmetic=[_arithmetic(part) for part in roof.arithmetic],
        levels=[_level(level) for level in roof.levels],
        notes=list(roof.notes),
        **fields,
    )


def no_position(roof: Roofline | None) -> str:
    if roof is None:
        return "no ceilings are known for this device"
    return roof.min_ns.reason or "the kernel performs no operations that are counted, and moves no bytes"


def _arithmetic(part: Arithmetic) -> schema.ArithmeticSection:
    fields = nullable(
        flop=part.work,
        gflops=part.rate,
        peak_gflops=part.peak,
        fraction=part.fraction,
        measured_gflops=part.measured,
        fraction_of_measured=part.fraction_of_measured,
    )
    return schema.ArithmeticSection(precision=part.precision, pipe=part.pipe, **fields)


def _level(level: Level) -> schema.LevelSection:
    fields = nullable(
        bytes=level.work,
        gbps=level.rate,
        peak_gbps=level.peak,
        fraction=level.fraction,
        measured_gbps=level.measured,
        fraction_of_measured=level.fraction_of_measured,
        operational_intensity=level.intensity,
    )
    return schema.LevelSection(level=level.name, **fields)


def evidence(numbers: Evidence, names: tuple[str, ...] | None = None) -> list[schema.EvidenceItem]:
    """All evidence, or only the named items."""
    return [
        schema.EvidenceItem(name=name, unit=value.unit, **nullable(value=value))
        for name, value in numbers.values.items()
        if names is None or name in names
    ]


def bottleneck(verdict: Bottleneck, numbers: Evidence) -> schema.BottleneckSection:
    remedies = [remedy_section(remedy) for remedy in verdict.remedies]
    reasons = {} if verdict.score is not None else {"score": verdict.why}
    if verdict.on_full_device is None:
        reasons["on_full_device"] = "there is no verdict by experiments that the grid is small"
    return schema.BottleneckSection(
        name=verdict.name,
        by=verdict.by,
        on_full_device=verdict.on_full_device,
        remedies=remedies,
        why=verdict.why,
        score=verdict.score,
        confidence=round(verdict.confidence, 6),
        certainty=verdict.certainty,
        evidence=[_signal(signal, numbers) for signal in verdict.shown_by],
        classes=[_class(scored, numbers) for scored in verdict.classes],
        factors=[
            schema.FindingSection(name=factor.name, why=factor.why, evidence=evidence(numbers, (factor.evidence,)))
            for factor in verdict.factors
        ],
        undecided=verdict.undecided,
        advice=sorted([*in_words_all(remedies), *verdict.advice], key=lambda line: not line.startswith(LARGER))
        if remedies
        else list(verdict.advice),
        reasons=reasons,
    )


def _class(scored: ClassScore, numbers: Evidence) -> schema.ClassSection:
    score = scored.score
    return schema.ClassSection(
        name=scored.name,
        score=score.estimate,
        at_least=score.lower,
        at_most=score.upper,
        signals=[_signal(signal, numbers) for signal in scored.signals],
        advice=list(dict.fromkeys(line for signal in scored.seen for line in signal.advice)),
        reasons={} if score.estimate is not None else {"score": "the numbers that determine its score are missing"},
    )


def _signal(signal: Signal, numbers: Evidence) -> schema.SignalSection:
    value = numbers.values.get(signal.evidence) or Value.missing("", f"no counters are known for {signal.evidence}")
    fields = nullable(value=value)
    if value.value is None:
        fields["reasons"]["holds"] = fields["reasons"]["value"]
    return schema.SignalSection(
        name=signal.evidence,
        unit=value.unit,
        threshold=signal.threshold,
        direction=signal.direction,
        holds=signal.score(numbers).holds if value.value is not None else None,
        counters=list(numbers.counters.get(signal.evidence, ())),
        rationale=signal.rationale,
        **fields,
    )


def headroom(estimate: Headroom) -> schema.HeadroomSection:
    ceiling = estimate.min_ns
    in_ms = Value(ceiling.value / 1e6, "ms") if ceiling.value is not None else ceiling
    fields = nullable(
        ceiling_ms=in_ms,
        fraction=estimate.fraction,
        kernel_speedup=estimate.kernel_speedup,
        program_speedup=estimate.program_speedup,
        priority=estimate.priority,
    )
    if estimate.binding is None:
        fields["reasons"]["binding"] = estimate.fraction.reason or "not known"
    assumption = BY_EXPERIMENTS if estimate.by == EXPERIMENTS else ASSUMPTION
    return schema.HeadroomSection(binding=estimate.binding, by=estimate.by, assumption=assumption, **fields)
