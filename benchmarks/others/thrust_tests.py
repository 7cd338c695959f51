"""The counterpart of gtest.py for Thrust's test programs, which have a test framework of their own."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from others import gtest
from others.device_messages import first_message

LIST = ("--list",)
AT_ONCE = gtest.AT_ONCE
parts = gtest.parts
_BEGIN = re.compile(r"^Running (\w+)\.\.\.")
_END = re.compile(r"\[(PASS|FAILURE|FAIL|ERROR|KNOWN FAILURE)\]\s.*?(\w+)\s*$")
_REASON = re.compile(r"^(?:FAILURE|FAIL|ERROR): (\w+)$")
# A test that its authors know to fail prints nothing but that.
_OUTCOMES = {"PASS": gtest.PASSED, "KNOWN FAILURE": gtest.SKIPPED}


def listed(output: str) -> list[str]:
    return re.findall(r"(?m)^(\w+)$", output)


def selection(cases: Iterable[str], _file: Path) -> list[str]:
    return ["--verbose", "--sizes=small", *cases]


class Progress(gtest.Progress):
    """The reasons for failures are printed after all cases, each under the name of its case."""

    _current_test: str | None = None

    def line(self, text: str) -> None:
        self._device = self._device or first_message(text)
        if self._current_test and text.strip():
            outcome, _ = self.outcomes[self._current_test]
            self.outcomes[self._current_test], self._current_test = (outcome, gtest.cause([text.strip()])[:400]), None
        elif (reason := _REASON.match(text)) and reason[1] in self.outcomes:
            self._current_test = reason[1]
        if begun := _BEGIN.match(text):
            self.current, self._device = begun[1], ""
        if self.current and (ended := _END.search(text)):
            self._end(_OUTCOMES.get(ended[1], gtest.FAILED))
