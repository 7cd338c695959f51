"""The theoretical occupancy of a dispatch, and the number of waves in its grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis import registers
from rocm_perf_lab.analysis.device import GpuSpecs
from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.occupancy import KernelResources, Occupancy, occupancy
from rocm_perf_lab.arch.occupancy_lift import OccupancyLift, lifts
from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.rocpd.trace import Trace

NO_REGISTERS = "the trace has no register counts"  # every kernel has VGPRs


@dataclass(frozen=True)
class DispatchOccupancy:
    """occupancy: None if the family, the registers or the workgroup size is not known; `reason` says which.

    waves: the number in the whole grid. device_waves: how many the device holds at once. fill: waves / device_waves.
    lifts: changes that would let more waves be resident. notes: assumptions.
    """

    resources: KernelResources  # what the kernel uses: from the code object if there is one
    workgroups: int
    occupancy: Occupancy | None
    waves: int | None
    device_waves: int | None
    reason: str | None
    lifts: tuple[OccupancyLift, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fill(self) -> float | None:
        return self.waves / self.device_waves if self.waves is not None and self.device_waves else None


def dispatch_occupancy(
    trace: Trace, symbol: Symbol, row: int, device: GpuSpecs, metadata: KernelMetadata | None = None
) -> DispatchOccupancy:
    """The occupancy of the dispatch in `row`, computed from its own workgroup size and LDS size and its kernel's registers.

    metadata: from the kernel's code object; its registers are those that the kernel needs. How many waves are resident depends
    on the number of allocated registers, which can be higher.
    """
    dispatches = trace.dispatches
    workgroup = int(np.prod(dispatches.workgroup[row]))
    lds = int(dispatches.lds_bytes[row])
    arch, accum, notes = registers.recorded(symbol.kernel, device.family)
    allocated = KernelResources(arch, accum, symbol.kernel.sgprs, lds, workgroup)
    resources = registers.needed_resources(allocated, metadata) if metadata is not None else allocated
    workgroups = int(np.prod(-(-dispatches.grid[row] // np.maximum(dispatches.workgroup[row], 1))))
    if device.family is None:
        reason = f"no occupancy rules for {device.target or 'an unnamed target'}"
        return DispatchOccupancy(resources, workgroups, None, None, None, reason)
    if arch + accum < 1:
        return DispatchOccupancy(resources, workgroups, None, None, None, NO_REGISTERS)
    if workgroup < 1:
        return DispatchOccupancy(resources, workgroups, None, None, None, "the trace has no workgroup size")
    theoretical = device.family.occupancy(allocated)
    rules = device.family.occupancy_rules
    padded = registers.padding(rules, allocated, theoretical, None if metadata is None else resources)
    liftable = resources if metadata is not None else allocated
    if padded:
        theoretical = registers.without_padding(rules, allocated, theoretical)
        liftable = resources if metadata is not None else registers.before_padding(rules, allocated)
        notes += (padded,)
    units = int(device.cu.value) // device.family.occupancy_rules.compute_units if device.cu.value else None
    capacity = units * theoretical.resident_waves_per_cu if units else None
    return DispatchOccupancy(
        resources,
        workgroups,
        theoretical,
        workgroups * theoretical.waves_per_workgroup,
        capacity,
        None,
        lifts(rules, liftable),
        theoretical.notes + notes + _other_modes(device.family, allocated),
    )


def _other_modes(family: Family, resources: KernelResources) -> tuple[str, ...]:
    """The occupancy in the modes that the trace cannot rule out."""
    texts = []
    for mode, rules in family.other_occupancy_rules.items():
        other = occupancy(rules, resources)
        texts.append(f"{mode}: {other.resident_waves_per_cu} of {other.max_waves_per_cu} waves")
    return (f"in the other modes: {', '.join(texts)}",) if texts else ()
