"""Where a kernel stands under the roofs of its device.

Let t_compute be the time that the kernel's operations take at the peak of each pipe, and t_memory the time that its bytes
beyond L2 take at peak memory bandwidth. The kernel is on the compute side of the ridge if t_compute > t_memory. Its mix of
precisions has one effective peak, operations / t_compute, which reduces the ridge to a single operational intensity. Integer
MFMA operations take time on their pipe but are not FLOPs. Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009.

Measured ceilings (the rates that microbenchmarks reached on the device), if given, are shown next to the data-sheet peaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from rocm_perf_lab.analysis.ceilings import LEVELS, Ceilings
from rocm_perf_lab.analysis.counters import SymbolCounters
from rocm_perf_lab.analysis.device import GpuSpecs
from rocm_perf_lab.arch.family import Family, Pipe
from rocm_perf_lab.arch.metric import Value

MEMORY_LEVEL, MALL_LEVEL = "HBM", "MALL"
MALL_NOTE = (
    "HBM and MALL bytes are all requests beyond L2, which go through the MALL (Infinity Cache): if it serves some of them, "
    "fewer bytes reach memory, and the fraction of memory bandwidth can exceed 1"
)
PACKED_PIPE = ("f32", "valu")  # its listed peak is for plain instructions; the F16 peak is for packed ones
NO_CEILINGS = "no measured ceilings were given (--ceilings)"
NO_TIME = "the dispatches have no duration: start and end are equal"


@dataclass(frozen=True)
class Roof:
    """One rate compared with its roofs.

    peak: from the data sheet. measured: the ceiling that a microbenchmark reached. time_ns: the time that the work takes at the
    peak. min_measured_ns: the time at the measured ceiling if that is known, else at the peak.
    """

    work: Value  # FLOP, operations or bytes
    rate: Value  # GFLOP/s or GB/s
    peak: Value
    fraction: Value
    measured: Value
    fraction_of_measured: Value

    @cached_property
    def time_ns(self) -> Value:
        return _apply(lambda work, rate: work / rate, "ns", self.work, self.peak)

    @cached_property
    def min_measured_ns(self) -> Value:
        best = self.measured if self.measured.value else self.peak
        return _apply(lambda work, rate: work / rate, "ns", self.work, best)


@dataclass(frozen=True)
class Arithmetic(Roof):
    """One pipe at one precision ('i8': integer operations)."""

    precision: str
    pipe: str


@dataclass(frozen=True)
class Level(Roof):
    """One level of the memory hierarchy. intensity: FLOP per byte that passes through it."""

    name: str
    intensity: Value


@dataclass(frozen=True)
class Roofline:
    """All dispatches of one or more symbols taken together. ceilings: the measured ceilings; None if none were given."""

    time_ns: int
    arithmetic: tuple[Arithmetic, ...]
    levels: tuple[Level, ...]
    flops: Value
    gflops: Value
    operations: Value  # FLOP and integer operations
    ceilings: Ceilings | None
    notes: tuple[str, ...]

    @cached_property
    def compute_ns(self) -> Value:
        return _sum("ns", [part.time_ns for part in self.arithmetic], "no arithmetic is known")

    @cached_property
    def memory_ns(self) -> Value:
        return self.level(MEMORY_LEVEL).time_ns

    @cached_property
    def min_ns(self) -> Value:
        """The minimum time that the operations and bytes take at the data sheet's peaks."""
        return _apply(lambda *times: max(times), "ns", self.compute_ns, self.memory_ns)

    @cached_property
    def min_measured_ns(self) -> Value:
        """Like min_ns, but with the measured ceilings; missing if none were given."""
        if self.ceilings is None:
            return Value.missing("ns", NO_CEILINGS)
        compute = _sum("ns", [part.min_measured_ns for part in self.arithmetic], "no arithmetic is known")
        return _apply(lambda *times: max(times), "ns", compute, self.level(MEMORY_LEVEL).min_measured_ns)

    @property
    def attainable_gflops(self) -> Value:
        return _apply(_ratio, "GFLOP/s", self.flops, self.min_ns)

    @property
    def measured_attainable_gflops(self) -> Value:
        return _apply(_ratio, "GFLOP/s", self.flops, self.min_measured_ns)

    @property
    def ridge(self) -> Value:
        effective_peak = _apply(_ratio, "GFLOP/s", self.operations, self.compute_ns)
        return _apply(_ratio, "FLOP/byte", effective_peak, self.level(MEMORY_LEVEL).peak)

    @property
    def intensity(self) -> Value:
        return self.level(MEMORY_LEVEL).intensity

    @property
    def fraction(self) -> Value:
        """The fraction of the binding data-sheet ceiling that the kernel reaches."""
        return self._of_time(self.min_ns)

    @property
    def fraction_of_measured_ceiling(self) -> Value:
        return self._of_time(self.min_measured_ns)

    def _of_time(self, ceiling: Value) -> Value:
        if not self.time_ns:
            return Value.missing("fraction", NO_TIME)
        return _apply(lambda least: least / self.time_ns, "fraction", ceiling)

    @property
    def position(self) -> str | None:
        """'memory-bound' or 'compute-bound', by the side of the ridge; None if either time is unknown or both are 0."""
        compute, memory = self.compute_ns.value, self.memory_ns.value
        if compute is None or memory is None or not self.min_ns.value:
            return None
        return "compute-bound" if compute > memory else "memory-bound"

    def has_level(self, name: str) -> bool:
        return any(level.name == name for level in self.levels)

    def level(self, name: str) -> Level:
        return next(level for level in self.levels if level.name == name)


