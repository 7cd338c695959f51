"""Command templates: split into words first, filled afterwards, so that no value can become more than one word."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from rocm_perf_lab.errors import SpaceError

OUTPUT = "output"  # a file of the configuration's own, for --build-template to write and --cmd-template to run
DEFINES = "defines"  # a word -DNAME=VALUE for each parameter whose "to" is "define"
_FIELD = re.compile(r"\{\{|\}\}|\{(\w*)\}")


class Template:
    """words, fields: as given. Raises SpaceError for a template that is empty or whose quotes do not match."""

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
        """Raises SpaceError for a field that nothing fills."""
        if unknown := self.fields - set(known):
            name = min(unknown)
            hint = f"write {{{{{name}}}}} for braces"
            raise SpaceError(f"{self.option} has the field {{{name}}}, which is no parameter", hint)

    def fill(self, values: Mapping[str, object], defines: list[str]) -> list[str]:
        words: list[str] = []
        for word in self.words:
            if word == f"{{{DEFINES}}}":
                words += defines
            else:
                words.append(_FIELD.sub(lambda match: _filled(match, values), word))
        return words


def text_of(value: object) -> str:
    """As a program reads it: true and false are 1 and 0."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _filled(match: re.Match[str], values: Mapping[str, object]) -> str:
    whole: str = match[0]
    if whole in ("{{", "}}"):
        return whole[0]
    return text_of(values[match[1]]) if match[1] else whole
