"""The numbers from which a bottleneck is judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rocm_perf_lab.analysis.counters import SymbolCounters
from rocm_perf_lab.analysis.device import GpuSpecs
from rocm_perf_lab.analysis.occupancy import DispatchOccupancy
from rocm_perf_lab.analysis.roofline import NO_TIME, Roofline
from rocm_perf_lab.analysis.thread_trace.findings import ThreadTraceFindings
from rocm_perf_lab.analysis.thread_trace_evidence import from_thread_trace
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.metric import Metric, Value


@dataclass(frozen=True)
class Evidence:
    """values: by name, each with its unit or the reason why it is missing. counters: the counters behind each value.

    traced: the names of values that come from a thread trace.
    """

    values: dict[str, Value]
    counters: dict[str, tuple[str, ...]] = field(default_factory=dict)
    traced: tuple[str, ...] = ()

    def number(self, name: str) -> float | None:
        value = self.values.get(name)
        return value.value if value else None


def gather(
    counters: SymbolCounters,
    time_ns: int,
    dispatches: int,
    occupancy: DispatchOccupancy,
    roofline: Roofline | None,
    device: GpuSpecs,
    scratch_bytes: int = 0,
    traced: ThreadTraceFindings | None = None,
    measured: bool = True,
) -> Evidence:
    """Everything known about a symbol that was dispatched `dispatches` times and took `time_ns` in total.

    scratch_bytes: per work-item. traced: what a thread trace says about the symbol; counters take precedence. measured: whether
    the times are measured; in modelled times, the clock runs at its peak unless a power
    limit is set.
    """
    values: dict[str, Value] = {"mean_duration": Value(time_ns / dispatches, "ns") if time_ns else Value.missing("ns", NO_TIME)}
    values["scratch_bytes"] = Value(float(scratch_bytes), "bytes/work-item")
    values |= _parallelism(occupancy, device)
    if roofline is not None:
        values["flop_fraction"] = _compute_fraction(roofline)
        values["memory_side"] = _memory_side(roofline)
        values |= {f"{level.name.lower()}_fraction": level.fraction for level in roofline.levels}
    if device.family is None:
        return Evidence(values)
    values |= {name: metric(counters.values) for name, metric in device.family.evidence.items()}
    values |= _activity(values, _cycles(values, time_ns, device, measured), device, device.family)
    values["wave_life_cycles"] = _life(values)
    from_trace = {name: value for name, value in _of_trace(values, traced).items() if _is_missing(values, name)}
    values |= from_trace
    values |= {name: _greatest(values, parts) for name, parts in _BUSIEST.items()}
    return Evidence(values, {**_sources(device.family), **dict.fromkeys(from_trace, ())}, tuple(from_trace))


def _of_trace(values: dict[str, Value], traced: ThreadTraceFindings | None) -> dict[str, Value]:
    return from_thread_trace(traced, values["grid_waves_per_simd"].value) if traced is not None else {}


def _is_missing(values: dict[str, Value], name: str) -> bool:
    return name not in values or values[name].value is None


def _life(values: dict[str, Value]) -> Value:
    """The mean lifetime of a wave; missing if there are no counts, or if all or nearly all waves start at once."""
    unknown = Value.missing("cycles", "no such counter is known")
    parts = [values.get(name, unknown) for name in ("wave_cycles", "waves", "rounds_of_waves")]
    life, waves, rounds = (part.value for part in parts)
    if life is None or waves is None or rounds is None:
        return Value.missing_because("cycles", parts)
    if not (life and waves and rounds):
        return _NO_WAVES
    if rounds < 2:
        return Value.missing("cycles", "all or nearly all waves start at once, so their start-up costs time only once")
    return Value(life / waves, "cycles")


_NO_WAVES = Value.missing("cycles", "no waves were counted")


_BUSIEST = {
    "busiest_level_fraction": ("hbm_fraction", "l2_fraction", "l1_fraction", "lds_busy_fraction"),
    "busiest_pipe_fraction": ("flop_fraction", "valu_busy_fraction", "mfma_busy_fraction"),
}


def _greatest(values: dict[str, Value], names: tuple[str, ...]) -> Value:
    """The greatest value; missing if any part is missing, because the missing part could be the greatest."""
    parts = [values[name] for name in names if name in values]
    numbers = [part.value for part in parts if part.value is not None]
    if len(numbers) < len(names):
        return Value.missing_because("fraction", parts or [Value.missing("fraction", "no counters are known for it")])
    return Value(max(numbers), "fraction")


def _sources(family: Family) -> dict[str, tuple[str, ...]]:
    """For each value, the counters behind it; empty for values taken from the trace itself."""
    of = {name: metric.counters for name, metric in family.evidence.items()}
    of |= {f"{name.lower()}_fraction": metric.counters for name, metric in family.cache_bytes.items()}
    of["hbm_fraction"] = _counters_of(family.hbm_bytes)
    of["flop_fraction"] = _counters_of(family.operations.values())
    of["memory_side"] = _counters_of([*family.hbm_bytes, *family.operations.values()])
    of |= {name: of.get(base, ()) for name, base in _SHARES.items()}
    return of | {name: tuple(dict.fromkeys(c for part in parts for c in of.get(part, ()))) for name, parts in _BUSIEST.items()}


def _counters_of(metrics: Iterable[Metric]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(counter for metric in metrics for counter in metric.counters))


def _compute_fraction(roofline: Roofline) -> Value:
    """The time that the pipes in use would need at their peak rates, as a share of the kernel's time."""
    if roofline.compute_ns.value is None or not roofline.time_ns:
        return Value.missing_because("fraction", [roofline.compute_ns, _timed(roofline)])
    return Value(roofline.compute_ns.value / roofline.time_ns, "fraction")


