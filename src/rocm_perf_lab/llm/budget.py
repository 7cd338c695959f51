"""Tracks the cost of questions and, before a question is sent, checks whether it could exceed the user's limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rocm_perf_lab.errors import UsageError
from rocm_perf_lab.llm.providers import PROVIDERS, Answer, Message
from rocm_perf_lab.prompt import tokens

Number = TypeVar("Number", int, float)

Price = Callable[[int, int], float]
"""(input tokens, output tokens) -> US dollars."""

_SAFETY = 1.25  # tokenisers' counts differ from the estimate by about this factor


class UnsentError(Exception):
    """A question that was not sent. reason: budget, declined or dry run. detail: a sentence that explains why."""

    def __init__(self, reason: str, detail: str):
        super().__init__(reason, detail)
        self.reason, self.detail = reason, detail


def per_million(prices: tuple[float, float]) -> Price:
    """A price with fixed rates. prices: US dollars per million input tokens and per million output tokens."""
    return lambda question, answer: (question * prices[0] + answer * prices[1]) / 1e6


def listed_price(provider: str, endpoint: str, model: str) -> Price | None:
    """The price from the genai-prices table, for hosted services only; None if the table has no price or is not installed."""
    if endpoint != PROVIDERS[provider].hosted:
        return None
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None

    def price(question: int, answer: int) -> float:
        usage = Usage(input_tokens=question, output_tokens=answer)
        return float(calc_price(usage, model_ref=model, provider_id=provider).total_price)

    try:
        price(1, 1)
    except LookupError:
        return None
    return price


@dataclass
class Budget:
    """The cost of a run so far, and the limit on it.

    price: None if not known. max_cost: the limit in US dollars; None for no limit. max_tokens: per answer. spent: US dollars;
    None once a question of unknown cost has been sent.

    Raises UsageError for a limit that cannot be enforced.
    """

    price: Price | None
    max_cost: float | None
    max_tokens: int
    requests: int = 0
    input_tokens: int | None = 0
    output_tokens: int | None = 0
    spent: float | None = 0.0
    _reserved: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        if self.max_cost is not None and self.price is None:
            raise UsageError(
                "the model's price is not known, so --max-cost cannot be enforced", "give it with --price INPUT,OUTPUT"
            )

    def reserve(self, messages: Sequence[Message]) -> float:
        """Reserve and return the question's maximum cost; 0 without a price. Raises UnsentError if the limit is too low."""
        if self.price is None:
            return 0.0
        question = tokens.estimate("".join(message.text for message in messages))
        worst = self.price(int(question * _SAFETY), self.max_tokens)
        with self._lock:
            self._check(worst)
            self._reserved += worst
        return worst

    def check(self) -> None:
        """Check the limit after an unexpected cost. Raises UnsentError if it no longer covers the reserved amount."""
        with self._lock:
            self._check(0.0)

    def _check(self, worst: float) -> None:
        if self.max_cost is not None and self.max_cost - (self.spent or 0.0) - self._reserved < worst:
            raise UnsentError("budget", f"the next question could cost {worst or self._reserved:.4f} US dollars: too much")

    def release(self, reserved: float) -> None:
        """Release the amount reserved for a question that has been paid for, was not sent, or failed."""
        with self._lock:
            self._reserved -= reserved

    def lose(self, reserved: float) -> float | None:
        """Count an interrupted answer as if it had cost the whole reserved amount; the reservation remains for the next
        attempt.
        """
        cost = None if self.price is None else reserved
        self.count(None, None, cost)
        return cost

    def pay(self, answer: Answer | None, reserved: float) -> float | None:
        """Count a question and return its cost; None if not known.

        answer: None if none arrived; the question is then assumed to have cost the whole reserved amount.
        """
        self.release(reserved)
        question, text = (answer.input_tokens, answer.output_tokens) if answer else (None, None)
        if answer is not None and answer.cost is not None:
            cost = answer.cost
        elif self.price is None:
            cost = None
        else:
            cost = reserved if question is None or text is None else self.price(question, text)
        self.count(question, text, cost)
        return cost

    def count(self, question: int | None, text: int | None, cost: float | None) -> None:
        """Add the tokens of a question and its answer, and their cost."""
        with self._lock:
            self.requests += 1
            self.input_tokens = _sum(self.input_tokens, question)
            self.output_tokens = _sum(self.output_tokens, text)
            self.spent = _sum(self.spent, cost)


def _sum(total: Number | None, more: Number | None) -> Number | None:
    return None if total is None or more is None else total + more
