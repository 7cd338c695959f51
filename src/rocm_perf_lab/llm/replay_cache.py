"""Caches external results in the journal, keyed by request, so that a run can be resumed or replayed.

A resumed run takes known results from the cache and requests the rest; a replay takes everything from the cache.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from rocm_perf_lab.errors import JournalDiffersError
from rocm_perf_lab.json_model import JsonModel
from rocm_perf_lab.llm.journal_lines import AnswerT, Asked, RememberedLine
from rocm_perf_lab.optimize.journal import Journal, event_of


class ReplayCache:
    """The known results, keyed by request.

    journal: the run's journal. closed: whether this is a replay, in which nothing new may be requested.
    """

    def __init__(self, journal: Journal, closed: bool = False):
        self._journal, self._closed = journal, closed
        self._lock = threading.Lock()
        self._known = {_key(entry["event"], entry["asked"]): entry for entry in journal.entries if "asked" in entry}

    def recall(self, kind: type[RememberedLine[Asked, AnswerT]], asked: Asked, ask: Callable[[], AnswerT]) -> AnswerT:
        """The answer to `asked`; ask() is called only if that is not known. kind: the type of journal line that stores it.

        Raises JournalDiffersError if the cache is closed and does not have the answer, and any error from ask().
        """
        event = event_of(kind)
        key = _key(event, asked.as_json())
        with self._lock:
            if key in self._known:
                return kind.model_validate(self._known[key]).answer
        if self._closed:
            raise JournalDiffersError(
                f"the journal has no {event} for {_in_words(asked)}", "the run or the version of rocm-perf was different"
            )
        line = kind(event=event, asked=asked, answer=ask())
        with self._lock:
            self._known[key] = line.as_json()
        self._journal.append(line)
        return line.answer

    def knows(self, kind: type[RememberedLine[Asked, AnswerT]], asked: Asked) -> bool:
        with self._lock:
            return _key(event_of(kind), asked.as_json()) in self._known


def _key(event: str, asked: Any) -> str:
    return json.dumps([event, asked], sort_keys=True)


def _in_words(asked: JsonModel) -> str:
    return ", ".join(f"{name} {str(value)[:40]}" for name, value in asked)
