"""Tell the compiler how large the workgroups are, if their size is apparent from every launch in the program.

Without a bound, the compiler assumes 1024 threads and gives each thread at most 128 vector registers, spilling the rest: each
SIMD has 512 registers per lane, which four waves of such a workgroup share. With a bound, the compiler may use as many
registers as the number of waves per workgroup allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from rocm_perf_lab.gate.source.promises import Promises, bound_declaration, broken_in_source
from rocm_perf_lab.hip_source import Edit, HipSource, SourceKernel
from rocm_perf_lab.hip_source.kernels import name_of
from rocm_perf_lab.hip_source.launch_sites import launch_sites_by_unit
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

NAME = "launch-bounds"
_BOUNDS = ("launch_bounds", "amdgpu_flat_work_group_size", "reqd_work_group_size")
_DEFAULT_BOUND = 1024  # the workgroup size that the compiler assumes without a bound


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal, whose bound is the size of the largest workgroup among all launches in the program."""
    threads, reason = _threads(source, kernel)
    position = name_of(source.device, kernel)
    if reason or position is None:
        yield Refusal(NAME, kernel.name, kernel.span.line, reason or "its name comes from a macro")
        return
    yield Proposal(
        transformation=NAME,
        kernel=kernel.name,
        line=kernel.span.line,
        description=f"bound the workgroups of {kernel.name} to {threads} threads",
        edits=(Edit(position, position, f"{bound_declaration(source, threads)} "),),
        parameters={"threads": threads},
        promises=Promises(threads=threads),
    )


def _threads(source: HipSource, kernel: SourceKernel) -> tuple[int, str | None]:
    """The bound, and the reason for not proposing it (None if it is proposed)."""
    if has := next((text for text in kernel.attributes if any(word in text for word in _BOUNDS)), None):
        return 0, f"it has {has}"
    blocks = [launch.block for _, launches in launch_sites_by_unit(source, kernel) for launch in launches.sites]
    threads = max((prod(block) for block in blocks if block), default=0)
    if reason := broken_in_source(source, kernel.name, Promises(threads=threads)):
        return 0, reason
    return threads, f"its workgroups have {threads} threads, as the compiler assumes" if threads >= _DEFAULT_BOUND else None
