"""The numbers that are compared, and their names for --fail-on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.comparison.facts import KernelFacts, Side

if TYPE_CHECKING:
    from rocm_perf_lab.comparison.compare_document import Unit


@dataclass(frozen=True)
class KernelMetric:
    """value: None if it is not known."""

    name: str
    unit: Unit
    meaning: str
    value: Callable[[KernelFacts], float | None]


@dataclass(frozen=True)
class ProgramMetric:
    """values: one per run; empty if they are not known."""

    name: str
    unit: Unit
    meaning: str
    values: Callable[[Side], list[float]]


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


TIME = "time"
KERNEL_METRICS = (
    KernelMetric(TIME, "ns", "time of all dispatches of a kernel in a run", lambda kernel: mean(kernel.run_ns)),
    KernelMetric("dispatches", "", "number of dispatches of a kernel", lambda kernel: kernel.dispatches),
    KernelMetric("path", "ns", "time of a kernel on the critical path", lambda kernel: kernel.path_ns),
    KernelMetric("vgprs", "", "VGPRs of a kernel", lambda kernel: kernel.resources.vgpr_per_thread),
    KernelMetric("agprs", "", "AGPRs of a kernel", lambda kernel: kernel.resources.accum_vgpr_per_thread),
    KernelMetric("sgprs", "", "SGPRs of a kernel", lambda kernel: kernel.resources.sgpr_per_wave),
    KernelMetric("lds", "bytes", "LDS of a workgroup", lambda kernel: kernel.resources.lds_bytes),
    KernelMetric("scratch", "bytes", "scratch of a work-item", lambda kernel: kernel.resources.scratch_bytes),
    KernelMetric("occupancy", "waves/CU", "waves of a kernel that fit on a CU", lambda kernel: kernel.waves_per_cu),
)
PROGRAM_METRICS = (
    ProgramMetric("kernel_time", "ns", "time in all kernels of the program", lambda side: side.kernel_ns),
    ProgramMetric("span", "ns", "from the first start to the last end on the GPU", lambda side: list(side.spans_ns)),
)


def names() -> list[str]:
    """The names of all metrics except hardware counters."""
    return [metric.name for metric in (*KERNEL_METRICS, *PROGRAM_METRICS)]
