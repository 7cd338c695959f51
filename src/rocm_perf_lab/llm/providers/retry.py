"""Retries when the server is busy or the connection fails: after the delay that the server requests, or with growing delays."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from rocm_perf_lab.errors import LanguageModelError
from rocm_perf_lab.llm.providers.protocol import Answer, TransientError

RETRIES = 4
_FIRST_WAIT, _MAX_WAIT = 1.0, 30.0  # seconds
_MAX_PATIENCE_SECONDS = 120.0  # if the server asks for more, the user decides


def patiently(
    ask: Callable[[], Answer],
    endpoint: str,
    note: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Answer:
    """The result of ask(). Raises LanguageModelError after the last retry, or if the server requests a delay longer than
    _MAX_PATIENCE_SECONDS; other exceptions from ask() pass through.
    """
    for retry in range(RETRIES + 1):
        try:
            return ask()
        except TransientError as error:
            if retry == RETRIES:
                raise LanguageModelError(
                    f"{endpoint}: {error.what}, {RETRIES + 1} times in a row", "try later, with --resume"
                ) from error
            wait = _wait(retry, error.retry_after)
            if wait > _MAX_PATIENCE_SECONDS:
                raise LanguageModelError(
                    f"{endpoint}: {error.what}; it asks to wait {wait:.0f} s", "try later, with --resume"
                ) from error
            note(f"  {error.what}: asking again in {wait:.1f} s")
            sleep(wait)
    raise AssertionError("unreachable")


def _wait(retry: int, asked: float | None) -> float:
    if asked is not None:
        return asked
    return min(_MAX_WAIT, _FIRST_WAIT * 2.0**retry) * random.uniform(0.75, 1.0)  # spreads out clients' retries
