"""What the world said, kept in the journal under the question that it answered, so that a run can be gone through again.

A resumed run takes from it what is there and asks the world for the rest; a replayed one takes everything from it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from rocm_perf_lab.errors import JournalDiffersError
from rocm_perf_lab.optimize.journal import Journal


class Memory:
    """journal: of the run. closed: nothing new may be asked."""

    def __init__(self, journal: Journal, closed: bool = False):
        self._journal, self._closed = journal, closed
        self._lock = threading.Lock()
        self._known = {_key(entry["event"], entry["asked"]): entry["answer"] for entry in journal.entries if "asked" in entry}

    def recall(self, event: str, asked: dict[str, Any], ask: Callable[[], Any]) -> Any:
        """The answer of `event` to `asked` as JSON values, ask()'s where it is not known.

        Errors: JournalDiffersError in a closed memory that does not know it, and those of ask().
        """
        key = _key(event, asked)
        with self._lock:
            if key in self._known:
                return self._known[key]
        if self._closed:
            raise JournalDiffersError(f"the journal has no {event} for {_in_words(asked)}", "its run, or this version, differs")
        answer = ask()
        with self._lock:
            self._known[key] = answer
        self._journal.append(event, asked=asked, answer=answer)
        return answer

    def knows(self, event: str, asked: dict[str, Any]) -> bool:
        with self._lock:
            return _key(event, asked) in self._known


def _key(event: str, asked: dict[str, Any]) -> str:
    return json.dumps([event, asked], sort_keys=True)


def _in_words(asked: dict[str, Any]) -> str:
    return ", ".join(f"{name} {str(value)[:40]}" for name, value in asked.items())
