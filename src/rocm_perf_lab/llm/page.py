"""report.html of a run with a model: the optimizer's page, with the answers and their cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocm_perf_lab.llm.llm_optimize_document import AnswerSection, LlmOptimizeDocument
from rocm_perf_lab.optimize import run_page as of_changes


def page(document: LlmOptimizeDocument) -> str:
    """The text of the page."""
    return of_changes.page(document, "llm-optimize", list(_head(document)), [_answer(answer) for answer in document.answers])


def _head(document: LlmOptimizeDocument) -> Iterator[tuple[str, str]]:
    yield "Model", f"{document.model} ({document.provider})"
    tokens, cost = document.tokens, document.cost_usd
    known = tokens.input is not None and tokens.output is not None
    used = f"{tokens.input:,} tokens in, {tokens.output:,} out" if known else "tokens unknown"
    price = "cost unknown" if cost is None else f"{cost:.4f} US dollars"
    yield "Questions", f"{document.requests}: {used}, {price}"
    if document.stopped is not None:
        yield "Ended", document.stopped.detail


def _answer(answer: AnswerSection) -> dict[str, Any]:
    return {
        "iteration": answer.iteration,
        "candidate": answer.candidate,
        "answer": answer.answer,
        "kernel": answer.kernel,
        "outcome": answer.outcome,
        "reason": f"{answer.step}: {answer.reason}" if answer.step else "",
    }
