"""What `rocm-perf explain --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.json_model import JsonModel, Text
from rocm_perf_lab.report.schema import FindingSection, SignalSection
from rocm_perf_lab.report.thread_trace_schema import TimeStackSection


class JudgedBy(JsonModel):
    """A number that a cause is judged by."""

    name: str = Field(description="e.g. wait_fraction")
    direction: Literal["at least", "at most"] = Field(description="on which side of the threshold it speaks for the cause")
    threshold: float = Field(description="value from which it does")
    full: float = Field(description="value from which it could not speak more strongly")
    why: str = Field(description="what it then says of the kernel")
    source: str = Field(description="where the threshold comes from")
    rationale: str = Field(description="why it is this threshold")


class TermSection(JsonModel):
    """A cause, a factor, or a number that verdicts are judged by."""

    name: str = Field(description="as reports write it")
    kind: Literal["cause", "factor", "number", "cost"] = Field(description="what it is")
    meaning: str = Field(description="what it means for a kernel")
    applies: str = Field(description="when it applies")
    judged_by: list[JudgedBy] = Field(description="the numbers that it is judged by; empty for a factor")
    advice: list[str] = Field(description="what to try")
    source: str | None = Field(description="where a factor's threshold or a cost comes from; null for other terms")


class OtherCause(JsonModel):
    """A cause that is not the verdict."""

    name: str = Field(description="the cause")
    score: float | None = Field(description="0 to 1; it applies from 0.5; null if the numbers for it are missing")
    missing: str | None = Field(description="the numbers that are missing to rule it out; null if none is")
    evidence: list[SignalSection] = Field(description="its numbers in this kernel")


class KernelExplanation(JsonModel):
    """Why a kernel is slow, with the numbers and thresholds that say so."""

    kernel: Text = Field(description="demangled name")
    cause: str = Field(description="name of the cause, or unknown")
    by: Literal["counters", "experiments"] = Field(description="what the verdict is by, as in analysis.json")
    certainty: Literal["high", "medium", "low"] = Field(description="as in analysis.json")
    why: str = Field(description="explanation in words")
    meaning: str | None = Field(description="what such a cause means; null if it is unknown")
    evidence: list[SignalSection] = Field(description="the numbers that show the cause, strongest first")
    factors: list[FindingSection] = Field(description="conditions that explain the cause or add detail")
    others: list[OtherCause] = Field(description="the other causes, and how close they come; empty by experiments")
    advice: list[str] = Field(description="what to try, the most specific first")
    time_stack: TimeStackSection | None = Field(description="as in analysis.json; null if no experiments were made with it")
    waits_for_line: Text | None = Field(description="source line whose accesses waves wait for longest; null if not traced")


class CaptureExplanation(JsonModel):
    """What the time of a captured dispatch is spent on, by experiments with its replay on the software device."""

    kernel: Text = Field(description="demangled name")
    recorded_ns: int = Field(description="time of the captured dispatch itself")
    recorded_timing: Literal["measured", "modelled"] = Field(description="where that time is from")
    time_stack: TimeStackSection = Field(description="of the replay, from cold caches; its times are modelled")
    model_within: float | None = Field(description="error of the model for such kernels, four times of five; null if not known")
    beyond_error: bool | None = Field(
        description="whether a measured time differs from the model by more than that; null if it cannot be said"
    )


class ExplainDocument(JsonModel):
    """Terms of the reports, the verdicts of a run, or experiments with a capture."""

    terms: list[TermSection] = Field(description="what was asked for; empty for a run or a capture")
    kernels: list[KernelExplanation] = Field(description="the run's kernels; empty unless a run was given")
    capture: CaptureExplanation | None = Field(default=None, description="null unless a capture was given")
