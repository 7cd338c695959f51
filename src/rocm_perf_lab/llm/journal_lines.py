"""The lines that a run with a language model adds to its journal."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from rocm_perf_lab.gate.verdict_document import Timing
from rocm_perf_lab.json_model import JsonModel, Text
from rocm_perf_lab.optimize.journal_lines import Line, SkippedKernel
from rocm_perf_lab.optimize.source_settings import UnitSettings

Asked = TypeVar("Asked", bound=JsonModel)
AnswerT = TypeVar("AnswerT")


class SourceKey(JsonModel):
    """source: its digest."""

    source: str


class KernelKey(JsonModel):
    """source: the digest of the source. kernel: the kernel's demangled name."""

    source: str
    kernel: Text


class RoundKey(KernelKey):
    round: int


class Question(JsonModel):
    """Identifies a question within the run."""

    iteration: int
    source: str
    kernel: Text
    candidate: int
    answer: int


class LoopSettings(JsonModel):
    """Like llm.loop.LlmLoopOptions."""

    max_iterations: int
    candidates: int
    workers: int
    chosen: bool
    ulps: int


class SettingsLine(Line):
    """The settings that a replay needs."""

    event: Literal["settings"] = "settings"
    source: Text
    language: str = "hip"  # missing from journals written by versions that supported only HIP
    found_by: str
    build: list[Text]
    folder: Text
    main: Text
    units: list[UnitSettings]
    name: Text
    provider: str
    model: Text
    in_place: bool
    accept_modelled: bool = True  # missing from journals written by versions that accepted every gain
    loop: LoopSettings


class RememberedLine(Line, Generic[Asked, AnswerT]):
    """A question to the backend or the model, and the answer."""

    asked: Asked
    answer: AnswerT


class RememberedTarget(JsonModel):
    """Like optimize.targets.Target. waited_cycles: (line, cycles) pairs."""

    kernel: Text
    demangled: Text
    dispatches: int
    time_ms: float | None
    share: float | None
    headroom: float | None
    priority: float | None
    bottleneck: str
    waited_cycles: list[tuple[int, int]]
    siblings: list[RememberedTarget]


class RememberedProfile(JsonModel):
    """Like optimize.backend.ProfileSummary, without its documents."""

    runtime_ms: float | None
    timing: Timing
    timing_parameters: str | None
    device: str
    targets: list[RememberedTarget]
    left: list[SkippedKernel]
    documents: None = None
    dominant: Text | None
    fraction: float | None


class SurveyLine(RememberedLine[SourceKey, RememberedProfile]):
    """The profile of a source, complete enough to repeat the run's decisions; a ProfileLine is its short form."""

    event: Literal["survey"] = "survey"


class ContextLine(RememberedLine[RoundKey, Text]):
    """What the model is told about a kernel at the beginning of a round."""

    event: Literal["context"] = "context"


class SyntaxLine(RememberedLine[SourceKey, Text | None]):
    """The compiler's complaint about a source, or null."""

    event: Literal["syntax"] = "syntax"


class ObstacleLine(RememberedLine[KernelKey, Text]):
    """Why no candidate for a kernel can be judged; not written if there is no such reason."""

    event: Literal["obstacle"] = "obstacle"


class ModelAnswer(JsonModel):
    """question: digest of the messages. paid, lost: US dollars; null if not known."""

    question: str
    text: Text
    complaint: Text
    model: Text | None
    input_tokens: int | None
    output_tokens: int | None
    paid: float | None
    lost: list[float | None]


class ResponseLine(RememberedLine[Question, ModelAnswer]):
    event: Literal["response"] = "response"


class MessageSection(JsonModel):
    role: str
    text: Text


class RequestLine(Line):
    event: Literal["request"] = "request"
    question: Question
    place: Text
    messages: list[MessageSection]


class UnsentLine(Line):
    event: Literal["unsent"] = "unsent"
    question: Question
    reason: str
    detail: Text


class FailureLine(Line):
    event: Literal["failure"] = "failure"
    question: Question
    what: Text
    hint: Text


class AttemptLine(Line):
    """step, reason: where and why an answer was rejected; empty if it was accepted."""

    event: Literal["attempt"] = "attempt"
    question: Question
    step: str
    reason: Text


class StopLine(Line):
    event: Literal["stop"] = "stop"
    reason: str
    detail: Text
