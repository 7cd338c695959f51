"""Asks the user whether a question may be sent to a model, and whether to keep an accepted change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rocm_perf_lab.text.escaping import visible

if TYPE_CHECKING:
    from rocm_perf_lab.llm.providers import Message
    from rocm_perf_lab.optimize.result import JudgedCandidate


def keep_always(_judged: JudgedCandidate) -> bool:
    return True


def ask_whether_to_keep(judged: JudgedCandidate) -> bool:
    click.echo(f"\n{judged.diff}\n{judged.proposal.description}: {1 - judged.ratio:.1%} of the kernel's time saved")
    return click.confirm("Keep this change?", default=False)


class Consent:
    """Shows each message once, and asks for consent; raises UnsentError if the user declines. Messages are shown on standard
    error, so that the output of --json stays valid JSON.

    always: consent, without showing anything. never: show the messages, then raise UnsentError; it overrides `always`.
    """

    def __init__(self, always: bool, never: bool):
        from threading import Lock

        self._always, self._never, self._lock = always, never, Lock()
        self._shown: set[Message] = set()

    def __call__(self, place: str, messages: Sequence[Message]) -> None:
        from rocm_perf_lab.llm.budget import UnsentError

        if self._always and not self._never:
            return
        with self._lock:
            click.echo(f"\nThis would be sent to {place}:", err=True)
            for message in messages:
                if message in self._shown:
                    click.echo(f"--- {message.role}: as shown before", err=True)
                else:
                    text = visible(message.text.rstrip(), "\n\t")  # nothing in it can move the cursor or hide the rest
                    click.echo(f"--- {message.role}\n{text}", err=True)
                self._shown.add(message)
            click.echo("---", err=True)
            if self._never:
                raise UnsentError("dry run", "a dry run: nothing was sent")
            if not click.confirm("Send this?", default=False, err=True):
                raise UnsentError("declined", "the user did not want the question sent")