def roofline(counters: SymbolCounters, time_ns: int, device: GpuSpecs, ceilings: Ceilings | None = None) -> Roofline | None:
    """The roofline of dispatches that took `time_ns` in total; None if the device's family is unknown."""
    family = device.family
    if family is None:
        return None
    work = {pipe: _operations(pipe, family, counters) for pipe in sorted(family.peak_ops_per_clock_and_cu)}
    unknown = f"no FLOP counters are known for {family.name}"
    flops = _sum("FLOP", [work[pipe] for pipe in work if pipe not in family.integer_operations], unknown)
    arithmetic = tuple(
        Arithmetic(
            *_roof_fields(amount, time_ns, _peak(pipe, device, family, counters), _measured_ceiling(pipe, ceilings), "GFLOP/s"),
            *pipe,
        )
        for pipe, amount in work.items()
    )
    levels = tuple(
        Level(
            *_roof_fields(amount, time_ns, _peak_bandwidth(name, device, family), _measured_ceiling(name, ceilings), "GB/s"),
            name,
            _apply(_ratio, "FLOP/byte", flops, amount),
        )
        for name, amount in _bytes(family, counters).items()
    )
    return Roofline(
        time_ns=time_ns,
        arithmetic=arithmetic,
        levels=levels,
        flops=flops,
        gflops=_rate(flops, time_ns, "GFLOP/s"),
        operations=_sum("OP", list(work.values()), unknown),
        ceilings=ceilings,
        notes=_notes(family, arithmetic, levels) + counters.notes,
    )


def _roof_fields(
    work: Value, time_ns: int, peak: Value, measured: Value, unit: str
) -> tuple[Value, Value, Value, Value, Value, Value]:
    """The fields of a Roof."""
    rate = _rate(work, time_ns, unit)
    return work, rate, peak, _apply(_ratio, "fraction", rate, peak), measured, _apply(_ratio, "fraction", rate, measured)


def _operations(pipe: Pipe, family: Family, counters: SymbolCounters) -> Value:
    if pipe not in family.operations:
        return Value.missing("FLOP", family.uncounted.get(pipe, f"no counter is known for {family.name}"))
    return family.operations[pipe](counters.values)


