"""The counterpart of gtest.py for ggml's test-backend-ops, which compares a backend's operations with the CPU backend's."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from pathlib import Path

from others import gtest
from others.device_messages import first_message

LIST = ("support", "--output", "csv")
AT_ONCE = 400  # cases, whose names have 100 to 250 characters each and form one argument of at most 128 KiB
_BACKEND = "ROCm0"
_BEGIN = re.compile(rf"^Backend \d+/\d+: {_BACKEND}\b")
_END = re.compile(r"^  (\w+\(.*\)): (?:.*?)(OK|FAIL|not supported)\b")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_OUTCOMES = {"OK": gtest.PASSED, "FAIL": gtest.FAILED, "not supported": gtest.SKIPPED}


def listed(output: str) -> list[str]:
    """The operations with their parameters, each listed once."""
    table = csv.reader(line for line in output.splitlines() if line.startswith(f'"{_BACKEND}"'))
    return list(dict.fromkeys(f"{name}({parameters})" for _, name, parameters, *_ in table))


def parts(_program: str, cases: list[str]) -> dict[str, list[str]]:
    """The cases by operation, each of which has its own time limit and result."""
    groups: dict[str, list[str]] = {}
    for case in cases:
        groups.setdefault(case.partition("(")[0], []).append(case)
    return groups


def selection(cases: Iterable[str], _file: Path) -> list[str]:
    return ["test", "-b", _BACKEND, "-o", ",".join(cases)]


class Progress(gtest.Progress):
    """The program reports a case only when it has ended, so the current case is the first one that has no outcome yet."""

    def line(self, text: str) -> None:
        uncoloured = _COLOURS.sub("", text)
        self._device = self._device or first_message(uncoloured)
        if ended := _END.match(uncoloured):
            self.current = ended[1]
            self._end(_OUTCOMES[ended[2]])
            self._begin()
        elif _BEGIN.match(uncoloured):
            self._begin()
        elif self.current and len(self._lines) < 200:
            self._lines.append(uncoloured.strip())

    def _begin(self) -> None:
        self.current = next((case for case in self.cases if case not in self.outcomes), None)
        self._lines, self._device = [], ""
