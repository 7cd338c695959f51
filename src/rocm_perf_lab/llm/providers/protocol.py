"""What every provider implements: one conversation in, one answer out, within limits on time and size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

MAX_ANSWER_LENGTH = 256 * 1024  # characters; a longer answer is cut off while it arrives
MAX_BYTES = 64 << 20  # per HTTP response: each character may be wrapped in hundreds of bytes of JSON
MAX_LINE_BYTES = 4 << 20  # the SDKs keep a line in memory until its line break arrives

Progress = Callable[[int], None]
"""Receives the number of characters that have arrived so far."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation. role: system, user or assistant."""

    role: str
    text: str


@dataclass(frozen=True)
class Answer:
    """A provider's answer.

    model: the name that the other side reports. input_tokens, output_tokens: as counted by the other side; None if it does not
    report them. cost: US dollars, if reported. complete: False if the answer was cut off at a length limit.
    """

    text: str
    model: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    complete: bool = True


@dataclass(frozen=True)
class ModelOptions:
    """The model to ask, and how. name: the model, or the `command` provider's program. timeout: for an answer, in seconds.

    price: US dollars per million input and per million output tokens; None for the listed price.
    """

    provider: str
    name: str
    base_url: str | None = None
    temperature: float = 0.2
    max_tokens: int = 16384
    timeout: float = 600.0
    price: tuple[float, float] | None = None
    max_cost: float | None = None


class TransientError(Exception):
    """A failure that may not happen again. what: what happened. retry_after: how many seconds the server asks the client to
    wait, if it says so.

    begun: whether an answer had begun to arrive; it may have to be paid for.
    """

    def __init__(self, what: str, retry_after: float | None = None):
        super().__init__(what)
        self.what, self.retry_after, self.begun = what, retry_after, False


class AnswerTooLongError(Exception):
    """The answer was cut off or refused. what: the limit that it exceeded, or why it was refused."""

    def __init__(self, what: str):
        super().__init__(what)
        self.what = what


class Provider(Protocol):
    @property
    def endpoint(self) -> str:
        """Where prompts are sent, as shown to the user: an endpoint or a command."""

    def ask(self, messages: Sequence[Message], progress: Progress) -> Answer:
        """Ask a question and wait for the answer. Raises LanguageModelError, TransientError or AnswerTooLongError."""


class AnswerCollector:
    """Collects an answer's text as it arrives. Raises AnswerTooLongError."""

    def __init__(self, progress: Progress):
        self._parts: list[str] = []
        self._length, self._progress = 0, progress

    def add(self, text: str) -> None:
        self._length += len(text)
        if self._length > MAX_ANSWER_LENGTH:
            raise AnswerTooLongError(f"the answer is longer than {MAX_ANSWER_LENGTH // 1024} KiB and was cut off")
        self._parts.append(text)
        self._progress(self._length)

    @property
    def text(self) -> str:
        return "".join(self._parts)
