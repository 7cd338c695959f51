"""What would allow more resident waves of a kernel: using less of the limiting resources, or a different workgroup size."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rocm_perf_lab.arch.occupancy import KernelResources, OccupancyRules, allocated_vgprs, occupancy

MAX_WORKGROUP = 1024
_MAX_SGPRS = 128  # more than any wave can address


@dataclass(frozen=True)
class ResourceChange:
    """resource: 'VGPRs' (per lane, arch and accum together), 'SGPRs' (per wave), 'LDS' (bytes), 'workgroup size' (threads).

    now: how much the kernel uses now. then: the most that it may use after the change; for the workgroup size, the new size.
    """

    resource: str
    now: int
    then: int


@dataclass(frozen=True)
class OccupancyLift:
    """changes: to be applied together. waves: the number of waves that are then resident on a CU."""

    changes: tuple[ResourceChange, ...]
    waves: int


def lifts(rules: OccupancyRules, kernel: KernelResources) -> tuple[OccupancyLift, ...]:
    """Alternative changes, each of which suffices to make more waves resident; () if there are none.

    The first reduces every limiting resource by as much as the next reachable level requires; the second uses a different
    workgroup size with the same registers and the same LDS per workgroup.
    """
    candidates = (_fewer_resources(rules, kernel), _other_workgroup(rules, kernel))
    return tuple(lift for lift in candidates if lift)


def _fewer_resources(rules: OccupancyRules, kernel: KernelResources) -> OccupancyLift | None:
    present = occupancy(rules, kernel)
    step = present.waves_per_workgroup
    slots = min(present.limits["wave slots"], present.limits["workgroup slots"])
    for target in range(present.resident_waves_per_cu + step, slots + 1, step):
        most = {name: _largest_amount(rules, name, target, step) for name, limit in present.limits.items() if limit < target}
        needed = {name: then for name, then in most.items() if then is not None}
        if len(needed) < len(most):
            continue
        now = {"VGPRs": allocated_vgprs(rules, kernel, granule=1), "SGPRs": kernel.sgprs, "LDS": kernel.lds_bytes}
        changes = tuple(ResourceChange(name, now[name], then) for name, then in needed.items())
        return OccupancyLift(
            changes, occupancy(rules, _with_resources(kernel, needed)).resident_waves_per_cu
        )  # can exceed the target
    return None


def _with_resources(kernel: KernelResources, needed: dict[str, int]) -> KernelResources:
    field_of = {"SGPRs": "sgprs", "LDS": "lds_bytes"}
    changed = replace(kernel, **{field_of[name]: most for name, most in needed.items() if name in field_of})
    return replace(changed, arch_vgprs=needed["VGPRs"], accum_vgprs=0) if "VGPRs" in needed else changed


def _largest_amount(rules: OccupancyRules, resource: str, target: int, step: int) -> int | None:
    """The largest amount of a resource with which `target` waves fit, in workgroups of `step` waves; None if there is none."""
    per_simd = -(-target // rules.simds)
    if resource == "VGPRs":
        most = rules.vgprs // per_simd // rules.vgpr_granule * rules.vgpr_granule
        return most or None
    if resource == "SGPRs":
        fitting = (count for count in range(_MAX_SGPRS, 0, -1) if rules.resident_waves_by_sgprs(count) >= per_simd)
        return next(fitting, None)
    return rules.lds_bytes // (target // step) // rules.lds_granule * rules.lds_granule


def _other_workgroup(rules: OccupancyRules, kernel: KernelResources) -> OccupancyLift | None:
    """The size with the most resident waves (on a tie, the one nearest the current size); None if no size has more than now."""
    sizes = range(rules.wave_size, MAX_WORKGROUP + 1, rules.wave_size)
    waves = {size: occupancy(rules, replace(kernel, workgroup_size=size)).resident_waves_per_cu for size in sizes}
    present = kernel.workgroup_size
    best = max(sizes, key=lambda size: (waves[size], -abs(size - present), -size))
    if waves[best] <= occupancy(rules, kernel).resident_waves_per_cu:
        return None
    return OccupancyLift((ResourceChange("workgroup size", present, best),), waves[best])
