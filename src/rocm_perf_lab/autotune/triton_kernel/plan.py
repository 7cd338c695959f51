"""What to tune and how to run it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.triton_launches import ScriptKernel


@dataclass(frozen=True)
class TritonPlan:
    """space: None for the function's own configurations. key: arguments that distinguish problem sizes; empty for the
    function's own key. workers: None means one on a GPU, or one per core (at most 4) on the software device. timeout:
    seconds allowed for each compilation and each evaluation. tolerance: see agreement.disagreement().
    """

    kernel: ScriptKernel
    space: Path | None = None
    key: tuple[str, ...] = ()
    device: str = devices.AUTO
    workers: int | None = None
    timeout: float | None = None
    tolerance: float | None = None
