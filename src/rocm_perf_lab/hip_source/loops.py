"""The loops of a function body: shape, trip count, and contents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang, reordering_obstacles
from rocm_perf_lab.hip_source.cursors import byte_range_of, span_of, walk
from rocm_perf_lab.hip_source.source_parts import Loop
from rocm_perf_lab.hip_source.stride import stride_of
from rocm_perf_lab.hip_source.variables import changes, is_variable, names

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

KINDS = {"FOR_STMT": "for", "WHILE_STMT": "while", "DO_STMT": "do", "CXX_FOR_RANGE_STMT": "range-for"}


def loops_in(unit: TranslationUnit, cursor: Cursor, depth: int = 0, hinted: bool = False) -> Iterator[Loop]:
    """The outermost loops under `cursor`; nested loops are their children."""
    left = [(child, hinted) for child in reversed(list(cursor.get_children()))]
    while left:
        child, hinted = left.pop()
        kind = child.kind.name
        if kind in KINDS:
            yield _loop(unit, child, depth, hinted)
        else:
            # `#pragma unroll` and [[clang::...]] wrap the loop in an attributed statement, which has no cursor kind of its own.
            left += [(inner, kind == "UNEXPOSED_STMT") for inner in reversed(list(child.get_children()))]


def _loop(unit: TranslationUnit, cursor: Cursor, depth: int, hinted: bool) -> Loop:
    kind = KINDS[cursor.kind.name]
    children = list(cursor.get_children())
    body = children[0] if kind == "do" else children[-1]
    counted = _CountedLoop.read(unit, cursor) if kind == "for" else None
    return Loop(
        kind=kind,
        span=span_of(cursor),
        body=span_of(body),
        depth=depth,
        variable=counted.variable if counted else None,
        step=counted.step if counted else None,
        trip_count=counted.trip_count if counted else None,
        hint=hinted,
        in_macro=unit.is_cut_by_macro(cursor) or unit.is_cut_by_macro(body),
        obstacles=reordering_obstacles.find(cursor, unit.bindings),
        loads=tuple(_loads(unit, body)),
        children=_inside(unit, body, depth + 1),
        stride=stride_of(unit, cursor) if counted else None,
    )


def _inside(unit: TranslationUnit, body: Cursor, depth: int) -> tuple[Loop, ...]:
    if body.kind.name in KINDS:  # for (...) for (...)
        return (_loop(unit, body, depth, hinted=False),)
    return tuple(loops_in(unit, body, depth, hinted=body.kind.name == "UNEXPOSED_STMT"))


def _loads(unit: TranslationUnit, body: Cursor) -> Iterator[str]:
    """The source text of each subscript or dereference that is read, without duplicates."""
    kinds = unit.bindings.CursorKind
    seen: set[str] = set()
    written = {byte_range_of(target) for target in _assigned_expressions(unit, body)}
    for cursor in walk(body):
        is_dereference = cursor.kind == kinds.UNARY_OPERATOR and libclang.operator(unit.bindings, cursor) == "*"
        if (cursor.kind == kinds.ARRAY_SUBSCRIPT_EXPR or is_dereference) and byte_range_of(cursor) not in written:
            source = unit.text_of(cursor)
            if source not in seen:
                seen.add(source)
                yield source


def _assigned_expressions(unit: TranslationUnit, body: Cursor) -> Iterator[Cursor]:
    """The left-hand sides of plain assignments."""
    for cursor in walk(body):
        if cursor.kind == unit.bindings.CursorKind.BINARY_OPERATOR and libclang.operator(unit.bindings, cursor) == "=":
            yield next(cursor.get_children())


class _CountedLoop:
    """`for (T i = first; i < bound; i += step)` with i unchanged in the body."""

    def __init__(self, variable: str, step: int | None, trip_count: int | None):
        self.variable, self.step, self.trip_count = variable, step, trip_count

    @classmethod
    def read(cls, unit: TranslationUnit, loop: Cursor) -> _CountedLoop | None:
        kinds = unit.bindings.CursorKind
        parts = list(loop.get_children())
        if len(parts) != 4:
            return None  # a part is missing, or the condition declares a variable
        start, condition, increment, body = parts
        declared = [c for c in walk(start) if c.kind == kinds.VAR_DECL]
        if len(declared) != 1 or condition.kind != kinds.BINARY_OPERATOR:
            return None
        variable = declared[0]
        if not is_variable(next(condition.get_children()), variable) or changes(body, variable, unit.bindings):
            return None
        step = _step(unit, increment, variable)
        if step is None and not names(increment, variable):
            return None
        return cls(variable.spelling, step, _trip_count(unit, variable, condition, step))


def _step(unit: TranslationUnit, increment: Cursor, variable: Cursor) -> int | None:
    kinds = unit.bindings.CursorKind
    if increment.kind == kinds.UNARY_OPERATOR:
        return {"++": 1, "--": -1}.get(libclang.operator(unit.bindings, increment))
    if increment.kind != kinds.COMPOUND_ASSIGNMENT_OPERATOR:
        return None
    operands = list(increment.get_children())
    value = libclang.integer_value(unit.bindings, operands[1])
    sign = {"+=": 1, "-=": -1}.get(libclang.operator(unit.bindings, increment))
    return sign * value if sign and value is not None and is_variable(operands[0], variable) else None


def _trip_count(unit: TranslationUnit, variable: Cursor, condition: Cursor, step: int | None) -> int | None:
    values = [c for c in variable.get_children() if c.kind.is_expression()]
    if not step or not values:
        return None
    first = libclang.integer_value(unit.bindings, values[-1])
    bound = libclang.integer_value(unit.bindings, list(condition.get_children())[1])
    if first is None or bound is None:
        return None
    last = {"<": bound - 1, "<=": bound, ">": bound + 1, ">=": bound}.get(libclang.operator(unit.bindings, condition))
    if last is None or (step > 0) != (libclang.operator(unit.bindings, condition) in ("<", "<=")):
        return None
    return max(0, (last - first) // step + 1)
