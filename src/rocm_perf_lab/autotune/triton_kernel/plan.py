"""What is to be tuned, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.triton_launches import ScriptKernel


@dataclass(frozen=True)
class TritonPlan:
    """space: None for the function's own configurations. key: arguments that distinguish problem sizes; empty for the
    function's own key. workers: None for one on a GPU, and one per core (at most 4) on the software device. timeout: for each
    compilation and each evaluation, in seconds. tolerance: see agreement.disagreement().
    """

    kernel: ScriptKernel
    space: Path | None = None
    key: tuple[str, ...] = ()
    device: str = devices.AUTO
    workers: int | None = None
    timeout: float | None = None
    tolerance: float | None = None
