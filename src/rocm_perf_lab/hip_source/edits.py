"""Exact changes to a source's bytes; offsets count bytes, as Clang's do."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Edit:
    """Replaces bytes [start, end) of the source with `text`; if start == end, inserts it."""

    start: int
    end: int
    text: str


def apply_edits(source: bytes, edits: Iterable[Edit]) -> bytes:
    """The source with all edits applied at once. Raises ValueError if edits overlap or lie outside the source."""
    result, position = [], 0
    for edit in sorted(edits):
        if not position <= edit.start <= edit.end <= len(source):
            raise ValueError(f"{edit} overlaps another edit or lies outside a source of {len(source)} bytes")
        result += [source[position : edit.start], edit.text.encode()]
        position = edit.end
    return b"".join([*result, source[position:]])


def line_start(source: bytes, offset: int) -> int:
    """The offset of the first byte of the line that contains `offset`."""
    return source.rfind(b"\n", 0, offset) + 1


def indentation(source: bytes, offset: int) -> str:
    """The white space at the start of the line that contains `offset`."""
    line = source[line_start(source, offset) : offset]
    return line[: len(line) - len(line.lstrip(b" \t"))].decode()


def before_pragmas(source: bytes, start: int) -> int:
    """The offset at which to insert text before the statement that begins at `start`: above its pragmas, which must stay
    directly before the statement.
    """
    offset = line_start(source, start)
    if source[offset:start].strip() or not source[line_start(source, offset - 1) : offset].strip().startswith(b"#"):
        return start
    while offset and source[line_start(source, offset - 1) : offset].strip().startswith(b"#pragma"):
        offset = line_start(source, offset - 1)
    return offset


def new_names(source: bytes, stem: str, count: int) -> list[str]:
    """Names that the source does not contain: stem0, stem1, ..."""
    unused = (f"{stem}{number}" for number in itertools.count() if f"{stem}{number}".encode() not in source)
    return list(itertools.islice(unused, count))


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """The change as a patch for `patch -p1`."""
    old, new = (text.decode(errors="surrogateescape").splitlines(keepends=True) for text in (before, after))
    return "".join(_ended(line) for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