def _memory_side(roofline: Roofline) -> Value:
    """1 on the memory side of the roofline's ridge, 0 on the compute side; missing if the side is not known."""
    if roofline.position is None:
        nothing = Value.missing("", "it counts no operations and moves no bytes")
        return Value.missing_because("flag", [roofline.min_ns if roofline.min_ns.value is None else nothing])
    return Value(float(roofline.position == "memory-bound"), "flag")


def _timed(roofline: Roofline) -> Value:
    return Value(float(roofline.time_ns), "ns") if roofline.time_ns else Value.missing("ns", NO_TIME)


def _parallelism(occupancy: DispatchOccupancy, device: GpuSpecs) -> dict[str, Value]:
    theoretical, waves = occupancy.occupancy, occupancy.waves
    if theoretical is None or waves is None:
        reason = occupancy.reason or "no occupancy"
        return {
            "theoretical_occupancy": Value.missing("fraction", reason),
            "resident_waves_per_simd": Value.missing("waves/SIMD", reason),
            "grid_waves_per_simd": Value.missing("waves/SIMD", reason),
            "rounds_of_waves": Value.missing("rounds", reason),
        }
    per_simd = Value.missing("waves", device.cu.reason or "")
    if device.cu.value:
        units = device.cu.value / theoretical.compute_units
        per_simd = Value(waves / (units * theoretical.simds_per_cu), "waves/SIMD")
    rounds = Value(occupancy.fill, "rounds") if occupancy.fill else Value.missing("rounds", device.cu.reason or "no waves fit")
    return {
        "theoretical_occupancy": Value(theoretical.fraction, "fraction"),
        "resident_waves_per_simd": Value(theoretical.resident_waves_per_cu / theoretical.simds_per_cu, "waves/SIMD"),
        "grid_waves_per_simd": per_simd,
        "rounds_of_waves": rounds,
    }


# For each share of the device's cycles, the value (summed over SIMDs or CUs) from which it is computed.
_SHARES = {
    "valu_busy_fraction": "valu_instructions",
    "mfma_busy_fraction": "mfma_busy_cycles",
    "lds_busy_fraction": "lds_busy_cycles",
    "achieved_occupancy": "wave_cycles",
    "mean_waves_per_simd": "wave_cycles",
}


def _cycles(values: dict[str, Value], time_ns: int, device: GpuSpecs, measured: bool) -> Value:
    """The number of shader clock cycles while the kernel ran. A count reflects the clock that the power limit allows.

    The count is capped at the number of cycles that the peak clock gives in the kernel's time: the counter also runs while a
    profiler sets up and reads counters, which takes longer than a short kernel. Without a count, the peak clock is assumed.
    """
    counted, xcd, clock = values.get("active_cycles"), device.xcd.value, device.clock.value
    of_one = counted.value / xcd if measured and counted is not None and counted.value and xcd else None
    peak = clock * time_ns / 1e3 if clock and time_ns else None
    known = [cycles for cycles in (of_one, peak) if cycles]
    return Value(min(known), "cycles") if known else Value.missing("cycles", device.clock.reason or NO_TIME)


def _activity(values: dict[str, Value], cycles: Value, device: GpuSpecs, family: Family) -> dict[str, Value]:
    """Shares of the device's cycles, from counters that are summed over its SIMDs or CUs."""
    cu, rules = device.cu.value, family.occupancy_rules
    if not (cu and cycles.value):
        missing = Value.missing("fraction", device.cu.reason or cycles.reason or NO_TIME)
        return dict.fromkeys(_SHARES, missing)
    cu_cycles = cu * cycles.value
    simd_cycles = cu_cycles * rules.simds / rules.compute_units
    capacity = {
        "valu_busy_fraction": simd_cycles / family.valu_cycles_per_instruction,
        "mfma_busy_fraction": simd_cycles,
        "lds_busy_fraction": cu_cycles,
        "achieved_occupancy": simd_cycles * rules.max_waves_per_simd,
        "mean_waves_per_simd": simd_cycles,
    }

    def share(name: str) -> Value:
        unit = "waves/SIMD" if name == "mean_waves_per_simd" else "fraction"
        value = values.get(_SHARES[name]) or Value.missing("", f"no such counter is known for {family.name}")
        return Value.missing_because(unit, [value]) if value.value is None else Value(value.value / capacity[name], unit)

    return {name: share(name) for name in _SHARES}
