"""One question to the model: shown to the user first, journalled before it is sent, and answered from the journal if the
answer is already there.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rocm_perf_lab.errors import JournalDiffersError, LanguageModelError
from rocm_perf_lab.llm.budget import Budget, UnsentError
from rocm_perf_lab.llm.journal_lines import (
    FailureLine,
    MessageSection,
    ModelAnswer,
    Question,
    RequestLine,
    ResponseLine,
    UnsentLine,
)
from rocm_perf_lab.llm.providers import Answer, Message, Provider
from rocm_perf_lab.llm.providers.protocol import AnswerTooLongError, TransientError
from rocm_perf_lab.llm.providers.retry import patiently
from rocm_perf_lab.llm.redact import Redactor
from rocm_perf_lab.llm.replay_cache import ReplayCache
from rocm_perf_lab.optimize.journal import Journal

_PROGRESS_SECONDS = 5.0

Consent = Callable[[str, Sequence[Message]], None]
"""(place, messages): shows the user what would be sent. Raises UnsentError if the user declines."""


@dataclass(frozen=True)
class Reply:
    """The model's answer to a question.

    complaint: why the answer cannot be used as received (too long, cut off); empty if it can.
    """

    text: str
    complaint: str = ""


class Asker:
    """Asks the questions of a run. provider: None if the journal must contain every answer."""

    def __init__(
        self,
        provider: Provider | None,
        journal: Journal,
        cache: ReplayCache,
        budget: Budget,
        redactor: Redactor,
        consent: Consent,
        note: Callable[[str], None],
    ):
        self._provider, self._journal, self._cache, self._budget = provider, journal, cache, budget
        self._redactor, self._consent = redactor, consent
        self._note = lambda text: note(redactor.keys(text))

    def ask(self, asked: Question, messages: Sequence[Message]) -> Reply:
        """Ask a question, or recall its answer from the journal.

        asked: identifies the question within the run.

        Raises LanguageModelError, UnsentError, JournalDiffersError.
        """
        known = self._cache.knows(ResponseLine, asked)
        if not known and self._provider is None:
            raise self._recorded_failure(asked)

        def sent() -> ModelAnswer:
            if self._provider is None:
                raise self._recorded_failure(asked)
            return self._send(self._provider, asked, messages)

        answer = self._cache.recall(ResponseLine, asked, sent)
        if self._provider is None and answer.question != _digest(messages):
            raise JournalDiffersError(
                "a question differs from the journal's", "the run or the version of rocm-perf was different"
            )
        if known:
            for cost in answer.lost:
                self._budget.count(None, None, cost)
            self._budget.count(answer.input_tokens, answer.output_tokens, answer.paid)
        return Reply(answer.text, answer.complaint)

    def _send(self, provider: Provider, asked: Question, messages: Sequence[Message]) -> ModelAnswer:
        """Ask the provider, and return the answer in the form that is stored in the journal."""
        lost: list[float | None] = []
        try:
            reserved = self._reserve_cost(provider, messages)
            sections = [MessageSection(role=message.role, text=message.text) for message in messages]
            self._journal.append(RequestLine(question=asked, place=provider.endpoint, messages=sections))
            answer, complaint = self._ask_provider(provider, messages, reserved, lost)
        except UnsentError as error:
            self._journal.append(UnsentLine(question=asked, reason=error.reason, detail=error.detail))
            raise
        except LanguageModelError as error:
            shown = LanguageModelError(self._redactor.keys(error.problem), error.hint)
            self._journal.append(FailureLine(question=asked, what=shown.problem, hint=shown.hint))
            raise shown from None
        return ModelAnswer(
            question=_digest(messages),
            text=self._redactor.keys(answer.text) if answer else "",
            complaint=complaint,
            model=answer.model if answer else None,
            input_tokens=answer.input_tokens if answer else None,
            output_tokens=answer.output_tokens if answer else None,
            paid=self._budget.pay(answer, reserved),
            lost=lost,
        )

    def _reserve_cost(self, provider: Provider, messages: Sequence[Message]) -> float:
        """Reserve the maximum cost of the question. Raises UnsentError if the budget or the user does not allow it."""
        reserved = self._budget.reserve(messages)
        try:
            self._consent(provider.endpoint, messages)
        except BaseException:
            self._budget.release(reserved)
            raise
        return reserved

    def _ask_provider(
        self, provider: Provider, messages: Sequence[Message], reserved: float, lost: list[float | None]
    ) -> tuple[Answer | None, str]:
        """The answer, and why it cannot be used as received (empty if it can). The answer is None if it is too long.

        reserved: the reserved amount, which is released if asking fails.
        """
        try:
            answer = self._ask_with_retries(provider, messages, reserved, lost)
        except AnswerTooLongError as error:
            return None, error.what
        except (UnsentError, LanguageModelError):
            self._budget.release(reserved)
            raise
        return answer, "" if answer.complete else "the answer was cut off at the length limit: give a shorter one"

    def _ask_with_retries(
        self, provider: Provider, messages: Sequence[Message], reserved: float, lost: list[float | None]
    ) -> Answer:
        """Ask the provider, with retries.

        lost: receives the cost of each interrupted answer, because the part that was generated may have to be paid for.
        """
        progress = _Progress(self._note)

        def once() -> Answer:
            try:
                return provider.ask(messages, progress)
            except TransientError as error:
                if error.begun:
                    lost.append(self._budget.lose(reserved))
                    self._budget.check()
                raise

        return patiently(once, provider.endpoint, self._note)

    def _recorded_failure(self, asked: Question) -> Exception:
        """The error for a question that has no answer in the journal: the failure recorded in its place, if there is one."""
        for line in self._journal.of_any(FailureLine, UnsentLine):
            if isinstance(line, FailureLine) and line.question == asked:
                return LanguageModelError(line.what, line.hint)
            if isinstance(line, UnsentLine) and line.question == asked:
                return UnsentError(line.reason, line.detail)
        return JournalDiffersError(
            "the journal has no answer to a question", "the run or the version of rocm-perf was different"
        )


class _Progress:
    """Reports every few seconds how much of the answer has arrived."""

    def __init__(self, note: Callable[[str], None]):
        self._note, self._next = note, time.monotonic() + _PROGRESS_SECONDS

    def __call__(self, characters: int) -> None:
        if time.monotonic() >= self._next:
            self._note(f"  {characters:,} characters of the answer so far")
            self._next = time.monotonic() + _PROGRESS_SECONDS


def _digest(messages: Sequence[Message]) -> str:
    return hashlib.sha256(json.dumps([asdict(message) for message in messages]).encode()).hexdigest()
