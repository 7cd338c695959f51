"""Where a kernel stands under the roofs of its device.

With t_compute the time that its operations take at the peak of each pipe, and t_memory the time its bytes beyond L2 take at
peak memory bandwidth, a kernel is on the compute side of the ridge if t_compute > t_memory. The mix of precisions has one
effective peak, operations / t_compute, which makes the ridge a single operational intensity. Integer MFMA operations take
their pipe's time but are no FLOPs. Source: Williams, Waterman,
Patterson, "Roofline", CACM 52(4), 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.analysis.counters import SymbolCounters
from rocm_perf_lab.analysis.device import Device
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.metric import Metric, Value

MEMORY_LEVEL = "HBM"
MALL_NOTE = (
    "HBM bytes are all requests beyond L2: where a MALL (Infinity Cache) answers some of them, less reaches the memory, "
    "and the fraction of its bandwidth can exceed 1"
)


@dataclass(frozen=True)
class Arithmetic:
    """One pipe at one precision ('i8': integer operations). gflops: attained. time_ns: what they take at the peak."""

    precision: str
    pipe: str
    flops: Value
    gflops: Value
    peak_gflops: Value
    fraction: Value
    time_ns: Value


@dataclass(frozen=True)
class Level:
    """One level of the memory hierarchy. intensity: FLOP per byte that passes it. time_ns: what they take at the peak."""

    name: str
    bytes: Value
    gbps: Value
    peak_gbps: Value
    fraction: Value
    intensity: Value
    time_ns: Value


@dataclass(frozen=True)
class Roofline:
    """All of a symbol's dispatches together. ceiling_ns: the least time its operations and bytes could take."""

    time_ns: int
    arithmetic: tuple[Arithmetic, ...]
    levels: tuple[Level, ...]
    flops: Value
    gflops: Value
    attainable_gflops: Value
    ridge: Value
    compute_ns: Value
    memory_ns: Value
    notes: tuple[str, ...]

    @property
    def intensity(self) -> Value:
        return self.level(MEMORY_LEVEL).intensity

    @property
    def ceiling_ns(self) -> Value:
        return _apply(lambda *times: max(times), "ns", self.compute_ns, self.memory_ns)

    @property
    def fraction(self) -> Value:
        """Of the binding ceiling, 0..1."""
        if not self.time_ns:
            return Value.missing("fraction", NO_TIME)
        return _apply(lambda ceiling: ceiling / self.time_ns, "fraction", self.ceiling_ns)

    @property
    def position(self) -> str | None:
        """'memory-bound' or 'compute-bound': the side of the ridge; None if either time is not known or both are 0."""
        if not self.ceiling_ns.value:
            return None
        return "compute-bound" if self.compute_ns.value > self.memory_ns.value else "memory-bound"

    def has_level(self, name: str) -> bool:
        return any(level.name == name for level in self.levels)

    def level(self, name: str) -> Level:
        return next(level for level in self.levels if level.name == name)


NO_TIME = "the dispatches have no duration: start and end are equal"


def roofline(counters: SymbolCounters, time_ns: int, device: Device) -> Roofline | None:
    """The roofline of a symbol whose dispatches took `time_ns` in all; None if nothing is known of the device's family."""
    family = device.family
    if family is None:
        return None
    arithmetic = tuple(_arithmetic(key, metric, counters, time_ns, device) for key, metric in sorted(family.operations.items()))
    unknown = f"no FLOP counters are known for {family.name}"
    flops = _sum("FLOP", [part.flops for part in arithmetic if (part.precision, part.pipe) in family.flops], unknown)
    operations = _sum("OP", [part.flops for part in arithmetic], unknown)
    gflops = _rate(flops, time_ns, "GFLOP/s")
    compute_ns = _sum("ns", [part.time_ns for part in arithmetic], unknown)
    levels = tuple(_level(name, total, flops, time_ns, device) for name, total in _bytes(family, counters).items())
    memory = levels[0]
    memory_ns = memory.time_ns
    effective_peak = _apply(_ratio, "GFLOP/s", operations, compute_ns)
    return Roofline(
        time_ns=time_ns,
        arithmetic=arithmetic,
        levels=levels,
        flops=flops,
        gflops=gflops,
        attainable_gflops=_apply(lambda f, c, m: _ratio(f, max(c, m)), "GFLOP/s", flops, compute_ns, memory_ns),
        ridge=_apply(lambda peak, bandwidth: peak / bandwidth, "FLOP/byte", effective_peak, memory.peak_gbps),
        compute_ns=compute_ns,
        memory_ns=memory_ns,
        notes=_notes(family, arithmetic, levels) + counters.notes,
    )


