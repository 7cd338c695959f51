"""Step 3: the candidate's code object can stand in for the baseline's: same arguments and contract, resources in limits."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.code_object import CodeObject, KernelMetadata

from .verdict import StepVerdict, passed, rejected

STEP = "code object"


@dataclass(frozen=True)
class ResourceLimits:
    """Largest growth over the baseline, as fractions; scratch bytes and spills may never grow."""

    vgprs: float = 0.20
    occupancy: float = 0.15  # largest loss
    lds: float = 0.30


def check_code_object(
    baseline: CodeObject,
    candidate: CodeObject,
    symbol: str,
    workgroup_threads: int,
    waves: tuple[int, int],
    limits: ResourceLimits = ResourceLimits(),
    promised_threads: int | None = None,
) -> StepVerdict:
    """symbol: the kernel's. workgroup_threads: of the captured launch. waves: resident waves per CU, before and after.
    promised_threads: the largest workgroup that the candidate has to take, where it declared a bound that holds."""
    before, after = baseline.kernels[symbol], candidate.kernels.get(symbol)
    if after is None:
        return rejected(STEP, f"the candidate has no kernel {symbol}")
    for complaint in (
        _targets(baseline, candidate),
        _other_kernels(baseline, candidate, symbol),
        _contract(before, after, max(workgroup_threads, promised_threads or before.max_workgroup_size)),
        _resources(before, after, waves, limits),
    ):
        if complaint:
            return rejected(STEP, complaint, **_figures(before, after, waves))
    return passed(
        STEP,
        "same arguments and LDS contract; registers, scratch and occupancy within limits",
        **_figures(before, after, waves),
    )


def _targets(baseline: CodeObject, candidate: CodeObject) -> str | None:
    if baseline.target != candidate.target:
        return f"it is built for {candidate.target}, the baseline for {baseline.target}"
    return None


def _other_kernels(baseline: CodeObject, candidate: CodeObject, symbol: str) -> str | None:
    if baseline.kernels.keys() != candidate.kernels.keys():
        names = sorted(baseline.kernels.keys() ^ candidate.kernels.keys())
        return f"kernels were added or removed: {', '.join(names)}"
    return None


def _contract(before: KernelMetadata, after: KernelMetadata, largest_workgroup: int) -> str | None:
    if before.kernarg_layout != after.kernarg_layout or before.kernarg_bytes != after.kernarg_bytes:
        return "its arguments are laid out otherwise"
    if before.wave_size != after.wave_size:
        return f"its waves have {after.wave_size} lanes, the baseline's {before.wave_size}"
    if before.required_workgroup_size != after.required_workgroup_size:
        return "it requires another workgroup size"
    if after.max_workgroup_size < largest_workgroup:
        return f"it takes workgroups of at most {after.max_workgroup_size} threads, the baseline {before.max_workgroup_size}"
    return None


def _resources(before: KernelMetadata, after: KernelMetadata, waves: tuple[int, int], limits: ResourceLimits) -> str | None:
    if after.scratch_bytes > before.scratch_bytes or (after.dynamic_stack and not before.dynamic_stack):
        return f"it needs {after.scratch_bytes} bytes of scratch a lane, the baseline {before.scratch_bytes}"
    if after.vgpr_spills > before.vgpr_spills or after.sgpr_spills > before.sgpr_spills:
        return f"it spills {after.vgpr_spills} VGPRs and {after.sgpr_spills} SGPRs"
    if waves[1] == 0:
        return "no workgroup of it fits on a compute unit"
    # More registers that cost no wave cost nothing: only together with lost occupancy do they count.
    if waves[1] < waves[0] * (1 - limits.occupancy):
        return f"occupancy falls from {waves[0]} to {waves[1]} waves a CU, beyond the limit of {limits.occupancy:.0%}"
    if waves[1] < waves[0] and after.vgprs > before.vgprs * (1 + limits.vgprs):
        return f"it takes {after.vgprs} VGPRs, the baseline {before.vgprs}, beyond the limit of {limits.vgprs:.0%}"
    if after.lds_bytes > before.lds_bytes * (1 + limits.lds) and waves[1] < waves[0]:
        return f"it takes {after.lds_bytes} bytes of LDS, the baseline {before.lds_bytes}, beyond the limit of {limits.lds:.0%}"
    return None


def _figures(before: KernelMetadata, after: KernelMetadata, waves: tuple[int, int]) -> dict[str, list[int]]:
    """[baseline, candidate] of each resource."""
    names = ("vgprs", "agprs", "sgprs", "lds_bytes", "scratch_bytes", "vgpr_spills", "sgpr_spills")
    figures = {name: [getattr(before, name), getattr(after, name)] for name in names}
    return figures | {"resident_waves_per_cu": list(waves), "code_bytes": [len(before.code), len(after.code)]}
