"""Command templates, which are split into words before they are filled, so that no value can become more than one word."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from rocm_perf_lab.errors import SpaceError

OUTPUT = "output"  # a separate file per configuration, which --build-template writes and --cmd-template runs
DEFINES = "defines"  # a word -DNAME=VALUE for each parameter whose "to" is "define"
_FIELD = re.compile(r"\{\{|\}\}|\{(\w*)\}")


class Template:
    """words, fields: what the unfilled template contains. Raises SpaceError if it is empty or has unbalanced quotes."""

    def __init__(self, option: str, text: str):
        self.option, self.text = option, text
        try:
            self.words = shlex.split(text)
        except ValueError as error:
            raise SpaceError(f"{option} {text!r} cannot be split into words ({error})", "balance its quotes") from error
        if not self.words:
            raise SpaceError(f"{option} is empty", "name the program to run")
        self.fields = {name for word in self.words for name in _FIELD.findall(word) if name}

    def check(self, known: Iterable[str]) -> None:
        """Check that every field can be filled. Raises SpaceError if any cannot."""
        if unknown := self.fields - set(known):
            name = min(unknown)
            hint = f"write {{{{{name}}}}} for braces"
            raise SpaceError(f"{self.option} has the field {{{name}}}, which is not a parameter", hint)

    def fill(self, values: Mapping[str, object], defines: list[str]) -> list[str]:
        words: list[str] = []
        for word in self.words:
            if word == f"{{{DEFINES}}}":
                words += defines
            else:
                words.append(_FIELD.sub(lambda match: _fill_match(match, values), word))
        return words


def text_of(value: object) -> str:
    """The value as a program reads it: true and false become 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _fill_match(match: re.Match[str], values: Mapping[str, object]) -> str:
    placeholder: str = match[0]
    if placeholder in ("{{", "}}"):
        return placeholder[0]
    return text_of(values[match[1]]) if match[1] else placeholder
