"""How many waves fit on a compute unit at once.

There are two measures, which are never mixed:
  compiler_waves_per_simd  what clang's -Rpass-analysis=kernel-resource-usage prints as "Occupancy [waves/SIMD]" for a
                           kernel whose workgroups have exactly this size. The register limit may include part of a workgroup,
                           and LDS is not rounded up to a granule.
  resident_waves_per_cu    counts whole workgroups only, with LDS and SGPRs rounded up to granules. It equals the result of
                           hipOccupancyMaxActiveBlocksPerMultiprocessor times the waves per workgroup, except that HIP 7.2
                           does not round LDS up.

Source: LLVM AMDGPUBaseInfo.cpp (getNumWavesPerEUWithNumVGPRs, getMaxWorkGroupsPerCU) and AMDGPUSubtarget.cpp
(getOccupancyWithWorkGroupSizes), LLVM 22.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class KernelResources:
    """The resources of one dispatch: VGPRs per work-item, SGPRs per wave, LDS bytes and threads per workgroup."""

    arch_vgprs: int
    accum_vgprs: int
    sgprs: int
    lds_bytes: int
    workgroup_size: int


@dataclass(frozen=True)
class OccupancyRules:
    """The resources shared by the waves on a compute unit (or, on RDNA in WGP mode, on a WGP).

    compute_units: how many CUs the figures cover: 2 for a WGP, otherwise 1.
    """

    wave_size: int
    simds: int
    max_waves_per_simd: int
    vgprs: int  # per lane and SIMD
    vgpr_granule: int
    lds_bytes: int
    lds_granule: int
    max_workgroups: int  # limits workgroups of more than one wave, each of which takes a barrier
    total_vgprs: Callable[[int, int], int]  # (arch, accum) -> VGPRs that a wave allocates
    compiler_waves_by_sgprs: Callable[[int], int]  # SGPRs -> waves per SIMD
    resident_waves_by_sgprs: Callable[[int], int]
    notes: tuple[str, ...] = ()
    compute_units: int = 1

    @property
    def max_waves(self) -> int:
        return self.simds * self.max_waves_per_simd


@dataclass(frozen=True)
class Occupancy:
    """compiler_waves_per_simd, resident_waves_per_cu: see the module. limits: waves per CU that each resource alone allows.

    limited_by names the resources with the smallest limit, or 'wave slots' if no resource sets a lower limit.
    """

    compiler_waves_per_simd: int
    resident_waves_per_cu: int
    resident_workgroups_per_cu: int
    max_waves_per_cu: int
    simds_per_cu: int
    waves_per_workgroup: int
    limits: dict[str, int]
    limited_by: tuple[str, ...]
    notes: tuple[str, ...]
    compute_units: int = 1

    @property
    def unit(self) -> str:
        """The unit to which the "per CU" figures refer."""
        return "CU" if self.compute_units == 1 else "WGP"

    @property
    def fraction(self) -> float:
        """resident_waves_per_cu divided by max_waves_per_cu, 0..1."""
        return self.resident_waves_per_cu / self.max_waves_per_cu


def occupancy(rules: OccupancyRules, kernel: KernelResources) -> Occupancy:
    """The occupancy of a kernel under the rules of its family. Raises ValueError for a workgroup without threads."""
    if kernel.workgroup_size < 1:
        raise ValueError(f"a workgroup of {kernel.workgroup_size} threads")
    waves = _ceil_div(kernel.workgroup_size, rules.wave_size)
    by_vgprs = _waves_by_vgprs(rules, kernel)
    limits = {
        "VGPRs": _in_whole_workgroups(rules.simds * by_vgprs, waves),
        "SGPRs": _in_whole_workgroups(rules.simds * rules.resident_waves_by_sgprs(kernel.sgprs), waves),
        "LDS": _workgroups_by_lds(rules, kernel.lds_bytes, rules.lds_granule) * waves,
        "workgroup slots": _workgroup_slots(rules, waves) * waves,
        "wave slots": _in_whole_workgroups(rules.max_waves, waves),
    }
    resident = min(limits.values())
    limited_by = tuple(name for name, limit in limits.items() if limit == resident and limit < limits["wave slots"])
    return Occupancy(
        compiler_waves_per_simd=min(
            _compiler_waves_by_workgroups(rules, kernel, waves), by_vgprs, rules.compiler_waves_by_sgprs(kernel.sgprs)
        ),
        resident_waves_per_cu=resident,
        resident_workgroups_per_cu=resident // waves,
        max_waves_per_cu=rules.max_waves,
        simds_per_cu=rules.simds,
        waves_per_workgroup=waves,
        limits={name: min(limit, rules.max_waves) for name, limit in limits.items()},
        limited_by=limited_by or ("wave slots",),
        notes=rules.notes,
        compute_units=rules.compute_units,
    )


def _waves_by_vgprs(rules: OccupancyRules, kernel: KernelResources) -> int:
    return min(max(rules.vgprs // allocated_vgprs(rules, kernel, rules.vgpr_granule), 1), rules.max_waves_per_simd)


def allocated_vgprs(rules: OccupancyRules, kernel: KernelResources, granule: int) -> int:
    """VGPRs per lane, arch and accum together, in multiples of `granule`; a wave has at least one granule."""
    return _align(max(rules.total_vgprs(kernel.arch_vgprs, kernel.accum_vgprs), 1), granule)


def _workgroup_slots(rules: OccupancyRules, waves: int) -> int:
    """Workgroups of one wave need no barrier, so only wave slots limit them."""
    return rules.max_waves if waves == 1 else min(rules.max_waves // waves, rules.max_workgroups)


def _workgroups_by_lds(rules: OccupancyRules, lds_bytes: int, granule: int) -> int:
    return rules.lds_bytes // max(_align(lds_bytes, granule), 1)


def _compiler_waves_by_workgroups(rules: OccupancyRules, kernel: KernelResources, waves: int) -> int:
    by_lds = _workgroups_by_lds(rules, kernel.lds_bytes, granule=1)
    if not by_lds:
        return 1
    on_cu = waves * min(_workgroup_slots(rules, waves), by_lds)
    return min(max(_ceil_div(on_cu, rules.simds), 1), rules.max_waves_per_simd)


def _in_whole_workgroups(waves_that_fit: int, waves_per_workgroup: int) -> int:
    return waves_that_fit // waves_per_workgroup * waves_per_workgroup


def _align(value: int, granule: int) -> int:
    return _ceil_div(value, granule) * granule


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)
