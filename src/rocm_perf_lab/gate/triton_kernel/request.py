"""The user's request to the gate for Triton kernels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rocm_perf_lab.cage import View
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.triton_launches import ScriptKernel


@dataclass(frozen=True)
class TritonGateRequest:
    """ulps: as in the gate for HIP kernels. min_improvement: share of the time that must be saved. timeout: seconds for each
    answer from a script. view: what the cage shows in addition to the candidate's folder.
    """

    baseline: ScriptKernel
    candidate: ScriptKernel
    device: str
    ulps: int = 0
    min_improvement: float = 0.02
    seed: int = field(default_factory=seeds.fresh)
    timeout: float = 120.0
    view: View = View()

    def with_timeout(self, seconds: float) -> TritonGateRequest:
        return replace(self, timeout=seconds)
