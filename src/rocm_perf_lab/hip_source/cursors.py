"""Locations and parts of Clang's cursors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.source_parts import Span

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

EXIT_STATEMENTS = ("BREAK_STMT", "CONTINUE_STMT", "RETURN_STMT", "GOTO_STMT", "INDIRECT_GOTO_STMT")
"""Kinds of statements after which the enclosing block may not run to its end."""


def byte_range_of(cursor: Cursor) -> tuple[int, int]:
    """The cursor's byte range [start, end) in its file."""
    return cursor.extent.start.offset, cursor.extent.end.offset


def span_of(cursor: Cursor) -> Span:
    return Span(*byte_range_of(cursor), cursor.extent.start.line)


def walk(cursor: Cursor) -> Iterator[Cursor]:
    """The cursor and all those below it, in source order, without recursion: generated code may exceed Python's stack."""
    for inside, _ in walk_below(cursor):
        yield inside


def walk_below(cursor: Cursor) -> Iterator[tuple[Cursor, list[Cursor]]]:
    """Like walk(), but each cursor comes with its ancestors, from the outermost down to its parent. The next step
    changes the list of ancestors.
    """
    above: list[Cursor] = []
    left = [(cursor, 0)]
    while left:
        inside, depth = left.pop()
        del above[depth:]
        yield inside, above
        above.append(inside)
        left.extend((child, depth + 1) for child in reversed(list(inside.get_children())))


def find_by_span(cursor: Cursor, span: Span, kind: str) -> Cursor:
    """The cursor under `cursor` that covers exactly `span` and has this kind, such as FOR_STMT."""
    byte_range = (span.start, span.end)
    return next(c for c in walk(cursor) if c.kind.name == kind and byte_range_of(c) == byte_range)


def parameters_of(function: Cursor) -> list[Cursor]:
    return [c for c in function.get_children() if c.kind.name == "PARM_DECL"]


def body_of(function: Cursor) -> Cursor | None:
    """The function's body; None for a declaration without one."""
    return next((c for c in function.get_children() if c.kind.name == "COMPOUND_STMT"), None)


def is_member(function: Cursor) -> bool:
    """Whether the function is a member of a class rather than a function at namespace scope."""
    kind: str = function.semantic_parent.kind.name
    return kind.startswith(("CLASS", "STRUCT", "UNION"))


def unwrapped(expression: Cursor) -> Cursor:
    """The expression inside parentheses and implicit conversions; libclang calls a conversion an unexposed expression."""
    while expression.kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
        inner = next(expression.get_children(), None)
        if inner is None:
            break
        expression = inner
    return expression


def flat(unit: TranslationUnit) -> Iterator[Cursor]:
    """The user's declarations, including those in namespaces and in `extern "C"`, as one flat sequence."""
    kinds = unit.bindings.CursorKind
    skipped = {kinds.MACRO_INSTANTIATION}
    stack = list(reversed(unit.user_declarations))
    while stack:
        cursor = stack.pop()
        if cursor.kind in (kinds.NAMESPACE, kinds.LINKAGE_SPEC):
            stack.extend(reversed(list(cursor.get_children())))
        elif cursor.kind not in skipped:
            yield cursor