def _bytes(family: Family, counters: SymbolCounters) -> dict[str, Value]:
    """For each level, the bytes that pass through it, from memory to the CU. A family without a MALL has no such level."""
    unknown = f"no byte counters are known for {family.name}"
    beyond = _sum("bytes", [metric(counters.values) for metric in family.hbm_bytes], unknown)
    by_level = {MEMORY_LEVEL: beyond} | ({MALL_LEVEL: beyond} if family.has_mall else {})
    for name in LEVELS:
        if name in family.cache_bytes:
            by_level[name] = family.cache_bytes[name](counters.values)
        elif name in family.uncounted:
            by_level[name] = Value.missing("bytes", family.uncounted[name])
    return by_level


def _measured_ceiling(key: str | Pipe, ceilings: Ceilings | None) -> Value:
    unit = "GB/s" if isinstance(key, str) else "GFLOP/s"
    if ceilings is None:
        return Value.missing(unit, NO_CEILINGS)
    ceiling = ceilings.bandwidth.get(key) if isinstance(key, str) else ceilings.arithmetic.get(key)
    return Value(ceiling.value, unit) if ceiling else Value.missing(unit, f"{ceilings.source} has no such ceiling")


def _peak(pipe: Pipe, device: GpuSpecs, family: Family, counters: SymbolCounters) -> Value:
    """A pipe's peak rate. For F32 on the VALU, it grows with the share of packed instructions, which do twice the work in the
    same time.
    """
    per_clock: float = family.peak_ops_per_clock_and_cu[pipe]
    if pipe == PACKED_PIPE and counters.raw:
        metric = family.operations[pipe]
        packed, raw = metric(counters.values).value, metric(counters.values | counters.raw).value
        per_clock *= packed / raw if packed and raw else 1
    return _apply(lambda cu, mhz: per_clock * cu * mhz / 1e3, "GFLOP/s", device.cu, device.clock)


def _peak_bandwidth(level: str, device: GpuSpecs, family: Family) -> Value:
    if level == MEMORY_LEVEL:
        return device.memory_bandwidth
    if level == MALL_LEVEL:
        return device.mall_bandwidth
    if level == "L2":
        return _per_clock(family.l2_bytes_per_clock_and_xcd, level, device.xcd, device)
    return _per_clock(family.cu_bytes_per_clock.get(level), level, device.cu, device)


def _per_clock(per_clock: int | None, level: str, units: Value, device: GpuSpecs) -> Value:
    if per_clock is None:
        return Value.missing("GB/s", f"no peak bandwidth of {level} is known for {device.family_name}")
    return _apply(lambda count, mhz: per_clock * count * mhz / 1e3, "GB/s", units, device.clock)


def _notes(family: Family, arithmetic: tuple[Arithmetic, ...], levels: tuple[Level, ...]) -> tuple[str, ...]:
    """The known biases of those numbers that are available."""
    used = [family.operations[part.precision, part.pipe] for part in arithmetic if part.work.value]
    used += [family.cache_bytes[level.name] for level in levels if level.work.value and level.name in family.cache_bytes]
    notes = [metric.bias for metric in used if metric.bias]
    if levels[0].work.value and family.has_mall:
        notes.append(MALL_NOTE)
    return tuple(dict.fromkeys(notes))


def _rate(total: Value, time_ns: int, unit: str) -> Value:
    if not time_ns:
        return Value.missing(unit, NO_TIME)
    return _apply(lambda amount: amount / time_ns, unit, total)


def _ratio(a: float, b: float) -> float | None:
    return a / b if b else None


def _apply(function: Callable[..., float | None], unit: str, *values: Value) -> Value:
    """Apply the function to the numbers, or say why some are missing. If the function returns None, it divided by zero."""
    if any(value.value is None for value in values):
        return Value.missing_because(unit, values)
    result = function(*(value.value for value in values))
    return Value(result, unit) if result is not None else Value.missing(unit, "division by zero: the divisor is 0")


def _sum(unit: str, values: list[Value], if_empty: str) -> Value:
    return _apply(lambda *numbers: sum(numbers), unit, *values) if values else Value.missing(unit, if_empty)
