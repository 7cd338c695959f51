"""Whether the iterations of a loop can be executed by different threads, in any order.

They can if each iteration stores only to elements selected by its own index, reads nothing that another iteration stores, and
changes no variable that is declared outside the loop. That the pointers used for stores do not overlap with any others must be
promised separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import byte_range_of, unwrapped, walk, walk_below
from rocm_perf_lab.hip_source.variables import variables_changed_in

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_EXIT_STATEMENTS = ("BREAK_STMT", "RETURN_STMT", "GOTO_STMT", "INDIRECT_GOTO_STMT")
_POINTERS = ("POINTER", "CONSTANTARRAY", "INCOMPLETEARRAY", "DEPENDENTSIZEDARRAY")


class DependentIterationsError(Exception):
    """Why the iterations are not, or may not be, independent."""


@dataclass(frozen=True)
class Independence:
    """The conditions under which the iterations are independent. stored: the pointer parameters that they store through.
    strides: the factors, as source text, by which the loop's variable is multiplied in the elements' indices: none of them may
    be 0.
    """

    stored: tuple[str, ...]
    strides: tuple[str, ...]


@dataclass(frozen=True)
class _Access:
    """`base[index]`. stored: whether it is written."""

    element: Cursor
    base: Cursor
    index: Cursor
    stored: bool


def independence_of(unit: TranslationUnit, body: Cursor, loop: Cursor) -> Independence:
    """The conditions under which the iterations are independent.

    body: the function's body. loop: a `for` statement that declares its loop variable. Raises DependentIterationsError if the
    iterations are not independent, or if the rest of the body has an effect on memory.
    """
    _expect_no_effects_outside(unit, body, loop)
    left = next((cursor for cursor in walk(loop) if cursor.kind.name in _EXIT_STATEMENTS), None)
    if left is not None:
        raise DependentIterationsError(f"the loop may end in line {left.location.line}, before its bound")
    own = {cursor.get_usr() for cursor in walk(loop) if cursor.kind.name == "VAR_DECL"}
    changed = variables_changed_in(loop, unit.bindings)
    for cursor in walk(loop):
        if cursor.kind.name == "DECL_REF_EXPR" and cursor.referenced is not None:
            name = cursor.referenced.get_usr()
            if name in changed - own:
                raise DependentIterationsError(
                    f"{cursor.spelling} keeps a value from one iteration to the next, or after the loop"
                )
    accesses = list(_accesses(unit, loop))
    stored = [access for access in accesses if access.stored]
    variable = next(cursor for cursor in walk(next(loop.get_children())) if cursor.kind.name == "VAR_DECL")
    strides: list[str] = []
    for store in stored:
        strides += _strides(unit, store, variable, own)
        _expect_not_read(unit, store, accesses)
    if not stored:
        raise DependentIterationsError("the loop stores nothing")
    parameters = dict.fromkeys(_parameter(store.base) for store in stored)
    return Independence(tuple(parameters), tuple(dict.fromkeys(strides)))


def _expect_no_effects_outside(unit: TranslationUnit, body: Cursor, loop: Cursor) -> None:
    start, end = byte_range_of(loop)
    for cursor in walk(body):
        if start <= byte_range_of(cursor)[0] < end:
            continue
        target = _target(unit, cursor)
        if target is not None and target.kind.name != "DECL_REF_EXPR":
            raise DependentIterationsError(f"line {cursor.location.line} stores outside of the loop")


def _accesses(unit: TranslationUnit, loop: Cursor) -> Iterator[_Access]:
    """Every element that the loop accesses. Raises DependentIterationsError for pointers that are used in other ways."""
    targets = {byte_range_of(target) for cursor in walk(loop) if (target := _target(unit, cursor)) is not None}
    for target in (target for cursor in walk(loop) if (target := _target(unit, cursor)) is not None):
        if target.kind.name not in ("DECL_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR"):
            raise DependentIterationsError(
                f"line {target.location.line} stores to something other than an element or a variable"
            )
    for cursor, above in walk_below(loop):
        if cursor.kind.name != "DECL_REF_EXPR" or cursor.type.get_canonical().kind.name not in _POINTERS:
            continue
        holders = list(above)
        while holders and holders[-1].kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
            holders.pop()
        element = holders[-1]
        parts = list(element.get_children())
        if element.kind.name != "ARRAY_SUBSCRIPT_EXPR" or unwrapped(parts[0]) != cursor:
            raise DependentIterationsError(
                f"{cursor.spelling} is used other than as `{cursor.spelling}[...]` (line {cursor.location.line})"
            )
        yield _Access(element, cursor.referenced, parts[1], byte_range_of(element) in targets)


def _target(unit: TranslationUnit, cursor: Cursor) -> Cursor | None:
    """The target of an assignment expression; None for any other expression."""
    operator = libclang.operator(unit.bindings, cursor)
    if cursor.kind.name == "COMPOUND_ASSIGNMENT_OPERATOR" or operator in ("++", "--"):
        return unwrapped(next(cursor.get_children()))
    if cursor.kind.name == "BINARY_OPERATOR" and operator == "=":
        return unwrapped(next(cursor.get_children()))
    if cursor.kind.name == "CALL_EXPR" and cursor.spelling.startswith("operator") and cursor.spelling.endswith("="):
        return unwrapped(next(cursor.get_children()))
    return None


def _strides(unit: TranslationUnit, store: _Access, variable: Cursor, own: set[str]) -> list[str]:
    """The factors by which the loop's variable is multiplied in the element's index, excluding nonzero literals. The index may
    use the variable directly or through const variables that the loop declares. Raises DependentIterationsError if iterations
    may collide.
    """
    factors, part = [], unwrapped(store.index)
    while not (part.kind.name == "DECL_REF_EXPR" and part.referenced == variable):
        operands = [unwrapped(child) for child in part.get_children()]
        if part.kind.name == "DECL_REF_EXPR" and part.referenced is not None and part.referenced.get_usr() in own:
            initializers = [child for child in part.referenced.get_children() if child.kind.is_expression()]
            operands = [unwrapped(initializers[-1])] if initializers and part.referenced.type.is_const_qualified() else []
        moving = [operand for operand in operands if _moves(operand, own)]
        operator = libclang.operator(unit.bindings, part) if len(operands) == 2 else "+"
        if not operands or (not moving and part == unwrapped(store.index)):
            raise DependentIterationsError(f"every iteration stores, or may store, to {unit.text_of(store.element)}")
        if len(moving) != 1 or operator not in ("+", "-", "*"):
            raise DependentIterationsError(f"{unit.text_of(store.element)} may be the same element in two iterations")
        factors += [unit.text_of(operand) for operand in operands if operator == "*" and operand != moving[0]]
        part = moving[0]
    return [factor for factor in factors if not factor.isdigit() or int(factor) == 0]


def _moves(part: Cursor, own: set[str]) -> bool:
    """Whether the expression is computed from a variable that the loop declares."""
    named = (cursor.referenced for cursor in walk(part) if cursor.kind.name == "DECL_REF_EXPR")
    return any(declaration is not None and declaration.get_usr() in own for declaration in named)


def _expect_not_read(unit: TranslationUnit, store: _Access, accesses: list[_Access]) -> None:
    """Check that the loop accesses only this element of the array (it may read it too: no other iteration stores to it)."""
    text = unit.text_of(store.element)
    for access in accesses:
        if access.base == store.base and unit.text_of(access.element) != text:
            raise DependentIterationsError(f"{store.base.spelling}, which the loop stores to, is accessed at two places")


def _parameter(base: Cursor) -> str:
    """The name of the pointer parameter that `base` refers to or is derived from."""
    while base.kind.name == "VAR_DECL" and base.type.get_canonical().kind.name == "POINTER":
        named = [cursor.referenced for cursor in walk(base) if cursor.kind.name == "DECL_REF_EXPR"]
        pointers = [
            declaration
            for declaration in named
            if declaration is not None and declaration.type.get_canonical().kind.name == "POINTER"
        ]
        if len(pointers) != 1:
            raise DependentIterationsError(f"what {base.spelling} points to is not known")
        (base,) = pointers
    if base.kind.name != "PARM_DECL":
        raise DependentIterationsError(f"it stores to {base.spelling}, which is not a pointer parameter")
    return str(base.spelling)
