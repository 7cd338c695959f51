"""A source as the compiler's lexer sees it before preprocessing, without white space and comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.source import TranslationUnit

END_OF_DIRECTIVE = "end of directive"
_LINE_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*line[ \t]+(\d+)[^\n]*\n", re.MULTILINE)


@dataclass(frozen=True)
class Token:
    """A token: its text as written, the byte range [start, end) in the file, and the line (from 1). directive: whether it is
    part of a directive.
    """

    text: str
    kind: str
    start: int
    end: int
    line: int
    directive: bool = False


def tokens_of(unit: TranslationUnit, start: int = 0, end: int | None = None, of: str | None = None) -> list[Token]:
    """The tokens in bytes [start, end) of a file. Each directive is followed by a token of kind END_OF_DIRECTIVE.

    of: Clang's name for the file; None for the unit's own. `start` must not be inside a token or a directive.
    """
    text = unit.text if of is None else unit.content(Path(of))
    end = len(text) if end is None else end
    tokens: list[Token] = []
    directive, starts_line, last = False, True, start
    for token in _raw(unit, start, end, of):
        if _leaves_line(text[last : token.start]):
            starts_line = True
            directive = _close(tokens, last) if directive else False
        last = token.end
        if token.kind == "COMMENT":  # the preprocessor ignores line ends inside it
            continue
        directive = directive or (starts_line and token.text in ("#", "%:"))
        starts_line = False
        tokens.append(Token(token.text, token.kind, token.start, token.end, token.line, directive))
    if directive:
        _close(tokens, last)
    return tokens


def texts(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens]


def _close(tokens: list[Token], offset: int) -> bool:
    tokens.append(Token("", END_OF_DIRECTIVE, offset, offset, tokens[-1].line, True))
    return False


def _raw(unit: TranslationUnit, start: int, end: int, of: str | None) -> list[Token]:
    tokens = []
    for token in unit.raw_tokens(start, end, of):
        extent = token.extent
        first, last = extent.start.offset, extent.end.offset
        if start <= first and last <= end:  # libclang returns one more token than requested
            tokens.append(Token(token.spelling, token.kind.name, first, last, token.location.line))
    return tokens


def _leaves_line(gap: bytes) -> bool:
    """Whether a gap without comments contains a line end that is not preceded by a backslash."""
    return any(not line.rstrip(b" \t\r\v\f").endswith(b"\\") for line in gap.split(b"\n")[:-1])


def with_comments(unit: TranslationUnit, start: int, without: bytes = b"") -> int:
    """The offset of the comments directly above the text at `start`; `start` itself if there are none.

    without: a text; comments that it contains are not included.
    """
    for token in reversed(list(unit.raw_tokens(0, start))):
        first, last = token.extent.start.offset, token.extent.end.offset
        if last > start:
            continue
        if token.kind.name != "COMMENT" or unit.text[last:start].count(b"\n") > 1 or unit.text[first:last] in without:
            break
        start = first
    return start


def line_of(text: bytes, offset: int) -> int:
    """The number (from 1) of the line that contains the byte."""
    return text.count(b"\n", 0, offset) + 1


def compiled_line_of(text: bytes, offset: int) -> int:
    """The line number that the compiler assigns to the byte, as in __LINE__ and debug information. Directives in comments and
    in skipped groups are treated as real ones.
    """
    directives = list(_LINE_DIRECTIVE.finditer(text, 0, offset))
    if not directives:
        return line_of(text, offset)
    return int(directives[-1][1]) + text.count(b"\n", directives[-1].end(), offset)


def first_difference(one: Sequence[Token], other: Sequence[Token]) -> tuple[Token | None, Token | None] | None:
    """The first tokens that differ, with None for a sequence that has ended; None if the sequences are equal."""
    for a, b in zip(one, other, strict=False):  # one may be shorter
        if (a.text, a.kind == END_OF_DIRECTIVE) != (b.text, b.kind == END_OF_DIRECTIVE):
            return a, b
    if len(one) == len(other):
        return None
    longer = max(one, other, key=len)[min(len(one), len(other))]
    return (longer, None) if len(one) > len(other) else (None, longer)
