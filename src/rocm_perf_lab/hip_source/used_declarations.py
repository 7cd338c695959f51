"""The declarations in the user's own files that a kernel uses, directly or through other declarations: functions, types,
constants and macros.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source.cursors import flat, walk
from rocm_perf_lab.hip_source.edits import line_start
from rocm_perf_lab.hip_source.source import TranslationUnit
from rocm_perf_lab.hip_source.source_parts import SourceKernel

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor


@dataclass(frozen=True, order=True)
class DeclarationText:
    """A declaration. file: the file that contains it. start, end: byte range of whole lines, including the comment and
    attributes above it. name: as declared.
    """

    file: Path
    start: int
    end: int
    name: str


def kernel_and_used_declarations(unit: TranslationUnit, kernel: SourceKernel) -> list[DeclarationText]:
    """The kernel's own declaration first, then all declarations it uses, sorted by file and offset. Raises SourceError."""
    index = _Index(unit)
    own = index.at(unit.own, kernel.body.start)
    if own is None or unit.cut_by_macro(unit.own, kernel.body.start, kernel.body.end):
        raise SourceError(f"{kernel.name} comes from a macro", "write it out to change it")
    reached = {own}
    todo = [own]
    while todo:
        for used in index.used_by(todo.pop()):
            if used not in reached:
                reached.add(used)
                todo.append(used)
    return [index.declaration_text(own), *sorted(index.declaration_text(declaration) for declaration in reached - {own})]


class _Index:
    """The declarations of the user's files by location and by name; a declaration is identified by its index in `_all`."""

    def __init__(self, unit: TranslationUnit):
        self._unit, self._kinds = unit, unit.bindings.CursorKind
        self._all = [cursor for cursor in flat(unit) if cursor.extent.start.file is not None]
        self._starts: dict[str, list[tuple[int, int]]] = {}
        self._names: dict[str, list[int]] = {}
        for number, cursor in enumerate(self._all):
            self._starts.setdefault(cursor.extent.start.file.name, []).append((cursor.extent.start.offset, number))
            self._names.setdefault(cursor.spelling, []).append(number)
        for places in self._starts.values():
            places.sort()
        self._expansions = [c for c in unit.user_declarations if c.kind == self._kinds.MACRO_INSTANTIATION]

    def at(self, file: str, offset: int) -> int | None:
        """The declaration at this location; None outside the user's files or between declarations."""
        places = self._starts.get(file, [])
        nearest: tuple[int, int, int] | None = None
        # Macros are listed among the declarations but do not cover the code after them, so the nearest start may be the wrong
        # one. In `int a, b;`, both declarations begin at the type; the right one is the one that ends first.
        for start, number in reversed(places[: bisect.bisect_right(places, (offset, 1 << 62))]):
            if nearest is not None and start < nearest[0]:
                break
            end = self._all[number].extent.end.offset
            if offset < end and (nearest is None or end < nearest[1]):
                nearest = (start, end, number)
        return None if nearest is None else nearest[2]

    def used_by(self, number: int) -> Iterator[int]:
        cursor = self._all[number]
        if cursor.kind == self._kinds.MACRO_DEFINITION:
            words = {token.spelling for token in list(cursor.get_tokens())[1:]}
            yield from (other for word in words for other in self._names.get(word, ()))
            return
        for inner in walk(cursor):
            for referent in self._referents(inner):
                location = referent.location
                if location.file is not None and (other := self.at(location.file.name, location.offset)) is not None:
                    yield other
            if inner.kind.name == "OVERLOADED_DECL_REF":  # depends on a template parameter: only its name is known
                yield from self._names.get(inner.spelling, ())
        yield from self._macros_in(cursor)

    def _referents(self, cursor: Cursor) -> Iterator[Cursor]:
        """The declarations that a cursor names: the declaration, its definition, and the template from which it was
        instantiated.
        """
        named = cursor.referenced
        if named is None or named == cursor:
            return
        yield named
        if (definition := named.get_definition()) is not None:
            yield definition
        template = self._unit.bindings.conf.lib.clang_getSpecializedCursorTemplate(named)
        if not template.is_null():
            yield template

    def _macros_in(self, cursor: Cursor) -> Iterator[int]:
        extent = cursor.extent
        for expansion in self._expansions:
            start = expansion.extent.start
            if start.file.name == extent.start.file.name and extent.start.offset <= start.offset < extent.end.offset:
                yield from self._names.get(expansion.spelling, ())

    def declaration_text(self, number: int) -> DeclarationText:
        cursor = self._all[number]
        file = Path(cursor.extent.start.file.name)
        text = self._unit.content(file)
        end = text.find(b"\n", cursor.extent.end.offset)
        return DeclarationText(
            file,
            _with_comment(text, line_start(text, cursor.extent.start.offset)),
            len(text) if end < 0 else end + 1,
            cursor.spelling,
        )


def _with_comment(text: bytes, start: int) -> int:
    """The start of the comment and attribute lines directly above the line at `start`; `start` itself if there are none."""
    while start > 0:
        above = line_start(text, start - 1)
        line = text[above:start].strip()
        is_comment = line.startswith((b"//", b"/*", b"*"))
        is_head = line.startswith((b"__", b"[[", b"template", b'extern "C"')) and not line.endswith((b";", b"}"))
        if not (is_comment or is_head):
            break
        start = above
    return start