def _arithmetic(key: tuple[str, str], metric: Metric, counters: SymbolCounters, time_ns: int, device: Device) -> Arithmetic:
    precision, pipe = key
    per_clock = device.family.peak_ops_per_clock_and_cu[key]
    peak = _apply(lambda cu, mhz: per_clock * cu * mhz / 1e3, "GFLOP/s", device.cu, device.clock)
    flops = metric(counters.values)
    gflops = _rate(flops, time_ns, "GFLOP/s")
    return Arithmetic(precision, pipe, flops, gflops, peak, _apply(_ratio, "fraction", gflops, peak), _time(flops, peak))


def _time(amount: Value, peak: Value) -> Value:
    """ns, of operations or bytes at a peak of so many a nanosecond."""
    return _apply(lambda work, rate: work / rate, "ns", amount, peak)


def _bytes(family: Family, counters: SymbolCounters) -> dict[str, Value]:
    unknown = f"no byte counters are known for {family.name}"
    sums = {MEMORY_LEVEL: _sum("bytes", [metric(counters.values) for metric in family.hbm_bytes], unknown)}
    return sums | {name: metric(counters.values) for name, metric in family.cache_bytes.items()}


def _level(name: str, total: Value, flops: Value, time_ns: int, device: Device) -> Level:
    gbps, peak = _rate(total, time_ns, "GB/s"), _peak_bandwidth(name, device)
    fraction = _apply(_ratio, "fraction", gbps, peak)
    return Level(name, total, gbps, peak, fraction, _apply(_ratio, "FLOP/byte", flops, total), _time(total, peak))


def _peak_bandwidth(level: str, device: Device) -> Value:
    family = device.family
    if level == MEMORY_LEVEL:
        return device.memory_bandwidth
    if level == "L2":
        per_clock = family.l2_bytes_per_clock_and_xcd
        return _apply(lambda xcd, mhz: per_clock * xcd * mhz / 1e3, "GB/s", device.xcd, device.clock)
    return _apply(lambda cu, mhz: family.cu_bytes_per_clock[level] * cu * mhz / 1e3, "GB/s", device.cu, device.clock)


def _notes(family: Family, arithmetic: tuple[Arithmetic, ...], levels: tuple[Level, ...]) -> tuple[str, ...]:
    """The known biases of the numbers that are there."""
    used = [family.operations[part.precision, part.pipe] for part in arithmetic if part.flops.value]
    used += [family.cache_bytes[level.name] for level in levels[1:] if level.bytes.value]
    notes = [metric.bias for metric in used if metric.bias]
    if levels[0].bytes.value and family.name != "cdna2":
        notes.append(MALL_NOTE)
    return tuple(dict.fromkeys(notes))


def _rate(total: Value, time_ns: int, unit: str) -> Value:
    if not time_ns:
        return Value.missing(unit, NO_TIME)
    return _apply(lambda amount: amount / time_ns, unit, total)


def _ratio(a: float, b: float) -> float | None:
    return a / b if b else None


def _apply(function, unit: str, *values: Value) -> Value:
    """The function of the numbers, or the reasons of those that are missing. A None result is a division by zero."""
    if any(value.value is None for value in values):
        return Value.missing_because(unit, values)
    result = function(*(value.value for value in values))
    return Value(result, unit) if result is not None else Value.missing(unit, "there is nothing to divide by: the divisor is 0")


def _sum(unit: str, values: list[Value], if_empty: str) -> Value:
    return _apply(lambda *numbers: sum(numbers), unit, *values) if values else Value.missing(unit, if_empty)
