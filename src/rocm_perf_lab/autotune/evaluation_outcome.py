"""The outcome of one configuration. A failure is a result like any other."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

OK, BUILD_FAILED, FAILED, TIMEOUT, WRONG_OUTPUT = "ok", "build-failed", "failed", "timeout", "wrong-output"
LOST = "lost"  # its workers kept disappearing; not cached, because that may not be the configuration's fault
GPU, WALL, RECORDED = "gpu", "wall", "recorded"


@dataclass(frozen=True)
class EvaluationOutcome:
    """ms: the median of `runs`. measure: GPU, WALL or RECORDED. Both are None for a configuration that failed.

    resources: vgprs, lds_bytes and workgroup_size of the longest kernel, for reports only. For a Triton function, there are
    further numbers about its compiled code. Empty if not known.
    """

    status: str
    reason: str | None = None
    runs: list[float] = field(default_factory=list)
    measure: str | None = None
    unstable: bool = False
    modelled: bool = False
    resources: dict[str, int] = field(default_factory=dict)

    @property
    def ms(self) -> float | None:
        return statistics.median(self.runs) if self.status == OK else None

    @property
    def kind(self) -> str:
        """A description of the times, such as "modelled", "recorded" or "measured, gpu time"."""
        if self.measure == RECORDED:
            return "recorded, modelled" if self.modelled else RECORDED
        return "modelled" if self.modelled else f"measured, {self.measure} time"

    @property
    def cv(self) -> float | None:
        """Coefficient of variation of the runs; None if there are fewer than two, or the configuration failed."""
        return variation(self.runs) if self.status == OK else None


def variation(runs: list[float]) -> float | None:
    mean = statistics.fmean(runs) if len(runs) > 1 else 0.0
    return statistics.stdev(runs) / mean if mean > 0 else None
