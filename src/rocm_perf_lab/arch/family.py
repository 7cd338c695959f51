"""The properties that all products of a GPU family share."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocm_perf_lab.arch.metric import Metric
from rocm_perf_lab.arch.occupancy import KernelResources, Occupancy, OccupancyRules, occupancy

Pipe = tuple[str, str]  # (precision, 'valu' or 'mfma')


@dataclass(frozen=True)
class Family:
    """The rules of a family. Metrics that the family's counters cannot provide are absent from the mappings.

    peak_ops_per_clock_and_cu: an FMA counts as two operations. l2_bytes_per_clock_and_xcd, cu_bytes_per_clock: peak bandwidths.
    has_mall: whether there is a cache between L2 and memory (Infinity Cache), through which all traffic beyond L2 passes.
    uncounted: levels and pipes that none of the family's counters covers -> why.
    valu_cycles_per_instruction: how many cycles a VALU instruction of a full wave occupies a SIMD.
    other_occupancy_rules: the rules for other modes in which a kernel can be compiled; a trace does not record the mode.
    """

    name: str
    targets: tuple[str, ...]
    occupancy_rules: OccupancyRules = field(repr=False)
    flops: dict[Pipe, Metric] = field(repr=False)
    integer_operations: dict[Pipe, Metric] = field(repr=False)  # kept separate: they are not FLOPs, but use pipe time
    hbm_bytes: tuple[Metric, ...] = field(repr=False)  # (read, write), or () if unknown
    cache_bytes: dict[str, Metric] = field(repr=False)
    evidence: dict[str, Metric] = field(repr=False)
    peak_ops_per_clock_and_cu: dict[Pipe, int] = field(repr=False)
    l2_bytes_per_clock_and_xcd: int | None
    cu_bytes_per_clock: dict[str, int] = field(repr=False)
    valu_cycles_per_instruction: int
    has_mall: bool = False
    lds_bytes_per_workgroup: int = 65536
    uncounted: dict[str | Pipe, str] = field(default_factory=dict, repr=False)
    other_occupancy_rules: dict[str, OccupancyRules] = field(default_factory=dict, repr=False)

    def occupancy(self, kernel: KernelResources) -> Occupancy:
        return occupancy(self.occupancy_rules, kernel)

    @property
    def operations(self) -> dict[Pipe, Metric]:
        return self.flops | self.integer_operations

    def counters(self) -> tuple[str, ...]:
        """Every hardware counter that any of the family's metrics needs, sorted: the counters that a profile has to collect."""
        metrics = [*self.operations.values(), *self.hbm_bytes, *self.cache_bytes.values(), *self.evidence.values()]
        return tuple(sorted({counter for metric in metrics for counter in metric.counters}))
