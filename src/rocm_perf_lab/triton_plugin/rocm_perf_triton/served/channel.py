"""Requests and answers: one JSON object per line, on the streams that were standard input and output before the script
began.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]


class Channel:
    """Takes over both streams: the script reads nothing, and its output goes to standard error."""

    def __init__(self) -> None:
        self._requests = os.fdopen(os.dup(0), encoding="utf-8")
        self._answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def requests(self) -> Iterator[Message]:
        """The requests, until the other process is gone."""
        for line in self._requests:
            yield json.loads(line)

    def send(self, **message: Any) -> None:
        print(json.dumps(message), file=self._answers, flush=True)
