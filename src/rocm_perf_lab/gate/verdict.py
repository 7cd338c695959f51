"""What the gate says: one verdict a step, and the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

MEASUREMENT, APPLICATION, CODE_OBJECT = "measurement", "application", "code object"


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
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """All steps in order. accepted: every step passed or was skipped by the user's choice, and at least one passed.

    adopted: the source as it was judged, to be kept if it is accepted; None where it was not made.
    """

    steps: tuple[StepVerdict, ...]
    adopted: bytes | None = None

    @property
    def rejection(self) -> StepVerdict | None:
        return next((step for step in self.steps if step.outcome is Outcome.REJECTED), None)

    @property
    def accepted(self) -> bool:
        return self.rejection is None and any(step.outcome is Outcome.PASSED for step in self.steps)

    @property
    def ratio(self) -> float | None:
        """candidate / baseline of the kernel's time; None where it was not measured."""
        return self._evidence(MEASUREMENT).get("ratio")

    @property
    def runtime_ms(self) -> tuple[float, float] | None:
        """(baseline, candidate) of the whole program's time on the GPU; None where it was not run."""
        both = self._evidence(APPLICATION).get("runtime_ms")
        return tuple(both) if both is not None else None

    @property
    def program_timing(self) -> tuple[str, str | None] | None:
        """(measured or modelled, the timing parameters' hash) of the whole program; None where it was not run."""
        evidence = self._evidence(APPLICATION)
        return (evidence["timing"], evidence["timing_parameters"]) if "timing" in evidence else None

    @property
    def symbol(self) -> str | None:
        """The kernel's mangled name."""
        return self._evidence(CODE_OBJECT).get("symbol")

    @property
    def counters(self) -> tuple[Mapping[str, Sequence[float]], Sequence[str]]:
        """Of the changed kernel over the whole program: those that moved, [before, after], and the names of the others."""
        evidence = self._evidence(APPLICATION)
        moved, unmoved = evidence.get("counters", {}), evidence.get("unmoved_counters", {})
        return moved.get(self.symbol, {}), unmoved.get(self.symbol, ())

    @property
    def resources(self) -> dict[str, Sequence[int]]:
        """[baseline, candidate] of each resource of the machine code; empty where it was not made."""
        pairs = self._evidence(CODE_OBJECT).items()
        return {name: pair for name, pair in pairs if _is_pair(pair)}

    def document(self) -> dict[str, Any]:
        """For the journal and --json."""
        steps = [asdict(step) | {"outcome": step.outcome.value} for step in self.steps]
        return {"accepted": self.accepted, "steps": steps, "adopted": None if self.adopted is None else _text(self.adopted)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Verdict:
        """Of what document() made, or a journal of an earlier version, which lacks `adopted`."""
        steps = (StepVerdict(s["step"], Outcome(s["outcome"]), s["reason"], s.get("evidence", {})) for s in document["steps"])
        adopted = document.get("adopted")
        return cls(tuple(steps), None if adopted is None else adopted.encode("utf-8", "surrogateescape"))

    def _evidence(self, name: str) -> Mapping[str, Any]:
        return next((step.evidence for step in self.steps if step.step == name), {})


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(number, int) for number in value)


def _text(source: bytes) -> str:
    return source.decode("utf-8", "surrogateescape")


def passed(step: str, reason: str, **evidence: Any) -> StepVerdict:
    return StepVerdict(step, Outcome.PASSED, reason, evidence)


def skipped(step: str, reason: str = "an earlier step rejected the candidate", **evidence: Any) -> StepVerdict:
    return StepVerdict(step, Outcome.SKIPPED, reason, evidence)


def rejected(step: str, reason: str, **evidence: Any) -> StepVerdict:
    return StepVerdict(step, Outcome.REJECTED, reason, evidence)
