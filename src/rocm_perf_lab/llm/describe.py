"""The report of a run with a model, as lines of text."""

from __future__ import annotations

from collections.abc import Callable

from rocm_perf_lab.llm.result import LlmOptimizeResult
from rocm_perf_lab.optimize.describe import describe as describe_changes


def describe(outcome: LlmOptimizeResult, say: Callable[[str], None]) -> None:
    """Print the result of each answer, the number of questions and their cost, why the loop stopped, and the optimizer's
    report.
    """
    for attempt in outcome.attempts:
        how = f"not kept, {attempt.step}: {attempt.reason}" if attempt.step else "accepted by the gate"
        say(f"Iteration {attempt.iteration}, candidate {attempt.candidate}, answer {attempt.number}: {how}")
    budget = outcome.budget
    cost = "cost unknown" if budget.spent is None else f"{budget.spent:.4f} US dollars"
    tokens = (
        "tokens unknown"
        if budget.input_tokens is None or budget.output_tokens is None
        else f"{budget.input_tokens:,} tokens in, {budget.output_tokens:,} out"
    )
    say(f"Asked {outcome.model} {budget.requests} times: {tokens}, {cost}")
    if outcome.stop is not None:
        say(f"Stopped ({outcome.stop.reason}): {outcome.stop.detail}")
    describe_changes(outcome.optimized, say, stop=False)
