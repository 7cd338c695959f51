"""How much there is to win: a kernel against its own ceilings, and the program if the kernel reached them."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.analysis.roofline import Roofline
from rocm_perf_lab.arch.metric import Value

ASSUMPTION = (
    "the kernel keeps its present operations and bytes beyond L2: a better algorithm can do less of both, "
    "and no kernel reaches its ceilings entirely"
)


@dataclass(frozen=True)
class Headroom:
    """ceiling_ns: the least time for the present work. kernel_speedup: time / ceiling. program_speedup: of the GPU span."""

    ceiling_ns: Value
    kernel_speedup: Value
    program_speedup: Value


def headroom(roofline: Roofline | None, fraction_of_path: float) -> Headroom:
    """fraction_of_path: the kernel's share of the critical path, 0..1; Amdahl's law gives the program's speedup from it."""
    if roofline is None:
        missing = Value.missing("times", "no ceilings are known for this device")
        return Headroom(Value.missing("ns", missing.reason or ""), missing, missing)
    ceiling = roofline.ceiling_ns
    if not ceiling.value or not roofline.time_ns:
        reason = ceiling.reason or ("the kernel counts no operations and moves no bytes" if roofline.time_ns else "no times")
        missing = Value.missing("times", reason)
        return Headroom(ceiling, missing, missing)
    kernel = roofline.time_ns / ceiling.value
    left = 1 - fraction_of_path + fraction_of_path / kernel
    return Headroom(ceiling, Value(kernel, "times"), Value(1 / left, "times"))
