"""A kernel's stores through its pointer parameters, for parameters that are used for nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import body_of, parameters_of, span_of, walk, walk_below
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.loops import KINDS
from rocm_perf_lab.hip_source.source_parts import SourceKernel, Span

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_ELEMENTS = (
    "CHAR_S", "SCHAR", "UCHAR", "SHORT", "USHORT", "INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG",
    "FLOAT", "DOUBLE", "HALF", "FLOAT16", "VECTOR", "EXTVECTOR",
)  # fmt: skip
_STATEMENTS = ("COMPOUND_STMT", "IF_STMT", *KINDS)


@dataclass(frozen=True)
class Store:
    """`target = value;`. statement: the range of the assignment without its semicolon."""

    statement: Span
    target: str
    value: str


@dataclass
class Stores:
    """The stores through one parameter.

    parameter: its name. stores: all of them. obstacle: a description of a use that rules the parameter out; None if there is no
    such use.
    """

    parameter: str
    line: int
    stores: list[Store] = field(default_factory=list)
    obstacle: str | None = None


def stores_of(unit: TranslationUnit, kernel: SourceKernel) -> list[Stores]:
    """The stores through each pointer parameter that may be written through, in the order of the parameters."""
    function = function_of(unit, kernel)
    search = _Search(unit, function)
    search.visit(body_of(function))
    return list(search.found.values())


class _Search:
    def __init__(self, unit: TranslationUnit, function: Cursor):
        self._unit, self._kinds = unit, unit.bindings.CursorKind
        self.found: dict[str, Stores] = {}
        for parameter in parameters_of(function):
            canonical = parameter.type.get_canonical()
            if canonical.kind.name == "POINTER" and not canonical.get_pointee().is_const_qualified():
                self.found[parameter.get_usr()] = Stores(parameter.spelling, parameter.location.line)

    def visit(self, body: Cursor) -> None:
        for cursor, above in walk_below(body):
            if cursor.kind == self._kinds.DECL_REF_EXPR and cursor.referenced is not None:
                if (stores := self.found.get(cursor.referenced.get_usr())) is not None:
                    self._use(stores, cursor, above)

    def _use(self, stores: Stores, reference: Cursor, ancestors: list[Cursor]) -> None:
        below, climbing = reference, list(ancestors)
        while climbing and climbing[-1].kind in (self._kinds.UNEXPOSED_EXPR, self._kinds.PAREN_EXPR):
            below = climbing.pop()
        subscript = climbing[-1]
        line = reference.location.line
        if subscript.kind != self._kinds.ARRAY_SUBSCRIPT_EXPR or next(subscript.get_children()) != below:
            stores.obstacle = stores.obstacle or f"it is used other than as `{stores.parameter}[...]` (line {line})"
            return
        assignment, holder = climbing[-2], climbing[-3] if len(climbing) > 2 else None
        if not self._is_assignment(assignment, subscript):
            stores.obstacle = stores.obstacle or f"its value or its address is used (line {line})"
        elif holder is None or holder.kind.name not in _STATEMENTS:
            stores.obstacle = stores.obstacle or f"a store is part of an expression (line {line})"
        elif subscript.type.get_canonical().kind.name not in _ELEMENTS or subscript.type.is_volatile_qualified():
            stores.obstacle = stores.obstacle or f"its elements are {subscript.type.spelling}"
        elif self._unit.is_cut_by_macro(assignment):
            stores.obstacle = stores.obstacle or f"a macro contains a store (line {line})"
        elif self._is_invariant(subscript, climbing[:-2]):
            stores.obstacle = stores.obstacle or f"a loop writes to one place repeatedly (line {line})"
        else:
            value = list(assignment.get_children())[1]
            stores.stores.append(Store(span_of(assignment), self._unit.text_of(subscript), self._unit.text_of(value)))

    def _is_assignment(self, cursor: Cursor, target: Cursor) -> bool:
        is_plain = cursor.kind == self._kinds.BINARY_OPERATOR and libclang.operator(self._unit.bindings, cursor) == "="
        return is_plain and next(cursor.get_children()) == target

    def _is_invariant(self, target: Cursor, ancestors: list[Cursor]) -> bool:
        """Whether there is an enclosing loop and the innermost one neither declares nor assigns any variable in `target`."""
        loop = next((a for a in reversed(ancestors) if a.kind.name in KINDS), None)
        if loop is None:
            return False
        named = {c.referenced.get_usr() for c in walk(target) if c.kind == self._kinds.DECL_REF_EXPR and c.referenced}
        return not named & set(self._assigned_variables(loop))

    def _assigned_variables(self, loop: Cursor) -> Iterator[str]:
        kinds = self._kinds
        for cursor in walk(loop):
            if cursor.kind == kinds.VAR_DECL:
                yield cursor.get_usr()
            elif cursor.kind in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR, kinds.UNARY_OPERATOR):
                target = next(cursor.get_children(), None)
                if target is not None and target.kind == kinds.DECL_REF_EXPR and target.referenced is not None:
                    yield target.referenced.get_usr()
