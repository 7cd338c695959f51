"""The document that `rocm-perf explain --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.json_model import JsonModel, Text
from rocm_perf_lab.report.schema import FindingSection, SignalSection
from rocm_perf_lab.report.thread_trace_schema import TimeStackSection


class JudgedBy(JsonModel):
    """A number by which a class is judged."""

    name: str = Field(description="e.g. wait_fraction")
    direction: Literal["at least", "at most"] = Field(description="on which side of the threshold it indicates the class")
    threshold: float = Field(description="value from which it indicates the class")
    full: float = Field(description="value from which the indication cannot become stronger")
    why: str = Field(description="what it then shows about the kernel")
    source: str = Field(description="where the threshold comes from")
    rationale: str = Field(description="why it is this threshold")


class TermSection(JsonModel):
    """A class, a factor, a cause, or a number by which classes are judged."""

    name: str = Field(description="name as used in reports")
    kind: Literal["class", "factor", "number", "cause"] = Field(description="what it is")
    meaning: str = Field(description="what it means for a kernel")
    applies: str = Field(description="when it applies")
    judged_by: list[JudgedBy] = Field(description="the numbers by which it is judged; empty for a factor")
    advice: list[str] = Field(description="what to try")
    source: str | None = Field(description="where a factor's threshold or a cause comes from; null for other terms")


class OtherCause(JsonModel):
    """A cause that is not the verdict."""

    name: str = Field(description="the cause")
    score: float | None = Field(description="0 to 1; it applies from 0.5; null if the numbers for it are missing")
    missing: str | None = Field(description="the numbers that are needed to rule it out but missing; null if none is missing")
    evidence: list[SignalSection] = Field(description="its numbers in this kernel")


class KernelExplanation(JsonModel):
    """Why a kernel is slow, with the numbers and thresholds that show it."""

    kernel: Text = Field(description="demangled name")
    cause: str = Field(description="name of the cause, or unknown")
    by: Literal["counters", "experiments"] = Field(description="the basis of the verdict, as in analysis.json")
    certainty: Literal["high", "medium", "low"] = Field(description="as in analysis.json")
    why: str = Field(description="explanation in words")
    meaning: str | None = Field(description="what such a cause means; null if it is unknown")
    evidence: list[SignalSection] = Field(description="the numbers that show the cause, strongest first")
    factors: list[FindingSection] = Field(description="conditions that explain the cause or add detail")
    others: list[OtherCause] = Field(description="the other causes, and how close they come; empty for verdicts by experiments")
    advice: list[str] = Field(description="what to try, the most specific first")
    time_stack: TimeStackSection | None = Field(description="as in analysis.json; null without experiments")
    waits_for_line: Text | None = Field(description="source line for whose accesses waves wait longest; null if not traced")


class CaptureExplanation(JsonModel):
    """What a captured dispatch's time is spent on, according to experiments with its replay on the software device."""

    kernel: Text = Field(description="demangled name")
    recorded_ns: int = Field(description="time of the captured dispatch itself")
    recorded_timing: Literal["measured", "modelled"] = Field(description="origin of that time")
    time_stack: TimeStackSection = Field(description="the replay's time stack, from cold caches; its times are modelled")
    model_within: float | None = Field(description="model's error for such kernels, in four of five cases; null if not known")
    beyond_error: bool | None = Field(
        description="whether a measured time differs from the model by more than that error; null if that cannot be determined"
    )


class ExplainDocument(JsonModel):
    """Terms used in reports, a run's verdicts, or experiments with a capture."""

    terms: list[TermSection] = Field(description="the requested terms; empty for a run or a capture")
    kernels: list[KernelExplanation] = Field(description="the run's kernels; empty unless a run was given")
    capture: CaptureExplanation | None = Field(default=None, description="null unless a capture was given")
