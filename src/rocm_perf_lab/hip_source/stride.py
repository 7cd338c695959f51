"""Loops with a loop-invariant step, in a form that allows several iterations to be executed at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import EXIT_STATEMENTS, span_of, walk
from rocm_perf_lab.hip_source.source_parts import Stride
from rocm_perf_lab.hip_source.variables import changes, escapes, is_variable

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_INTEGERS = ("int", "unsigned int")
_OPERATORS = ("+", "-", "*", "/", "%", "<<", ">>")


def stride_of(unit: TranslationUnit, loop: Cursor) -> Stride | None:
    """The stride of a counted `for` statement that has all its parts; None if the loop does not have the required form."""
    kinds = unit.bindings.CursorKind
    start, condition, increment, body = loop.get_children()
    variable = next(c for c in walk(start) if c.kind == kinds.VAR_DECL)
    if any(c.kind.name in EXIT_STATEMENTS for c in walk(body)) or _type(variable) not in _INTEGERS:
        return None
    if increment.kind != kinds.COMPOUND_ASSIGNMENT_OPERATOR or libclang.operator(unit.bindings, increment) != "+=":
        return None
    if libclang.operator(unit.bindings, condition) != "<":
        return None
    (target, step), (left, bound) = increment.get_children(), condition.get_children()
    # Both sides of the comparison must have the variable's type as written, without a conversion from signed to unsigned.
    if not is_variable(target, variable) or {_type(left), _type(bound)} != {_type(variable)}:
        return None
    if not all(_is_invariant(unit, part, body, variable) for part in (step, bound)) or _type(step) not in _INTEGERS:
        return None
    return Stride(unit.text_of(bound), unit.text_of(step), span_of(increment))


def _type(cursor: Cursor) -> str:
    spelling: str = cursor.type.get_canonical().spelling
    return spelling.removeprefix("const ")


def _is_invariant(unit: TranslationUnit, expression: Cursor, body: Cursor, variable: Cursor) -> bool:
    """Whether the expression has the same value each time it is read while the loop runs."""
    left = [expression]
    while left:
        operands = _invariant_operands(unit, left.pop(), body, variable)
        if operands is None:
            return False
        left += operands
    return True


def _invariant_operands(unit: TranslationUnit, expression: Cursor, body: Cursor, variable: Cursor) -> list[Cursor] | None:
    """The operands that must be unchanged for the expression to be unchanged; None if it may change anyway."""
    kinds = unit.bindings.CursorKind
    if expression.kind == kinds.INTEGER_LITERAL:
        return []
    if expression.kind == kinds.DECL_REF_EXPR:
        return [] if _is_steady(unit, expression.referenced, body, variable) else None
    if expression.kind == kinds.MEMBER_REF_EXPR:  # gridDim.x and the like, which are constant
        operand = next(expression.get_children(), None)
        constant = operand is not None and operand.spelling in ("gridDim", "blockDim", "blockIdx", "threadIdx")
        return [] if constant else None
    if expression.kind == kinds.BINARY_OPERATOR and libclang.operator(unit.bindings, expression) not in _OPERATORS:
        return None
    if expression.kind in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR, kinds.BINARY_OPERATOR):
        return list(expression.get_children()) or None
    return None


def _is_steady(unit: TranslationUnit, named: Cursor, body: Cursor, variable: Cursor) -> bool:
    """Whether a name keeps its value while the loop runs."""
    kinds = unit.bindings.CursorKind
    if named == variable or named.kind not in (kinds.VAR_DECL, kinds.PARM_DECL):
        return False
    if named.type.is_const_qualified():
        return True
    is_local = named.kind == kinds.PARM_DECL or named.semantic_parent.kind.name in ("FUNCTION_DECL", "FUNCTION_TEMPLATE")
    if not is_local or named.type.kind.name == "LVALUEREFERENCE" or changes(body, named, unit.bindings):
        return False
    return not escapes(named.semantic_parent, named, unit.bindings)
