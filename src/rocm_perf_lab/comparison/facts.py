"""What is known about one side of a comparison: a build of a program, seen in one run or in several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocm_perf_lab.report.schema import Resources

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers


@dataclass(frozen=True)
class KernelFacts:
    """One kernel across all runs of a side.

    durations: how long its dispatches took, in ns, one array per run in which it was dispatched; empty if there are no times.
    dispatches: how many there are in one run. path_ns: its time on the critical path. waves_per_cu: how many waves fit at once.
    counters: sums over a run's dispatches. code: the machine code, if it is known.
    """

    name: str
    symbol: str
    is_runtime: bool
    dispatches: int
    workgroup: tuple[int, int, int]
    grid: tuple[int, int, int]
    durations: Sequence[Integers]
    resources: Resources
    path_ns: int | None = None
    waves_per_cu: int | None = None
    bottleneck: str | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    code: bytes | None = None

    @property
    def run_ns(self) -> list[float]:
        """The total time of its dispatches in each run."""
        return [float(run.sum()) for run in self.durations]


@dataclass(frozen=True)
class Side:
    """label: as the user named it. runs: how many were read. spans_ns: from the first start to the last end on the GPU, one per
    run; empty for a capture, which is one dispatch. what_is_missing: why each kind of data, as named in reports, is missing.
    """

    label: str
    command: str
    target: str
    product: str
    timing: str  # 'measured' or 'modelled'
    timing_parameters: str | None
    runs: int
    spans_ns: Sequence[float]
    kernels: Mapping[str, KernelFacts]  # by mangled name
    what_is_missing: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_kernels(self) -> list[KernelFacts]:
        """The program's own kernels, or the HIP runtime's kernels if there are no others."""
        return [kernel for kernel in self.kernels.values() if not kernel.is_runtime] or list(self.kernels.values())

    @property
    def kernel_ns(self) -> list[float]:
        """The time in the program's kernels, for each run."""
        each = [kernel.run_ns for kernel in self.own_kernels]
        runs = max(map(len, each), default=0)
        return [sum(times[run] for times in each if run < len(times)) for run in range(runs)]
