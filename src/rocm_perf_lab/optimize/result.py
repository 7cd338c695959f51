"""The results of an optimizer run; `document()` returns the document that --json prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

from rocm_perf_lab.gate.verdict import Verdict
from rocm_perf_lab.gate.verdict_document import Timing
from rocm_perf_lab.optimize.counter_changes import explanation, telling_changes
from rocm_perf_lab.optimize.optimize_document import (
    IterationSection,
    MovedCounter,
    OptimizeDocument,
    PassedOverSection,
    ProposalSection,
    RefusalSection,
    SkippedKernelSection,
    UndecidedSection,
)
from rocm_perf_lab.optimize.prediction import Prediction
from rocm_perf_lab.optimize.targets import SkippedTarget
from rocm_perf_lab.optimize.transforms import Proposal, Refusal

Figure = TypeVar("Figure")


@dataclass(frozen=True)
class Candidate:
    """A proposal with the change that it makes to the source. state: the changed source, which may consist of several
    files; see hip_source.source_state.
    """

    proposal: Proposal
    digest: str
    diff: str
    state: bytes
    prediction: Prediction | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class PassedOverProposal:
    """A proposal that was not judged, or whose verdict was not needed, and the reason. kernel: demangled."""

    kernel: str
    description: str
    reason: str


@dataclass(frozen=True)
class JudgedCandidate(Candidate):
    """A candidate with its verdict. state: if accepted, the source to keep, which is what the gate judged, usually
    without #line directives.
    """

    verdict: Verdict

    @property
    def accepted(self) -> bool:
        return self.verdict.accepted

    @property
    def rejection(self) -> str:
        """'step: reason' for the step that rejected the candidate; empty if none did."""
        step = self.verdict.rejection
        return f"{step.step}: {step.reason}" if step else ""

    @property
    def in_words(self) -> str:
        if not self.accepted:
            return f"rejected ({self.rejection})"
        saved = f"{1 - self.ratio:.1%} of the kernel's time saved"
        return f"accepted, {saved}" if self.undecided is None else f"for a GPU to decide: {saved} by the model"

    @property
    def undecided(self) -> str | None:
        """Why the timing model cannot decide whether the candidate is faster on a GPU; None if it can."""
        return self.verdict.undecided

    @property
    def ratio(self) -> float:
        """The candidate / baseline ratio of the kernel's time, as measured by the gate; only for accepted candidates."""
        return _expect_measured(self.verdict.ratio)

    @property
    def runtime_ms(self) -> tuple[float, float]:
        """The whole program's time on the GPU, for the baseline and the candidate; only for accepted candidates."""
        return _expect_measured(self.verdict.runtime_ms)


def _expect_measured(figure: Figure | None) -> Figure:
    """The figure, which the gate has measured for every accepted candidate."""
    if figure is None:
        raise ValueError("the verdict is not an acceptance by measured times")
    return figure


@dataclass(frozen=True)
class UndecidedCandidate:
    """A candidate that only a measurement on a GPU can decide. file: the changed source."""

    kernel: str
    judged: JudgedCandidate
    file: Path


@dataclass(frozen=True)
class Iteration:
    """One accepted change. runtime_ms: the program's time with the change. counters: name -> [before, after], over the whole
    program, for the kernel's counters that changed; the values before it include the changes accepted earlier. unmoved: names
    of the counters that did not change.
    """

    number: int
    kernel: str
    judged: JudgedCandidate
    runtime_ms: float
    counters: Mapping[str, Sequence[float]]
    unmoved: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        return explanation(self.counters, self.unmoved)


@dataclass
class OptimizeResult:
    """The result of a run.

    source: the changed file. written: the result files. timing: measured or modelled. candidates: all proposals, unless the
    gate could not judge any; those without a verdict were passed over or belong to a dry run. stop: why the run ended, in
    words.
    """

    source: Path
    found_by: str
    run: Path
    timing: Timing = "measured"
    timing_parameters: str | None = None
    device: str = ""
    baseline_ms: float | None = None
    dry_run: bool = False
    iterations: list[Iteration] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    undecided: list[UndecidedCandidate] = field(default_factory=list)
    passed_over: list[PassedOverProposal] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    skipped: list[SkippedTarget] = field(default_factory=list)
    written: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    stop: str = ""

    @property
    def accepted(self) -> bool:
        return bool(self.iterations)

    @property
    def final_ms(self) -> float | None:
        return self.iterations[-1].runtime_ms if self.iterations else self.baseline_ms

    @property
    def improvement(self) -> float | None:
        """The fraction of the baseline's GPU time that was saved; None if there are no times."""
        return 1 - self.final_ms / self.baseline_ms if self.baseline_ms and self.final_ms is not None else None

    def document(self) -> OptimizeDocument:
        """The document for --json."""
        return OptimizeDocument(
            source=str(self.source),
            source_found_by=self.found_by,
            run=str(self.run),
            device=self.device,
            timing=self.timing,
            timing_parameters=self.timing_parameters,
            dry_run=self.dry_run,
            accepted=self.accepted,
            baseline_ms=self.baseline_ms,
            final_ms=self.final_ms,
            improvement=self.improvement,
            iterations=[_iteration_section(iteration) for iteration in self.iterations],
            undecided=[_undecided_section(candidate) for candidate in self.undecided],
            proposals=[_proposal_section(candidate) for candidate in self.candidates],
            passed_over=[PassedOverSection(**asdict(proposal)) for proposal in self.passed_over],
            refusals=[RefusalSection(**asdict(refusal)) for refusal in self.refused],
            left_alone=[SkippedKernelSection(**asdict(skipped)) for skipped in self.skipped],
            written=[str(path) for path in self.written],
            notes=self.notes,
            stop=self.stop,
        )


def _iteration_section(iteration: Iteration) -> IterationSection:
    return IterationSection(
        number=iteration.number,
        kernel=iteration.kernel,
        description=iteration.judged.proposal.description,
        runtime_ms=iteration.runtime_ms,
        kernel_time_ratio=iteration.judged.ratio,
        counters=[MovedCounter(**asdict(counter), change=counter.change) for counter in telling_changes(iteration.counters)],
        why=iteration.why,
    )


def _undecided_section(undecided: UndecidedCandidate) -> UndecidedSection:
    return UndecidedSection(
        kernel=undecided.kernel,
        description=undecided.judged.proposal.description,
        kernel_time_ratio=undecided.judged.ratio,
        reason=undecided.judged.undecided or "",
        file=str(undecided.file),
    )


def _proposal_section(candidate: Candidate) -> ProposalSection:
    proposal = candidate.proposal
    return ProposalSection(
        transformation=proposal.transformation,
        kernel=proposal.kernel,
        line=proposal.line,
        description=proposal.description,
        parameters=dict(proposal.parameters),
        diff=candidate.diff,
        predicted_gain=None if candidate.prediction is None else candidate.prediction.kernel,
        verdict=candidate.verdict.document() if isinstance(candidate, JudgedCandidate) else None,
    )
