"""The shape of a launch, as in `kernel<<<groups, group_size, dynamic_lds>>>(...)`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rocm_perf_lab.isolate.capture_directory import Capture

Dimensions = tuple[int, int, int]

MAX_WORKGROUP_SIZE = 1024
MAX_GRID_SIZE = 2**32 - 1
MAX_LDS_BYTES = 160 * 1024  # gfx950's limit, the highest of all; other GPUs refuse a launch that exceeds their own


@dataclass(frozen=True)
class LaunchConfiguration:
    """groups: number of workgroups in x, y and z. group_size: work-items per workgroup, in x, y and z. dynamic_lds: bytes of
    LDS per workgroup, in addition to those that the kernel declares.
    """

    groups: Dimensions
    group_size: Dimensions
    dynamic_lds: int = 0

    def __str__(self) -> str:
        lds = f" with {self.dynamic_lds} bytes of dynamic LDS" if self.dynamic_lds else ""
        return f"{_size(self.groups)} workgroups of {_size(self.group_size)}{lds}"

    @property
    def threads(self) -> int:
        """The number of work-items per workgroup."""
        return math.prod(self.group_size)

    @property
    def items(self) -> list[int]:
        """The size of the grid in work-items, in x, y and z."""
        return [count * size for count, size in zip(self.groups, self.group_size, strict=True)]

    @property
    def complaint(self) -> str | None:
        """Why HIP refuses to launch any kernel with this shape; None if it does not."""
        if not all(1 <= size <= MAX_WORKGROUP_SIZE for size in self.group_size) or self.threads > MAX_WORKGROUP_SIZE:
            return f"workgroups of {_size(self.group_size)} work-items: a workgroup can have 1 to {MAX_WORKGROUP_SIZE}"
        if not all(1 <= count <= MAX_GRID_SIZE for count in self.items):
            return f"{self}: a grid has 1 to {MAX_GRID_SIZE} work-items in each dimension"
        if not 0 <= self.dynamic_lds <= MAX_LDS_BYTES:
            return f"{self.dynamic_lds} bytes of dynamic LDS: there are only {MAX_LDS_BYTES}"
        return None


def captured_launch(capture: Capture) -> LaunchConfiguration | None:
    """The shape of a captured dispatch; None if its last workgroup is smaller than the others."""
    packet, declared = capture.dispatch["packet"], capture.dispatch["kernel"]["group_segment_size"]
    grid, size = packet["grid"], packet["workgroup"]
    if any(total % extent for total, extent in zip(grid, size, strict=True)):
        return None
    x, y, z = (total // extent for total, extent in zip(grid, size, strict=True))
    return LaunchConfiguration((x, y, z), (size[0], size[1], size[2]), max(0, packet["group_segment_size"] - declared))


def _size(extent: Dimensions) -> str:
    sizes = [str(length) for length in extent]
    while len(sizes) > 1 and sizes[-1] == "1":
        sizes.pop()
    return " x ".join(sizes)
