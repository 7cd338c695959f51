"""Promises that a candidate makes implicitly: functions whose end must never be reached, and calls to functions that make
promises themselves.

The compiler assumes that undefined behaviour does not occur, and nothing checks that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.gate.source.forbidden_text import is_assumption
from rocm_perf_lab.hip_source.cursors import body_of, walk
from rocm_perf_lab.hip_source.source import TranslationUnit

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ARROW = re.compile(rb"->((?:(?!\]\s*[({<]).)*)$", re.DOTALL)  # the arrow before the return type, not one inside a capture
_CONSTEXPR = re.compile(r"if constexpr\b")
_FUNCTIONS = ("FUNCTION_DECL", "FUNCTION_TEMPLATE", "CXX_METHOD", "CONVERSION_FUNCTION")
_LAMBDA, _RETURN = "LAMBDA_EXPR", "RETURN_STMT"
_NESTED_FUNCTIONS = (*_FUNCTIONS, _LAMBDA, "CONSTRUCTOR", "DESTRUCTOR")


def promise_not_in_baseline(
    before: tuple[TranslationUnit, Cursor], after: tuple[TranslationUnit, Sequence[Cursor]]
) -> tuple[int, str] | None:
    """Line and description of a promise that the baseline's kernel does not make; None if there is none.

    before: the baseline's kernel. after: the candidate's kernel and new functions.
    """
    (old, kernel), (new, functions) = before, after
    known = {old.text_of(cursor) for cursor in walk(kernel) if may_fall_off_end(old, cursor)}
    for function in functions:
        for cursor in walk(function):
            if may_fall_off_end(new, cursor) and new.text_of(cursor) not in known:
                return cursor.extent.end.line, "the end of a body that has to return a value: end it with a return"
    called = {callee.get_usr() for callee in _called_functions([kernel])}
    for callee in _called_functions(functions):
        if callee.get_usr() not in called and (how := _promise_in_words(new, callee)):
            return callee.location.line, f"{callee.spelling}, which {how}, a promise that is not checked"
    return None


def may_fall_off_end(unit: TranslationUnit, cursor: Cursor) -> bool:
    """Whether the cursor is a function or lambda that returns a value but whose body does not visibly end with a return."""
    body = body_of(cursor) if cursor.kind.name in (*_FUNCTIONS, _LAMBDA) else None
    if body is None or _visibly_ends(unit, body):
        return False
    if cursor.kind.name == _LAMBDA:
        return _lambda_has_result(unit, cursor, body)
    kind = cursor.result_type.get_canonical().kind.name
    return _returns_something(body) if kind == "AUTO" else kind != "VOID"


def _lambda_has_result(unit: TranslationUnit, cursor: Cursor, body: Cursor) -> bool:
    """libclang does not report a lambda's return type, so look at the type after its arrow or, failing that, at its returns."""
    head = _text(unit, cursor, body.extent.start.offset)
    if arrow := _ARROW.search(head):
        return arrow[1].strip() != b"void"
    return not head or _returns_something(body)  # no head: the lambda comes from a macro


def _text(unit: TranslationUnit, cursor: Cursor, end: int) -> bytes:
    """The text from the cursor's first byte to `end`."""
    start = cursor.extent.start
    return unit.content(Path(start.file.name))[start.offset : end] if start.file is not None else b""


def _returns_something(body: Cursor) -> bool:
    return any(cursor.kind.name == _RETURN and any(cursor.get_children()) for cursor in _cursors_outside_nested_functions(body))


def _cursors_outside_nested_functions(body: Cursor) -> Iterator[Cursor]:
    """The cursors in a body, except those in nested functions."""
    left = [body]
    while left:
        cursor = left.pop()
        yield cursor
        left.extend(child for child in cursor.get_children() if child.kind.name not in _NESTED_FUNCTIONS)


def _visibly_ends(unit: TranslationUnit, statement: Cursor) -> bool:
    """Whether a statement visibly prevents the code after it from running. Clang's own conclusions from enums and conditions
    are not used: Clang assumes that an enum has no values other than those declared.
    """
    parts = list(statement.get_children())
    kind = statement.kind.name
    if kind == _RETURN:
        return True
    if kind == "IF_STMT":
        if len(parts) < 3:
            return False
        ends = [_visibly_ends(unit, branch) for branch in parts[-2:]]
        return (
            all(ends)
            or any(ends)
            and _is_constexpr(unit, statement)
            and _is_discarded_branch(unit, parts[-2 + ends.index(False)])
        )
    if kind == "SWITCH_STMT":
        kinds = [cursor.kind.name for cursor in _cursors_outside_nested_functions(statement)]
        return "DEFAULT_STMT" in kinds and "BREAK_STMT" not in kinds and _visibly_ends(unit, parts[-1])
    return (
        kind in ("COMPOUND_STMT", "CASE_STMT", "DEFAULT_STMT", "UNEXPOSED_STMT")
        and bool(parts)
        and _visibly_ends(unit, parts[-1])
    )


def _is_constexpr(unit: TranslationUnit, statement: Cursor) -> bool:
    return bool(_CONSTEXPR.match(unit.text_of(statement)))


def _is_discarded_branch(unit: TranslationUnit, branch: Cursor) -> bool:
    """Whether an empty statement stands for a branch that `if constexpr` discards, as in an instantiated template."""
    is_empty = branch.kind.name == "COMPOUND_STMT" and not any(branch.get_children())
    return is_empty and bool(_COMMENT.sub("", unit.text_of(branch)).strip("{} "))


def _called_functions(functions: Sequence[Cursor]) -> list[Cursor]:
    """The functions in the user's files that the given functions refer to, directly or indirectly; not the given ones."""
    definitions: dict[str, Cursor] = {}
    seen, left = {function.get_usr() for function in functions}, list(functions)
    while left:
        for cursor in walk(left.pop()):
            named = cursor.referenced
            if named is None or named.kind.name not in _NESTED_FUNCTIONS or named.get_usr() in seen:
                continue
            seen.add(named.get_usr())
            definition = named.get_definition()
            if definition is not None and definition.location.file is not None and not definition.location.is_in_system_header:
                definitions[definition.get_usr()] = definition
                left.append(definition)
    return list(definitions.values())


def _promise_in_words(unit: TranslationUnit, function: Cursor) -> str | None:
    written = _text(unit, function, function.extent.end.offset).decode(errors="replace")
    names = {*re.findall(r"\w+", _COMMENT.sub(" ", written)), *(cursor.spelling for cursor in walk(function))}
    if word := next(filter(is_assumption, sorted(names)), None):
        return f"has {word}"
    return "need not return a value" if any(may_fall_off_end(unit, cursor) for cursor in walk(function)) else None
