"""Which options and block sizes would allow more waves of a Triton function to be resident."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocm_perf_lab.analysis.occupancy import DispatchOccupancy
from rocm_perf_lab.analysis.triton.kernel_descriptions import DescribedKernel

_MIN_BLOCK, _MAX_WARPS = 16, 16


def raising_occupancy(kernel: DescribedKernel, occupancy: DispatchOccupancy) -> tuple[str, ...]:
    """Suggestions, in words, for each resource that limits occupancy; () if nothing limits it, or the limit is not known."""
    if occupancy.occupancy is None or not occupancy.lifts:
        return ()
    simds = occupancy.occupancy.simds_per_cu
    changes = [(change, -(-lift.waves // simds)) for lift in occupancy.lifts for change in lift.changes]
    return tuple(text for change, waves in changes for text in _ways(change.resource, change.then, waves, kernel))


def _ways(resource: str, then: int, waves: int, kernel: DescribedKernel) -> Iterator[str]:
    blocks, warps, stages = _blocks(kernel.constants), kernel.options.get("num_warps"), kernel.options.get("num_stages")
    smaller = f"a smaller {' or '.join(blocks)}" if blocks else "smaller blocks"
    if resource == "VGPRs":
        shared = f"num_warps={2 * warps}, which shares a block among more lanes" if warps and warps < _MAX_WARPS else None
        yield f"for {then:,} VGPRs: {', '.join(filter(None, (smaller, shared)))}, or waves_per_eu={waves}, which can spill"
    elif resource == "LDS":
        fewer = f"num_stages={stages - 1}" if stages and stages > 1 else None
        yield f"for {then:,} bytes of LDS: {' or '.join(filter(None, (smaller, fewer)))}"
    elif resource == "workgroup size" and then % 64 == 0 and (then // 64) & (then // 64 - 1) == 0:
        yield f"for workgroups of {then} threads: num_warps={then // 64}"


def _blocks(constants: Mapping[str, str]) -> list[str]:
    """Parameters that look like block sizes, that is, powers of two."""
    sizes = {name: int(value) for name, value in constants.items() if value.isdecimal()}
    return [name for name, size in sizes.items() if size >= _MIN_BLOCK and size & (size - 1) == 0]
