"""Finds preprocessor directives in text that no parser has seen.

This needs no parsing of comments and strings: a directive's # (or the equivalent %:) is the first token of a line (C++
[cpp.pre]), so only white space and comments, which may have begun on an earlier line, precede it. Lines in comments and raw
strings that look like directives are treated as directives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NEWLINE = re.compile(r"\r\n|\n|\r")
_HASH = re.compile(r"#|%:")
_BLANK = re.compile(r"[\s\x7f-\U0010ffff]*")  # Clang treats some non-ASCII characters as white space


def directive_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that may be directives, each with its line number, counted from 1."""
    for number, line in enumerate(_NEWLINE.split(text), start=1):
        if any(_BLANK.fullmatch(line[: match.start()].rpartition("*/")[2]) for match in _HASH.finditer(line)):
            yield number, line
