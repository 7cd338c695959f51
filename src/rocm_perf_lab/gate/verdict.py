"""The gate's result: one verdict per step, and the overall verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from rocm_perf_lab.analysis.model_error import error_for_differences
from rocm_perf_lab.gate.verdict_document import (
    ApplicationEvidence,
    CodeObjectEvidence,
    EquivalenceEvidence,
    FileText,
    MeasurementEvidence,
    Pair,
    StepEvidence,
    StepSection,
    VerdictDocument,
)
from rocm_perf_lab.hip_source.source_state import join_state, split_state
from rocm_perf_lab.text.escaping import visible

Kind = TypeVar("Kind", bound=StepEvidence)


class StepOutcome(str, Enum):
    PASSED = "passed"
    REJECTED = "rejected"
    SKIPPED = "skipped"  # another step rejected the candidate, or the step was not asked for


@dataclass(frozen=True)
class StepVerdict:
    """One step's outcome. reason: one sentence; "it" is the candidate or its kernel. evidence: the basis for the outcome."""

    step: str
    outcome: StepOutcome
    reason: str
    evidence: StepEvidence = field(default_factory=StepEvidence)


@dataclass(frozen=True)
class Verdict:
    """All steps in order. accepted: every step passed or was skipped by choice of the user or the caller, and at least one
    passed.

    adopted: the source to keep if the candidate is accepted, as a state (see hip_source.source_state); it compiles to the
    judged code. None if no source was produced.
    """

    steps: tuple[StepVerdict, ...]
    adopted: bytes | None = None

    @property
    def rejection(self) -> StepVerdict | None:
        return next((step for step in self.steps if step.outcome is StepOutcome.REJECTED), None)

    @property
    def accepted(self) -> bool:
        return self.rejection is None and any(step.outcome is StepOutcome.PASSED for step in self.steps)

    @property
    def ratio(self) -> float | None:
        """The kernel's time, candidate / baseline; None if it was not measured."""
        return self._evidence(MeasurementEvidence).ratio

    @property
    def ratio_on_captured_inputs(self) -> float | None:
        """The kernel's time on the captured inputs, candidate / baseline; None if it was not measured."""
        return self._evidence(MeasurementEvidence).ratio_on_captured_inputs

    @property
    def runtime_ms(self) -> tuple[float, float] | None:
        """The whole program's time on the GPU, as (baseline, candidate); None if the program was not run."""
        return self._evidence(ApplicationEvidence).runtime_ms

    @property
    def kernel_ms(self) -> tuple[float, float] | None:
        """The mean time of the kernel's dispatches in the program, as (baseline, candidate); None if it was not observed."""
        return self._evidence(ApplicationEvidence).kernel_ms

    @property
    def program_timing(self) -> tuple[str, str | None] | None:
        """(measured or modelled, hash of the timing parameters) for the whole program; None if it was not run."""
        evidence = self._evidence(ApplicationEvidence)
        return None if evidence.timing is None else (evidence.timing, evidence.timing_parameters)

    @property
    def undecided(self) -> str | None:
        """Why an accepted candidate's gain may not exist on a GPU: it is within the timing model's error for differences, or
        that error is not known. None if the gain exceeds the error or was measured, or if the candidate is not accepted.
        """
        timing = self.program_timing
        if not self.accepted or self.ratio is None or timing is None or timing[0] != "modelled":
            return None
        error = error_for_differences(timing[1])
        if isinstance(error, str):
            return f"it is not known how far the model's differences are off: {error}"
        if self.ratio * (1 + error) < 1:
            return None
        needed = 1 - 1 / (1 + error)
        off = f"the differences that it predicts between variants are off by up to {error:.0%}"
        return f"the model can confirm only gains of {needed:.0%} or more, because {off}"

    @property
    def symbol(self) -> str | None:
        """The kernel's mangled name."""
        return self._evidence(CodeObjectEvidence).symbol

    @property
    def counters(self) -> tuple[Mapping[str, Sequence[float]], Sequence[str]]:
        """Counters of the changed kernel over the whole program: those that changed, as [before, after], and the names of the
        others.
        """
        evidence, symbol = self._evidence(ApplicationEvidence), self.symbol or ""
        return (evidence.counters or {}).get(symbol, {}), (evidence.unmoved_counters or {}).get(symbol, ())

    @property
    def resources(self) -> dict[str, Pair]:
        """Each resource of the machine code as [baseline, candidate]; empty if none is known."""
        return self._evidence(CodeObjectEvidence).resources

    @property
    def unproven(self) -> tuple[str, ...]:
        """The gaps in the judgement, in words."""
        return tuple(self._evidence(EquivalenceEvidence).unproven or ())

    def with_unproven(self, more: Sequence[str]) -> Verdict:
        """The same verdict with additional gaps in the judgement; unchanged if the equivalence step rejected the candidate or
        was not reached.
        """
        return replace(self, steps=tuple(_with_unproven(step, more) for step in self.steps)) if more else self

    def document(self) -> VerdictDocument:
        """The document for the journal and --json."""
        steps = [
            StepSection(step=step.step, outcome=step.outcome.value, reason=step.reason, evidence=step.evidence)
            for step in self.steps
        ]
        own_text, other_texts = (None, {}) if self.adopted is None else split_state(self.adopted)
        return VerdictDocument(
            accepted=self.accepted,
            undecided=self.undecided,
            steps=steps,
            adopted=None if own_text is None else _text(own_text),
            adopted_elsewhere=[FileText(file=str(path), text=_text(text)) for path, text in other_texts.items()],
        )

    @classmethod
    def from_document(cls, document: VerdictDocument) -> Verdict:
        """The inverse of document()."""
        steps = (StepVerdict(step.step, StepOutcome(step.outcome), step.reason, step.evidence) for step in document.steps)
        if document.adopted is None:
            return cls(tuple(steps))
        other_texts = {Path(file.file): _bytes(file.text) for file in document.adopted_elsewhere}
        return cls(tuple(steps), join_state(_bytes(document.adopted), other_texts))

    def _evidence(self, kind: type[Kind]) -> Kind:
        """The first evidence of this kind among the steps; empty if there is none."""
        return next((step.evidence for step in self.steps if isinstance(step.evidence, kind)), kind())


def _with_unproven(step: StepVerdict, more: Sequence[str]) -> StepVerdict:
    evidence = step.evidence
    if not isinstance(evidence, EquivalenceEvidence) or step.outcome is StepOutcome.REJECTED:
        return step
    separator = ", " if evidence.unproven else "; unproven: "
    unproven = [*(evidence.unproven or ()), *more]
    return replace(
        step, reason=step.reason + separator + ", ".join(more), evidence=evidence.model_copy(update={"unproven": unproven})
    )


def _text(source: bytes) -> str:
    return source.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def passed(step: str, reason: str, evidence: StepEvidence | None = None) -> StepVerdict:
    return StepVerdict(step, StepOutcome.PASSED, visible(reason, "\n"), evidence or StepEvidence())


def skipped(
    step: str, reason: str = "an earlier step rejected the candidate", evidence: StepEvidence | None = None
) -> StepVerdict:
    return StepVerdict(step, StepOutcome.SKIPPED, reason, evidence or StepEvidence())


def rejected(step: str, reason: str, evidence: StepEvidence | None = None) -> StepVerdict:
    return StepVerdict(step, StepOutcome.REJECTED, visible(reason, "\n"), evidence or StepEvidence())
