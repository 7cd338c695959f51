"""The AMD GPUs that the kernel driver reports on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_DRIVER = Path("dev/kfd")
_NODES = Path("sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True)
class Gpus:
    """targets: one LLVM target per GPU, in node order; obstacle: why the GPUs cannot be used, or None."""

    targets: tuple[str, ...]
    obstacle: str | None

    @property
    def usable(self) -> bool:
        return self.obstacle is None


def find(root: Path = Path("/")) -> Gpus:
    """Read the driver's device file and topology under `root`."""
    driver = root / _DRIVER
    targets = tuple(_targets(root / _NODES))
    if not driver.exists():
        return Gpus(targets, "there is no /dev/kfd (no AMD GPU, or the amdgpu driver is not loaded)")
    if not targets:
        return Gpus(targets, "/dev/kfd exists, but its topology has no GPU")
    if not os.access(driver, os.R_OK | os.W_OK):
        return Gpus(targets, "/dev/kfd cannot be opened (add yourself to the groups `render` and `video`)")
    return Gpus(targets, None)


def target_name(version: int) -> str:
    """The LLVM target for a `gfx_target_version`: 90402 is gfx942, 90010 gfx90a, 100300 gfx1030."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _targets(nodes: Path) -> Iterator[str]:
    if not nodes.is_dir():
        return
    for node in sorted(nodes.iterdir(), key=lambda path: int(path.name)):
        version = _gfx_target_version(node / "properties")
        if version:
            yield target_name(version)


def _gfx_target_version(properties: Path) -> int:
    try:
        lines = properties.read_text().splitlines()
    except OSError:  # A container may be denied access to individual nodes.
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("gfx_target_version ")), 0)
