"""Determines what names and calls in a Triton function mean, as far as its text reveals this."""

from __future__ import annotations

import ast


def dotted(node: ast.expr) -> tuple[str, ...]:
    """For example, ("tl", "math", "exp2") for `tl.math.exp2`; empty for anything but a chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()


def is_jit(decorator: ast.expr) -> bool:
    """Whether the decorator is `@triton.jit`, `@jit` or `@triton.jit(...)`."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(called)[-1:] == ("jit",)


def calls(node: ast.AST, name: str) -> list[ast.Call]:
    """The calls to `tl.NAME` in the node, in source order."""
    matching = [child for child in ast.walk(node) if isinstance(child, ast.Call) and is_call(child, name)]
    return sorted(matching, key=lambda call: (call.lineno, call.col_offset))


def is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and len(chain := dotted(node.func)) > 1 and chain[-1] == name


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((argument.value for argument in call.keywords if argument.arg == name), None)


def names_in(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def assigned_in(node: ast.AST) -> set[str]:
    """The names that statements in the node bind, including loop variables and walrus targets."""
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store)}
