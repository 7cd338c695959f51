"""The theoretical occupancy of a dispatch, and how many waves it brings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.device import Device
from rocm_perf_lab.analysis.symbols import Symbol
from rocm_perf_lab.arch.occupancy import KernelResources, Occupancy
from rocm_perf_lab.rocpd.tables import Trace


@dataclass(frozen=True)
class DispatchOccupancy:
    """occupancy: None if the family is not known, with `reason`.

    waves: of the whole grid. device_waves: how many the device holds at once. fill: waves / device_waves.
    """

    resources: KernelResources
    workgroups: int
    occupancy: Occupancy | None
    waves: int | None
    device_waves: int | None
    reason: str | None

    @property
    def fill(self) -> float | None:
        return self.waves / self.device_waves if self.waves is not None and self.device_waves else None


def dispatch_occupancy(trace: Trace, symbol: Symbol, row: int, device: Device) -> DispatchOccupancy:
    """Occupancy of the dispatch in `row`, from its own workgroup size and LDS and its kernel's registers."""
    dispatches = trace.dispatches
    workgroup = int(np.prod(dispatches.workgroup[row]))
    resources = KernelResources(
        symbol.kernel.arch_vgprs, symbol.kernel.accum_vgprs, symbol.kernel.sgprs, int(dispatches.lds_bytes[row]), workgroup
    )
    workgroups = int(np.prod(-(-dispatches.grid[row] // np.maximum(dispatches.workgroup[row], 1))))
    if device.family is None:
        reason = f"no occupancy rules for {device.target or 'an unnamed target'}"
        return DispatchOccupancy(resources, workgroups, None, None, None, reason)
    if workgroup < 1:
        return DispatchOccupancy(resources, workgroups, None, None, None, "the trace has no workgroup size")
    found = device.family.occupancy(resources)
    capacity = int(device.cu.value) * found.resident_waves_per_cu if device.cu.value else None
    return DispatchOccupancy(resources, workgroups, found, workgroups * found.waves_per_workgroup, capacity, None)
