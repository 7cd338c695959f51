"""The results of a run with a model: the optimizer's outcome, the questions and answers, and their cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from rocm_perf_lab.llm.budget import Budget
from rocm_perf_lab.llm.candidate import ANSWER, COMPILE, Attempt
from rocm_perf_lab.llm.kernel_scheduler import StopReason
from rocm_perf_lab.llm.llm_optimize_document import AnswerSection, LlmOptimizeDocument, StopSection, TokensSection
from rocm_perf_lab.optimize.result import OptimizeResult

BEFORE_THE_GATE = (ANSWER, COMPILE)


@dataclass
class LlmOptimizeResult:
    """The outcome of a run with a model. optimized: the optimizer's own result. stop: why the loop ended."""

    optimized: OptimizeResult
    budget: Budget
    provider: str = ""
    model: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    stop: StopReason | None = None

    @property
    def unusable(self) -> bool:
        """Whether there were answers, but none that could be judged."""
        return bool(self.attempts) and all(attempt.step in BEFORE_THE_GATE for attempt in self.attempts)

    def document(self) -> LlmOptimizeDocument:
        """The document for --json."""
        budget = self.budget
        reasons = {}
        if budget.spent is None:
            reasons["cost_usd"] = "the model's price is not known (give it with --price)"
        if budget.input_tokens is None or budget.output_tokens is None:
            reasons["tokens"] = "an answer did not report its number of tokens, or did not arrive"
        return LlmOptimizeDocument(
            **dict(self.optimized.document()),
            provider=self.provider,
            model=self.model,
            stopped=None if self.stop is None else StopSection(reason=self.stop.reason, detail=self.stop.detail),
            requests=budget.requests,
            tokens=TokensSection(input=budget.input_tokens, output=budget.output_tokens),
            cost_usd=budget.spent,
            reasons=reasons,
            answers=[_attempt(attempt) for attempt in self.attempts],
        )


def _attempt(attempt: Attempt) -> AnswerSection:
    return AnswerSection(
        iteration=attempt.iteration,
        kernel=attempt.kernel,
        candidate=attempt.candidate,
        answer=attempt.number,
        outcome="rejected" if attempt.step else "accepted",
        step=attempt.step or None,
        reason=attempt.reason or None,
    )
