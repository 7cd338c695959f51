"""The documents that `rocm-perf optimize --json` prints, without and with --history."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, RootModel

from rocm_perf_lab.gate.verdict_document import VerdictDocument
from rocm_perf_lab.json_model import JsonModel, Scalar, Text


class MovedCounter(JsonModel):
    """A counter of the changed kernel, summed over the whole program, before and after the change."""

    counter: str = Field(description="hardware name")
    meaning: str = Field(description="what it counts")
    before: float = Field(description="sum with only the changes accepted earlier")
    after: float = Field(description="sum with this change as well")
    change: float | None = Field(description="after / before - 1; null if before is 0")


class IterationSection(JsonModel):
    """An accepted change."""

    number: int = Field(description="number of the iteration, from 1")
    kernel: Text = Field(description="demangled name")
    description: Text = Field(description="what was changed")
    runtime_ms: float = Field(description="time in the program's kernels with the change, in ms")
    kernel_time_ratio: float = Field(description="candidate / baseline ratio of the kernel's time")
    counters: list[MovedCounter] = Field(description="counters whose change explains the gain, most significant first")
    why: str = Field(description="why the time changed, according to the counters")


class ProposalSection(JsonModel):
    """A proposed change."""

    transformation: str = Field(description="name of the transformation; model for a language model's rewrite")
    kernel: Text = Field(description="name of the kernel in the source")
    line: int = Field(description="line of the source that it concerns")
    description: Text = Field(description="what it changes")
    parameters: dict[str, Scalar] = Field(description="parameters of the transformation, such as its factor")
    diff: Text = Field(description="unified diff of the source")
    predicted_gain: float | None = Field(
        description="upper bound on the share of the kernel's time that it saves, by experiments; null without them"
    )
    verdict: VerdictDocument | None = Field(description="verdict of the gate; null if it was not judged")


class PassedOverSection(JsonModel):
    """A proposal that was not judged, or whose verdict was not needed because it was judged beside a better one."""

    kernel: Text = Field(description="demangled name")
    description: Text = Field(description="what it would change")
    reason: Text = Field(description="why it was not judged, or its verdict not needed")


class UndecidedSection(JsonModel):
    """A change with the same results that is faster according to the timing model, but by less than the model's error for
    differences, or that error is not known.
    """

    kernel: Text = Field(description="demangled name")
    description: Text = Field(description="what it changes")
    kernel_time_ratio: float = Field(description="candidate / baseline ratio of the kernel's time, by the model")
    reason: str = Field(description="why the model cannot decide")
    file: Text = Field(description="the changed source, to be measured on a GPU")


class RefusalSection(JsonModel):
    """A change that could not be proposed safely."""

    transformation: str = Field(description="name of the transformation")
    kernel: Text = Field(description="name of the kernel in the source")
    line: int = Field(description="line of the source that it concerns")
    reason: Text = Field(description="why not")


class SkippedKernelSection(JsonModel):
    """A kernel that was skipped."""

    kernel: Text = Field(description="demangled name")
    reason: Text = Field(description="why it was skipped")


class OptimizeDocument(JsonModel):
    """What was changed, and what the changes gained."""

    source: Text = Field(description="the source file")
    source_found_by: str = Field(description="how the source was found")
    run: Text = Field(description="folder of the run, with its journal")
    device: str = Field(description="product name of the GPU")
    timing: Literal["measured", "modelled"] = Field(description="measured or modelled")
    timing_parameters: str | None = Field(description="identifies the timing model's parameters; null if times are measured")
    dry_run: bool = Field(description="whether --dry-run was given, so that nothing was judged")
    accepted: bool = Field(description="whether a change was kept")
    baseline_ms: float | None = Field(description="time in the program's kernels before, in ms; null if not known")
    final_ms: float | None = Field(description="time in the program's kernels after, in ms; null if not known")
    improvement: float | None = Field(description="1 - final_ms / baseline_ms; null if either is not known")
    iterations: list[IterationSection] = Field(description="one object per accepted change, in order")
    undecided: list[UndecidedSection] = Field(description="changes for a GPU to decide; none with --accept modelled")
    proposals: list[ProposalSection] = Field(description="one object per proposal, in order")
    passed_over: list[PassedOverSection] = Field(
        description="proposals that were not judged, e.g. because they would gain too little or were rejected earlier"
    )
    refusals: list[RefusalSection] = Field(description="changes that could not be proposed safely")
    left_alone: list[SkippedKernelSection] = Field(description="kernels that were skipped")
    stop: str = Field(description="why the run ended, in words")
    written: list[Text] = Field(description="files with the result")
    notes: list[str] = Field(description="other remarks")


class EarlierRun(JsonModel):
    """An earlier run on the program."""

    run: Text = Field(description="folder of the run, with its journal")
    began: str | None = Field(description="when it began, ISO 8601, UTC; null if it ended before recording that")
    source: Text | None = Field(description="the source file; null if the run ended before recording it")
    judged: int = Field(description="number of verdicts")
    accepted: list[Text] = Field(description="descriptions of the accepted changes")
    baseline_ms: float | None = Field(
        description="time in the program's kernels before, in ms; null if the run did not end, or it is not known"
    )
    final_ms: float | None = Field(
        description="time in the program's kernels after, in ms; null if the run did not end, or it is not known"
    )
    timing: Literal["measured", "modelled"] | None = Field(description="measured or modelled; null if the run did not end")
    ended: bool = Field(description="whether the run ended normally")
    stop: str | None = Field(description="why it ended, in words; null if it did not end normally")


class HistoryDocument(RootModel[list[EarlierRun]]):
    """The runs on a program, oldest first."""
