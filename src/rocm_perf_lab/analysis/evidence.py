"""The numbers that a bottleneck is judged by."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.analysis.counters import SymbolCounters
from rocm_perf_lab.analysis.device import Device
from rocm_perf_lab.analysis.occupancy import DispatchOccupancy
from rocm_perf_lab.analysis.roofline import NO_TIME, Roofline
from rocm_perf_lab.arch.metric import Value


@dataclass(frozen=True)
class Evidence:
    """values: by name, each with its unit or the reason why it is missing."""

    values: dict[str, Value]

    def number(self, name: str) -> float | None:
        value = self.values.get(name)
        return value.value if value else None


def gather(
    counters: SymbolCounters,
    time_ns: int,
    dispatches: int,
    occupancy: DispatchOccupancy,
    roofline: Roofline | None,
    device: Device,
) -> Evidence:
    """Everything that is known of a symbol whose `dispatches` dispatches took `time_ns` in all."""
    values: dict[str, Value] = {"mean_duration": Value(time_ns / dispatches, "ns") if time_ns else Value.missing("ns", NO_TIME)}
    values |= _parallelism(occupancy, device)
    if roofline is not None:
        values["flop_fraction"] = _compute_fraction(roofline)
        values["memory_side"] = _memory_side(roofline)
        values |= {f"{level.name.lower()}_fraction": level.fraction for level in roofline.levels}
    if device.family is not None:
        values |= {name: metric(counters.values) for name, metric in device.family.evidence.items()}
        values |= _activity(values, time_ns, device)
    return Evidence(values)


def _compute_fraction(roofline: Roofline) -> Value:
    """Of the time at the peaks of the pipes that were used."""
    if roofline.compute_ns.value is None or not roofline.time_ns:
        return Value.missing_because("fraction", [roofline.compute_ns, _timed(roofline)])
    return Value(roofline.compute_ns.value / roofline.time_ns, "fraction")


def _memory_side(roofline: Roofline) -> Value:
    """1 on the memory side of the ridge, 0 on the compute side."""
    if roofline.position is None:
        nothing = Value.missing("", "it counts no operations and moves no bytes")
        return Value.missing_because("flag", [roofline.ceiling_ns if roofline.ceiling_ns.value is None else nothing])
    return Value(float(roofline.position == "memory-bound"), "flag")


def _timed(roofline: Roofline) -> Value:
    return Value(float(roofline.time_ns), "ns") if roofline.time_ns else Value.missing("ns", NO_TIME)


def _parallelism(occupancy: DispatchOccupancy, device: Device) -> dict[str, Value]:
    found = occupancy.occupancy
    if found is None:
        reason = occupancy.reason or "no occupancy"
        return {
            "theoretical_occupancy": Value.missing("fraction", reason),
            "resident_waves_per_simd": Value.missing("waves/SIMD", reason),
            "grid_waves_per_simd": Value.missing("waves/SIMD", reason),
        }
    simds = device.family.occupancy_rules.simds
    per_simd = Value.missing("waves", device.cu.reason or "")
    if device.cu.value:
        per_simd = Value(occupancy.waves / (device.cu.value * simds), "waves/SIMD")
    return {
        "theoretical_occupancy": Value(found.fraction, "fraction"),
        "resident_waves_per_simd": Value(found.resident_waves_per_cu / simds, "waves/SIMD"),
        "grid_waves_per_simd": per_simd,
    }


def _activity(values: dict[str, Value], time_ns: int, device: Device) -> dict[str, Value]:
    """Shares of the device's cycles, from counters that add up over its SIMDs or CUs."""
    cu, clock, simds = device.cu.value, device.clock.value, device.family.occupancy_rules.simds
    if not (cu and clock and time_ns):
        missing = Value.missing("fraction", device.cu.reason or device.clock.reason or NO_TIME)
        return dict.fromkeys(("valu_busy_fraction", "lds_busy_fraction", "achieved_occupancy"), missing)
    cu_cycles = cu * clock * time_ns / 1e3

    def share(name: str, per: float) -> Value:
        value = values.get(name) or Value.missing("", f"no counters are known for {device.family.name}")
        if value.value is None:
            return Value.missing_because("fraction", [value])
        return Value(value.value / per, "fraction")

    return {
        "valu_busy_fraction": share("valu_instructions", cu_cycles * simds / device.family.valu_cycles_per_instruction),
        "lds_busy_fraction": share("lds_busy_cycles", cu_cycles),
        "achieved_occupancy": share("wave_cycles", cu_cycles * device.family.occupancy_rules.max_waves),
    }
