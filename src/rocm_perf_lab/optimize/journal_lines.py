"""The kinds of lines in a run's journal, one model for each; llm.journal_lines has the kinds that only runs with a language
model write.
"""

from __future__ import annotations

from typing import Literal

from rocm_perf_lab.gate.verdict_document import Timing, VerdictDocument
from rocm_perf_lab.json_model import TOLERANT, JsonModel, Text
from rocm_perf_lab.optimize.remeasure_document import RemeasuredSection


class Line(JsonModel):
    """event: what happened. Texts may contain arbitrary bytes; digests are made by source_file.digest()."""

    model_config = TOLERANT

    event: str


class BackupLine(Line):
    """The original source was saved."""

    event: Literal["backup"] = "backup"
    source: Text
    digest: str


class BeginLine(Line):
    """command: the rocm-perf command. time: ISO 8601, UTC."""

    event: Literal["begin"] = "begin"
    command: str = "optimize"
    time: str
    source: Text
    digest: str


class ProgramLine(Line):
    """The settings needed to rebuild and rerun the program, that is, the build target (not the kernel). folder: where the run
    was started. program: as on the command line. source: the file to change. build: as given, null if it was found.
    """

    event: Literal["target"] = "target"
    folder: Text
    program: list[Text]
    source: Text
    build: Text | None
    check: list[Text]


class ResumeLine(Line):
    event: Literal["resume"] = "resume"


class BuildLine(Line):
    """status: the compiler's exit status. log: the end of its output."""

    event: Literal["build"] = "build"
    command: list[Text]
    status: int
    seconds: float
    log: Text


class BuildRepeatsLine(Line):
    """same: whether building twice gives the same code object."""

    event: Literal["build repeats"] = "build repeats"
    same: bool


class ProfiledKernel(JsonModel):
    kernel: Text
    why: Text


class SkippedKernel(JsonModel):
    kernel: Text
    reason: Text


class ProfileLine(Line):
    """source: digest of the profiled source. runtime_ms: time in the program's kernels; null if not known."""

    event: Literal["profile"] = "profile"
    source: str
    runtime_ms: float | None
    timing: Timing
    timing_parameters: str | None
    kernels: list[ProfiledKernel]
    left_alone: list[SkippedKernel]


class GateLine(Line):
    """The gate's settings."""

    event: Literal["gate"] = "gate"
    kernel: Text
    level: str
    seed: int
    race_seeds: list[int]
    measurement_seed: int
    max_regression: dict[str, float]
    cage: str


class ApplicationBaselineLine(Line):
    """source: digest of the source with which candidates are compared. runtimes_ms: the times of its runs."""

    event: Literal["application baseline"] = "application baseline"
    source: str
    runtimes_ms: list[float]
    stdout_repeats: bool


class CaptureLine(Line):
    event: Literal["capture"] = "capture"
    kernel: Text
    dispatch: int
    gpu_time_ns: int
    arguments: list[Text]


class ProposalLine(Line):
    """candidate: digest of the changed source."""

    event: Literal["proposal"] = "proposal"
    candidate: str
    description: Text
    kernel: Text
    diff: Text = ""


class OutcomeLine(Line):
    """The savings of a proposal, as predicted by experiments and as measured by the gate. *_kernel: shares of the kernel's
    time. predicted_program: a share of the GPU's span. measured_program: a share of the time in all kernels. The predictions
    are null without experiments. at_most_kernel: an upper bound. measured_*: null if no time was measured.
    """

    event: Literal["outcome"] = "outcome"
    candidate: str
    kernel: Text
    description: Text
    transformation: str
    causes: list[str]
    at_most_kernel: float | None
    predicted_kernel: float | None
    predicted_program: float | None
    measured_kernel: float | None
    measured_program: float | None
    accepted: bool


class PassedOverLine(Line):
    """A proposal that was not judged, or whose verdict was not needed because it was judged beside a better one."""

    event: Literal["passed over"] = "passed over"
    kernel: Text
    description: Text
    reason: Text


class VerdictLine(Line):
    """baseline, candidate: digests."""

    event: Literal["verdict"] = "verdict"
    baseline: str
    candidate: str
    verdict: VerdictDocument


class UserAnswerLine(Line):
    """The user's answer to whether to keep an accepted candidate."""

    event: Literal["answer"] = "answer"
    candidate: str
    kept: bool


class AcceptedLine(Line):
    """file: path of the source with the change. runtime_ms: the program's time with the change."""

    event: Literal["accepted"] = "accepted"
    iteration: int
    kernel: Text
    description: Text
    candidate: str
    file: Text
    runtime_ms: float


class UndecidedLine(Line):
    """A candidate on which the timing model cannot decide. file: path of the source with the change."""

    event: Literal["undecided"] = "undecided"
    kernel: Text
    candidate: str
    reason: str
    file: Text


class RemeasuredLine(Line):
    """An accepted change, remeasured. candidate: its digest. device: product name."""

    event: Literal["remeasured"] = "remeasured"
    candidate: str
    timing: Timing
    timing_parameters: str | None
    device: str
    rounds: int
    change: RemeasuredSection


class SkippedLine(Line):
    event: Literal["left alone"] = "left alone"
    kernel: Text
    reason: Text


class PutLine(Line):
    """The contents of one of the user's sources are replaced. before: a file with the previous contents, if other sources are
    replaced after this one.
    """

    event: Literal["put"] = "put"
    digest: str
    why: str
    source: Text | None = None
    before: Text | None = None


class EndLine(Line):
    event: Literal["end"] = "end"
    accepted: bool
    baseline_ms: float | None
    final_ms: float | None
    timing: Timing
    stop: str = ""
    written: list[Text]
