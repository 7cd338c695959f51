"""Where an expression names a variable, and where a statement may change it."""

from __future__ import annotations

from typing import Any

from . import libclang


def is_variable(expression: Any, variable: Any, kinds: Any) -> bool:
    """Whether the expression is the variable itself, but for parentheses and implicit conversions."""
    while expression.kind in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR):
        expression = next(expression.get_children(), None)
        if expression is None:
            return False
    return expression.kind == kinds.DECL_REF_EXPR and expression.referenced == variable


def names(expression: Any, variable: Any, kinds: Any) -> bool:
    return any(c.kind == kinds.DECL_REF_EXPR and c.referenced == variable for c in expression.walk_preorder())


def changes(body: Any, variable: Any, bindings: Any) -> bool:
    """Whether the body may change the variable: assigns it, steps it, or hands out its address or a reference."""
    kinds = bindings.CursorKind
    for cursor in body.walk_preorder():
        operands = list(cursor.get_children())
        if cursor.kind in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR):
            assigns = cursor.kind == kinds.COMPOUND_ASSIGNMENT_OPERATOR or libclang.operator(bindings, cursor) == "="
            changed = assigns and is_variable(operands[0], variable, kinds)
        elif cursor.kind == kinds.UNARY_OPERATOR:
            changed = libclang.operator(bindings, cursor) in ("++", "--", "&") and is_variable(operands[0], variable, kinds)
        elif cursor.kind == kinds.CALL_EXPR:  # an argument passed by value is wrapped in a conversion
            changed = any(c.kind == kinds.DECL_REF_EXPR and c.referenced == variable for c in operands)
        elif cursor.kind == kinds.LAMBDA_EXPR:
            changed = names(cursor, variable, kinds)
        elif cursor.kind == kinds.VAR_DECL and cursor.type.kind.name == "LVALUEREFERENCE":
            changed = _refers(cursor, variable, kinds)
        else:
            continue
        if changed:
            return True
    return False


def escapes(function: Any, variable: Any, bindings: Any) -> bool:
    """Whether anything but its name may stand for the variable: a pointer, a reference, a lambda's capture."""
    kinds = bindings.CursorKind
    for cursor in function.walk_preorder():
        if cursor.kind == kinds.UNARY_OPERATOR and libclang.operator(bindings, cursor) == "&":
            escaped = is_variable(next(cursor.get_children()), variable, kinds)
        elif cursor.kind == kinds.CALL_EXPR:
            escaped = any(c.kind == kinds.DECL_REF_EXPR and c.referenced == variable for c in cursor.get_children())
        elif cursor.kind == kinds.LAMBDA_EXPR:
            escaped = names(cursor, variable, kinds)
        elif cursor.kind == kinds.VAR_DECL and cursor.type.kind.name == "LVALUEREFERENCE":
            escaped = _refers(cursor, variable, kinds)
        else:
            continue
        if escaped:
            return True
    return False


def _refers(reference: Any, variable: Any, kinds: Any) -> bool:
    """Whether a reference may be one to the variable. One to what a pointer points to is none to anything named there."""
    return any(names(made, variable, kinds) and not _is_behind_pointer(made, kinds) for made in reference.get_children())


def _is_behind_pointer(expression: Any, kinds: Any) -> bool:
    while expression.kind in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR):
        expression = next(expression.get_children(), expression)
        if expression.kind == kinds.DECL_REF_EXPR:
            return False
    if expression.kind != kinds.ARRAY_SUBSCRIPT_EXPR:
        return False
    base = next(expression.get_children())
    while base.kind in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR):
        base = next(base.get_children(), None)
        if base is None:
            return False
    return base.kind == kinds.DECL_REF_EXPR and base.type.get_canonical().kind.name == "POINTER"
