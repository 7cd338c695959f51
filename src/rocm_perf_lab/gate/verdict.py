"""What the gate says: one verdict a step, and the whole."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any


class Outcome(str, Enum):
    PASSED = "passed"
    REJECTED = "rejected"
    SKIPPED = "skipped"  # an earlier step rejected, or the user chose a weaker level


@dataclass(frozen=True)
class StepVerdict:
    """One step's outcome. reason: one sentence, naming the thing. evidence: what it rests on, as JSON values."""

    step: str
    outcome: Outcome
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """All steps in order. accepted: every step passed or was skipped by the user's choice, and at least one passed."""

    steps: tuple[StepVerdict, ...]

    @property
    def rejection(self) -> StepVerdict | None:
        return next((step for step in self.steps if step.outcome is Outcome.REJECTED), None)

    @property
    def accepted(self) -> bool:
        return self.rejection is None and any(step.outcome is Outcome.PASSED for step in self.steps)

    def document(self) -> dict[str, Any]:
        """For the journal and --json."""
        return {"accepted": self.accepted, "steps": [asdict(step) | {"outcome": step.outcome.value} for step in self.steps]}


def rejecting_step(document: dict[str, Any]) -> dict[str, Any] | None:
    """Of a Verdict.document(): the step that rejected; None where none did."""
    return next((step for step in document["steps"] if step["outcome"] == Outcome.REJECTED), None)


def passed(step: str, reason: str, **evidence: Any) -> StepVerdict:
    return StepVerdict(step, Outcome.PASSED, reason, evidence)


def skipped(step: str, reason: str = "an earlier step rejected the candidate", **evidence: Any) -> StepVerdict:
    return StepVerdict(step, Outcome.SKIPPED, reason, evidence)


def rejected(step: str, reason: str, **evidence: Any) -> StepVerdict:
    return StepVerdict(step, Outcome.REJECTED, reason, evidence)
