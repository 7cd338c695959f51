"""Where an expression names a variable, and where a statement may change it."""

from __future__ import annotations

from typing import Any

from . import libclang
from .cursors import unwrapped

_REFERENCES = ("LVALUEREFERENCE", "RVALUEREFERENCE")


def is_variable(expression: Any, variable: Any) -> bool:
    """Whether the expression is the variable itself, but for parentheses and implicit conversions."""
    expression = unwrapped(expression)
    return expression.kind.name == "DECL_REF_EXPR" and expression.referenced == variable


def names(expression: Any, variable: Any) -> bool:
    return any(c.kind.name == "DECL_REF_EXPR" and c.referenced == variable for c in expression.walk_preorder())


def changes(body: Any, variable: Any, bindings: Any) -> bool:
    """Whether the body may change the variable: assigns it, steps it, or hands out its address or a reference."""
    return any(_assigns(c, variable, bindings) or _hands_out(c, variable, bindings) for c in body.walk_preorder())


def escapes(function: Any, variable: Any, bindings: Any) -> bool:
    """Whether anything but its name may stand for the variable: a pointer, a reference, a lambda's capture."""
    return any(_hands_out(cursor, variable, bindings) for cursor in function.walk_preorder())


def _assigns(cursor: Any, variable: Any, bindings: Any) -> bool:
    kinds = bindings.CursorKind
    if cursor.kind == kinds.COMPOUND_ASSIGNMENT_OPERATOR:
        assigns = True
    elif cursor.kind == kinds.BINARY_OPERATOR:
        assigns = libclang.operator(bindings, cursor) == "="
    else:
        assigns = cursor.kind == kinds.UNARY_OPERATOR and libclang.operator(bindings, cursor) in ("++", "--")
    return assigns and _may_be(next(cursor.get_children()), variable, bindings)


def _hands_out(cursor: Any, variable: Any, bindings: Any) -> bool:
    kinds = bindings.CursorKind
    if cursor.kind == kinds.UNARY_OPERATOR:
        return libclang.operator(bindings, cursor) == "&" and _may_be(next(cursor.get_children()), variable, bindings)
    if cursor.kind == kinds.CALL_EXPR:  # an argument passed by value is wrapped in a conversion
        return any(_may_be(argument, variable, bindings) for argument in cursor.get_children())
    if cursor.kind == kinds.LAMBDA_EXPR:
        return names(cursor, variable)
    if cursor.kind == kinds.VAR_DECL and cursor.type.get_canonical().kind.name in _REFERENCES:
        return any(names(made, variable) and not _is_behind_pointer(made) for made in cursor.get_children())
    return False


def _may_be(place: Any, variable: Any, bindings: Any) -> bool:
    """Whether a place in memory may be the variable: `x`, `(x)`, `(int&)x`, `c ? x : y`, `(n, x)`. A value of it is none."""
    kinds = bindings.CursorKind
    if place.kind == kinds.DECL_REF_EXPR:
        return place.referenced == variable
    chosen = list(place.get_children())
    if place.kind == kinds.CONDITIONAL_OPERATOR or libclang.operator(bindings, place) == ",":
        chosen = chosen[1:]
    elif place.kind != kinds.PAREN_EXPR and not place.kind.name.endswith("CAST_EXPR"):
        return False
    return any(_may_be(one, variable, bindings) for one in chosen)


def _is_behind_pointer(expression: Any) -> bool:
    """Whether it is what a pointer points to: a reference to that is none to anything named there."""
    expression = unwrapped(expression)
    if expression.kind.name != "ARRAY_SUBSCRIPT_EXPR":
        return False
    base = unwrapped(next(expression.get_children()))
    return base.kind.name == "DECL_REF_EXPR" and base.type.get_canonical().kind.name == "POINTER"
