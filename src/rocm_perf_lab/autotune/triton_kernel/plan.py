"""What is to be tuned, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.triton_launches import ScriptKernel


@dataclass(frozen=True)
class TritonPlan:
    """space: None for the function's own configurations. key: arguments that tell problem sizes apart; empty for the function's
    own. workers: None for as many as there are cores (at most 4) on the software device, and one on a GPU. timeout: seconds for
    compiling, and for each evaluation. tolerance: as agreement.disagreement() takes it.
    """

    kernel: ScriptKernel
    space: Path | None = None
    key: tuple[str, ...] = ()
    device: str = devices.AUTO
    workers: int | None = None
    timeout: float | None = None
    tolerance: float | None = None
