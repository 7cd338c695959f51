"""Determines which expressions of a kernel may differ between the lanes of a wave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import walk

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit


class LaneValues:
    """Analysis of one function. A value may differ if it depends on threadIdx, on a call's result, or on a variable that may
    differ.
    """

    def __init__(self, unit: TranslationUnit, function: Cursor):
        self._unit, self._kinds = unit, unit.bindings.CursorKind
        self._differing: set[str] = set()
        assigned = list(self._assignments(function))
        while more := {name for name, value in assigned if name not in self._differing and self.differs(value)}:
            self._differing |= more

    def differs(self, expression: Cursor) -> bool:
        return any(self._is_source(cursor) for cursor in walk(expression))

    def _is_source(self, cursor: Cursor) -> bool:
        if cursor.kind == self._kinds.CALL_EXPR:
            return True
        if cursor.kind != self._kinds.DECL_REF_EXPR:
            return False
        return cursor.spelling == "threadIdx" or (
            cursor.referenced is not None and cursor.referenced.get_usr() in self._differing
        )

    def _assignments(self, function: Cursor) -> Iterator[tuple[str, Cursor]]:
        """(variable, an expression assigned to it) for all assignments and initialisations in the function."""
        kinds = self._kinds
        for cursor in walk(function):
            children = list(cursor.get_children())
            if cursor.kind == kinds.VAR_DECL:
                yield from ((cursor.get_usr(), value) for value in children if value.kind.is_expression())
            elif cursor.kind == kinds.COMPOUND_ASSIGNMENT_OPERATOR or (
                cursor.kind == kinds.BINARY_OPERATOR and libclang.operator(self._unit.bindings, cursor) == "="
            ):
                target = children[0]
                if target.kind == kinds.DECL_REF_EXPR and target.referenced is not None:
                    yield target.referenced.get_usr(), children[1]
