"""Removes text that must not leave the machine or reach the journal: keys, values of environment variables, and text about
files outside the source's folder.

Text from other programs passes through here before it enters a prompt or the journal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from rocm_perf_lab.llm.api_keys import ApiKey
from rocm_perf_lab.optimize.builders import SCRATCH
from rocm_perf_lab.prompt.path_scrubber import PathScrubber

_MIN_SECRET_LENGTH = 8  # characters: shorter values, such as "1" or "C.UTF-8", occur everywhere
_PLACE = re.compile(r"^(?:In file included from )?(?P<file>[^\s:][^:\n]*?):(?P<line>\d+)(?::\d+)?[:,]")
_QUOTATION = re.compile(r"\s*\d*\s*\||\s*[\^~]|\d+ (?:error|warning)s? ")  # "  12 |  x = y", "     |  ^"
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Redactor:
    """Removes secrets from text.

    folder: the source's folder. environment: this process's environment without the keys. known: text that is sent anyway:
    values that occur in it are not redacted.
    """

    def __init__(
        self, folder: Path, keys: Iterable[ApiKey] = (), environment: Mapping[str, str] | None = None, known: str = ""
    ):
        self._folder, self._places = folder.resolve(), PathScrubber(folder)
        self._keys = sorted({key.value for key in keys}, key=len, reverse=True)
        values = sorted((environment or {}).items(), key=lambda item: (-len(item[1]), item))
        self._values = [(value, name) for name, value in values if len(value) >= _MIN_SECRET_LENGTH and value not in known]

    def keys(self, text: str) -> str:
        """The text with keys replaced."""
        for key in self._keys:
            text = text.replace(key, "***")
        return text

    def secrets(self, text: str) -> str:
        """The text with keys and values of environment variables replaced."""
        text = self.keys(text)
        for value, name in self._values:
            text = text.replace(value, f"[value of {name}]")
        return text

    def text(self, text: str) -> str:
        """A program's text without secrets and without the names of this machine's folders."""
        return self._places.clean(self.secrets(text))

    def compiler_words(self, output: str, source: str, max_lines: int = 40) -> str:
        """A compiler's messages about the file `source` or a copy of it: up to `max_lines` lines, and how many were left out.

        A diagnostic starts with a line that begins with a location; the lines up to the next location quote that file.
        """
        lines, about_source, left_out = [], True, 0
        for line in _COLOURS.sub("", output).splitlines():
            if location := _PLACE.match(line):
                about_source = self._is_source(Path(location["file"]), source)
            elif not _QUOTATION.match(line):
                about_source = False  # from the linker or the assembler
            if about_source:
                lines.append(line)
            else:
                left_out += 1
        words = [self.text(line) for line in lines[:max_lines]]
        if cut := len(lines) - len(words):
            words.append(f"({cut} more lines)")
        if left_out:
            words.append(f"({left_out} lines about other files left out)")
        return "\n".join(words)

    def _is_source(self, path: Path, source: str) -> bool:
        return path.name == source and (path.parent.name.startswith(SCRATCH) or path.parent.resolve() == self._folder)
