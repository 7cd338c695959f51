"""How much can be gained: a kernel compared with its own ceilings, and the effect on the program if it reached them."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.analysis.bottleneck import COUNTERS
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.roofline import Roofline
from rocm_perf_lab.arch.metric import Value

ASSUMPTION = (
    "the kernel keeps its present operations, vector instructions and bytes at each level, except for masked-off lanes: a "
    "better algorithm can need fewer of each, and no kernel reaches its ceilings completely"
)
BY_EXPERIMENTS = (
    "all losses that the experiments found can be removed; the kernel's instructions, the transfer of the bytes that it still "
    "needs and the cost of its dispatches stay as they are, and its other dispatches spend their time as the traced one does"
)
ISSUE = "VALU issue"
ARITHMETIC = "arithmetic"
WORK_LEVELS = ("HBM", "MALL", "L2", "LDS")  # not L1: its lookups include those wasted by uncoalesced access


@dataclass(frozen=True)
class Headroom:
    """min_ns: the minimum time for the kernel's present work, under measured ceilings where these are known. binding: the
    limit that sets it. kernel_speedup: time / ceiling, at least 1.

    fraction: the share of the kernel's time that could be saved. program_speedup: the speedup of the GPU span.
    priority: fraction times the kernel's share of the critical path, that is, the largest share of the program's span that can
    be saved. by: counters, or experiments (see time_stack_verdict).
    """

    min_ns: Value
    binding: str | None
    fraction: Value
    kernel_speedup: Value
    program_speedup: Value
    priority: Value
    by: str = COUNTERS


def headroom(roofline: Roofline | None, evidence: Evidence, fraction_of_path: float | None) -> Headroom:
    """fraction_of_path: the kernel's share of the critical path, 0 to 1, as used in Amdahl's law; None without times."""
    if roofline is None:
        return _unknown_headroom(Value.missing("ns", "no ceilings are known for this device"))
    if roofline.min_ns.value is None:
        return _unknown_headroom(roofline.min_ns)
    limits = _limits(roofline, evidence)
    binding = max(limits, key=lambda name: limits[name])
    ceiling = Value(limits[binding], "ns")
    if not roofline.time_ns:
        return _unknown_headroom(ceiling, "no times")
    if not ceiling.value:
        return _unknown_headroom(ceiling, "the kernel counts no operations and moves no bytes")
    return from_ceiling(ceiling, binding, roofline.time_ns, fraction_of_path)


def from_ceiling(ceiling: Value, binding: str, time_ns: float, fraction_of_path: float | None) -> Headroom:
    """The headroom for a known ceiling of more than 0 ns. time_ns: the kernel's time. fraction_of_path: see headroom()."""
    speedup = max(1.0, time_ns / (ceiling.value or time_ns))
    won = 1 - 1 / speedup
    path = Value.missing("times", "no times") if fraction_of_path is None else Value(1 / (1 - fraction_of_path * won), "times")
    priority = Value.missing("fraction", "no times") if fraction_of_path is None else Value(won * fraction_of_path, "fraction")
    return Headroom(ceiling, binding, Value(won, "fraction"), Value(speedup, "times"), path, priority)


def _limits(roofline: Roofline, evidence: Evidence) -> dict[str, float]:
    """For each resource of the device that the kernel uses, the minimum time in ns; unknown times are left out."""
    useful = 1 - (evidence.number("divergent_lane_fraction") or 0.0)
    pipes = [(part.min_measured_ns.value, useful if part.pipe == "valu" else 1) for part in roofline.arithmetic]
    limits = {ARITHMETIC: sum(time * share for time, share in pipes if time is not None)}
    times = {name: roofline.level(name).min_measured_ns for name in WORK_LEVELS if roofline.has_level(name)}
    limits |= {name: time.value for name, time in times.items() if time.value is not None}
    issue = evidence.number("valu_busy_fraction")
    return limits if issue is None else limits | {ISSUE: issue * roofline.time_ns * useful}


def _unknown_headroom(ceiling: Value, reason: str | None = None) -> Headroom:
    why = reason or ceiling.reason or "not known"
    times, fraction = Value.missing("times", why), Value.missing("fraction", why)
    return Headroom(ceiling, None, fraction, times, times, fraction)
