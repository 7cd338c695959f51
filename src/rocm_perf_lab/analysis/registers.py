"""A kernel's register counts: the trace records the allocation, which can include padding and is sometimes wrong.

The loader's figures come from the kernel descriptor. Where LDS has room for only a few waves, LLVM allocates as many registers
as these waves can have (GCNSubtarget, NumVGPRsForWavesPerEU). The allocation then includes padding, and using fewer registers
would change nothing.
"""

from __future__ import annotations

from dataclasses import replace

from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.occupancy import KernelResources, Occupancy, OccupancyRules, allocated_vgprs
from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.rocpd.trace import Kernel

MAX_REGISTERS_OF_A_KIND = 256  # how many VGPRs, or AGPRs, an instruction can address
_LOST_VGPRS = (
    128  # subtracted from the VGPRs if the top bit of the descriptor's accum_offset (six bits, in units of four) is lost
)


def recorded(kernel: Kernel, family: Family | None) -> tuple[int, int, tuple[str, ...]]:
    """VGPRs, AGPRs, and a note if the trace's figures are impossible and were corrected.

    Some versions of rocprofv3 drop the top bit of the accumulators' offset: the VGPR count is then too low, and the AGPR count
    too high, by the same amount.
    """
    arch, accum = kernel.arch_vgprs, kernel.accum_vgprs
    if accum <= MAX_REGISTERS_OF_A_KIND or family is None:
        return arch, accum, ()
    note = f"the trace says {arch} + {accum} VGPRs; no kernel has more than {MAX_REGISTERS_OF_A_KIND} AGPRs"
    return arch + _LOST_VGPRS, accum - _LOST_VGPRS, (f"{note}: taken as {arch + _LOST_VGPRS} + {accum - _LOST_VGPRS}",)


def needed_resources(allocated: KernelResources, metadata: KernelMetadata) -> KernelResources:
    """The same resources with the registers that the compiler counted."""
    return replace(allocated, arch_vgprs=metadata.vgprs - metadata.agprs, accum_vgprs=metadata.agprs, sgprs=metadata.sgprs)


def padding(
    rules: OccupancyRules, allocated: KernelResources, occupancy: Occupancy, used: KernelResources | None
) -> str | None:
    """Why some of the allocated VGPRs are padding; None if none are or nothing suggests it. used: from the code object."""
    total = allocated_vgprs(rules, allocated, rules.vgpr_granule)
    if used is not None:
        needs = allocated_vgprs(rules, used, rules.vgpr_granule)
        return f"{total} VGPRs are allocated, and {needs} would suffice: the rest is padding" if needs < total else None
    if "LDS" not in occupancy.limited_by or total != _padded(rules, allocated):
        return None
    return (
        f"the compiler allocates {total} VGPRs where LDS has no room for more waves: the kernel may need fewer; only its "
        "code object would tell"
    )


def without_padding(rules: OccupancyRules, allocated: KernelResources, occupancy: Occupancy) -> Occupancy:
    """The occupancy without VGPRs among its limits, provided that something else limits it as much."""
    other_limits = tuple(name for name in occupancy.limited_by if name != "VGPRs")
    return replace(occupancy, limited_by=other_limits or occupancy.limited_by)


def before_padding(rules: OccupancyRules, allocated: KernelResources) -> KernelResources:
    """The same resources with the largest number of VGPRs that the kernel can have needed if its allocation was padded."""
    return replace(allocated, arch_vgprs=max(_padded(rules, allocated) - rules.vgpr_granule, 1), accum_vgprs=0)


def _padded(rules: OccupancyRules, kernel: KernelResources) -> int:
    """The fewest VGPRs with which no more waves fit on a SIMD than LDS allows (LLVM: getMinNumVGPRs); 0 if it allows all."""
    waves = -(-kernel.workgroup_size // rules.wave_size)
    groups = rules.lds_bytes // max(kernel.lds_bytes, 1)
    per_simd = max(1, -(-waves * groups // rules.simds))
    if per_simd >= rules.max_waves_per_simd:
        return 0
    max_with_one_more = rules.vgprs // (per_simd + 1) // rules.vgpr_granule * rules.vgpr_granule
    return max_with_one_more + rules.vgpr_granule
