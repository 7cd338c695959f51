"""The includes at the beginning of a source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# White space and comments; an include with at most a comment after it on its line.
_BLANKS_AND_COMMENTS = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_INCLUDE = re.compile(rb"#[ \t]*include[ \t]*(<[^>\n]+>|\"[^\"\n]+\")[ \t]*(?://[^\n]*)?\r?(?=\n)")
# With these options, headers would be read before the source's own text in an order other than the source's.
_INCLUDED_FIRST = ("-include", "-imacros", "-fmodules", "-Xarch_")


@dataclass(frozen=True)
class LeadingIncludes:
    """names: the headers' names as written, with < or ". remainder: the source with blank lines in place of the includes."""

    names: tuple[bytes, ...]
    remainder: bytes


def leading_includes(text: bytes) -> LeadingIncludes:
    """The includes at the beginning, with nothing but comments before and between them."""
    includes: list[bytes] = []
    position, remainder = 0, b""
    while True:
        between = _BLANKS_AND_COMMENTS.match(text, position)
        start = between.end() if between else position
        include = _INCLUDE.match(text, start)
        if include is None:
            return LeadingIncludes(tuple(includes), remainder + text[position:])
        includes.append(include.group(1))
        remainder, position = remainder + text[position:start], include.end()


def can_be_precompiled(words: Sequence[str]) -> bool:
    """Whether a compiler with these options reads nothing but the leading includes before the source's own text."""
    return not any(word.startswith(_INCLUDED_FIRST) for word in words)
