"""Whether an expression names a variable, and whether a statement may change it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import unwrapped, walk

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Bindings, Cursor

_REFERENCES = ("LVALUEREFERENCE", "RVALUEREFERENCE")


def is_variable(expression: Cursor, variable: Cursor) -> bool:
    """Whether the expression is the variable itself, ignoring parentheses and implicit conversions."""
    expression = unwrapped(expression)
    return bool(expression.kind.name == "DECL_REF_EXPR" and expression.referenced == variable)


def names(expression: Cursor, variable: Cursor) -> bool:
    return any(named == variable for named in _named_variables(expression))


def changes(body: Cursor, variable: Cursor, bindings: Bindings) -> bool:
    """Whether the body may change the variable: by an assignment or increment, or by passing on its address or a reference to
    it.
    """
    return any(changed == variable for changed in _changed_variables(body, bindings))


def variables_changed_in(body: Cursor, bindings: Bindings) -> frozenset[str]:
    """Like changes(), but returns the USRs of all such variables."""
    return frozenset(variable.get_usr() for variable in _changed_variables(body, bindings))


def escapes(function: Cursor, variable: Cursor, bindings: Bindings) -> bool:
    """Whether the variable may be accessed other than by name: through a pointer, a reference or a lambda's capture."""
    return any(escaped == variable for cursor in walk(function) for escaped in _handed_out(cursor, bindings))


def escaping_in(function: Cursor, bindings: Bindings) -> frozenset[str]:
    """Like escapes(), but returns the USRs of all such variables."""
    return frozenset(variable.get_usr() for cursor in walk(function) for variable in _handed_out(cursor, bindings))


def _named_variables(expression: Cursor) -> Iterator[Cursor]:
    for cursor in walk(expression):
        if cursor.kind.name == "DECL_REF_EXPR" and cursor.referenced is not None:
            yield cursor.referenced


def _changed_variables(body: Cursor, bindings: Bindings) -> Iterator[Cursor]:
    for cursor in walk(body):
        yield from _assigned(cursor, bindings)
        yield from _handed_out(cursor, bindings)


def _assigned(cursor: Cursor, bindings: Bindings) -> Iterator[Cursor]:
    kinds = bindings.CursorKind
    if cursor.kind == kinds.COMPOUND_ASSIGNMENT_OPERATOR:
        assigns = True
    elif cursor.kind == kinds.BINARY_OPERATOR:
        assigns = libclang.operator(bindings, cursor) == "="
    else:
        assigns = cursor.kind == kinds.UNARY_OPERATOR and libclang.operator(bindings, cursor) in ("++", "--")
    if assigns:
        yield from _may_be(next(cursor.get_children()), bindings)


def _handed_out(cursor: Cursor, bindings: Bindings) -> Iterator[Cursor]:
    kinds = bindings.CursorKind
    if cursor.kind == kinds.UNARY_OPERATOR:
        if libclang.operator(bindings, cursor) == "&":
            yield from _may_be(next(cursor.get_children()), bindings)
    elif cursor.kind == kinds.CALL_EXPR:  # _may_be() skips arguments passed by value, since a conversion wraps them
        for argument in cursor.get_children():
            yield from _may_be(argument, bindings)
    elif cursor.kind == kinds.LAMBDA_EXPR:
        yield from _named_variables(cursor)
    elif cursor.kind == kinds.VAR_DECL and cursor.type.get_canonical().kind.name in _REFERENCES:
        for initializer in cursor.get_children():
            if not _is_behind_pointer(initializer):
                yield from _named_variables(initializer)


def _may_be(lvalue: Cursor, bindings: Bindings) -> Iterator[Cursor]:
    """The variables that an lvalue may refer to: `x`, `(x)`, `(int&)x`, `c ? x : y`, `(n, x)`. An expression that yields only a
    variable's value does not count.
    """
    kinds, left = bindings.CursorKind, [lvalue]
    while left:
        lvalue = left.pop()
        if lvalue.kind == kinds.DECL_REF_EXPR:
            if lvalue.referenced is not None:
                yield lvalue.referenced
        elif lvalue.kind == kinds.CONDITIONAL_OPERATOR or libclang.operator(bindings, lvalue) == ",":
            left += list(lvalue.get_children())[1:]
        elif lvalue.kind == kinds.PAREN_EXPR or lvalue.kind.name.endswith("CAST_EXPR"):
            left += lvalue.get_children()


def _is_behind_pointer(expression: Cursor) -> bool:
    """Whether the expression is the target of a pointer, so that a reference to it does not refer to any variable named in the
    expression.
    """
    expression = unwrapped(expression)
    if expression.kind.name != "ARRAY_SUBSCRIPT_EXPR":
        return False
    base = unwrapped(next(expression.get_children()))
    return bool(base.kind.name == "DECL_REF_EXPR" and base.type.get_canonical().kind.name == "POINTER")
