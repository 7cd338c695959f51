"""What `rocm-perf llm-optimize --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rocm_perf_lab.json_model import JsonModel, Text
from rocm_perf_lab.optimize.optimize_document import OptimizeDocument


class StopSection(JsonModel):
    """Why the loop ended."""

    reason: str = Field(description="one or two words")
    detail: Text = Field(description="one sentence")


class TokensSection(JsonModel):
    """Tokens of all questions and answers."""

    input: int | None = Field(description="tokens of the questions; null if not known")
    output: int | None = Field(description="tokens of the answers; null if not known")


class AnswerSection(JsonModel):
    """One answer of the model."""

    iteration: int = Field(description="number of the iteration, from 1")
    kernel: Text = Field(description="demangled name")
    candidate: int = Field(description="number of the candidate within the iteration, from 1")
    answer: int = Field(description="number of the answer within the candidate, from 1")
    outcome: Literal["accepted", "rejected"] = Field(description="outcome of the answer")
    step: str | None = Field(description="step that rejected it: answer, compile, or one of the gate's; null if accepted")
    reason: Text | None = Field(description="why it was rejected; null if accepted")


class LlmOptimizeDocument(OptimizeDocument):
    """What was changed, and which questions were asked at what cost."""

    provider: str = Field(description="openai, anthropic or command")
    model: Text = Field(description="the model that was asked")
    stopped: StopSection | None = Field(description="why the loop ended; null if nothing was sent")
    requests: int = Field(description="number of questions that were sent")
    tokens: TokensSection = Field(description="input and output tokens")
    cost_usd: float | None = Field(description="cost at the model's price, in US dollars; null if not known")
    reasons: dict[str, str] = Field(description="field -> why it is null")
    answers: list[AnswerSection] = Field(description="one object per answer")
