"""Why a candidate is rejected, and what had been found out about it by then."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocm_perf_lab.gate.verdict_document import APPLICATION, EQUIVALENCE, MEASUREMENT, CapturedLaunch, DifferenceSection

LAUNCH = "launch"
STEPS = (LAUNCH, EQUIVALENCE, MEASUREMENT, APPLICATION)


class RejectedError(Exception):
    """step: one of STEPS. case: the size and the inputs, for steps that have them."""

    def __init__(self, step: str, reason: str, difference: DifferenceSection | None = None, case: str | None = None):
        super().__init__(reason)
        self.step, self.reason, self.difference, self.case = step, reason, difference, case


@dataclass
class JudgementRecord:
    """ms: (baseline, candidate) times for each captured launch. parameters: identifies the parameters of the timing model."""

    launches: list[CapturedLaunch] = field(default_factory=list)
    ms: list[tuple[float, float]] = field(default_factory=list)
    parameters: str | None = None
