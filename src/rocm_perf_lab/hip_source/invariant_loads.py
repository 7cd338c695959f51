"""Loads that a loop makes in every iteration from one and the same address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import libclang
from .cursors import LEAVES, place_of, span_of, within
from .kernels import function_of
from .loops import KINDS
from .model import Kernel, Loop, Span
from .reads import Read, is_pure, reads_in
from .variables import changes, escapes

if TYPE_CHECKING:
    from .source import TranslationUnit

_SOMETIMES = (*KINDS, "SWITCH_STMT", "LAMBDA_EXPR", "CXX_TRY_STMT")


@dataclass(frozen=True)
class InvariantLoad:
    """text: as written. type: of its value. parameter: the pointer it reads behind. places: where it stands in the loop."""

    text: str
    type: str
    parameter: str
    places: tuple[Span, ...]


@dataclass(frozen=True)
class Entry:
    """What decides whether a loop runs at all, evaluated before it: statements that may stand first (`int i = 0;`, empty for
    none) and a condition, empty where it always runs."""

    first: str
    condition: str


def invariant_loads(unit: TranslationUnit, kernel: Kernel, loop: Loop) -> list[InvariantLoad]:
    """Those made at least once in every iteration, without any condition."""
    function = function_of(unit, kernel)
    cursor = within(function, loop.span, _kind(loop))
    body = list(cursor.get_children())[0 if loop.kind == "do" else -1]
    groups: dict[tuple[str, str, str], list[Read]] = {}
    for read in reads_in(unit, function, body):
        if _stays(unit, function, cursor, read) and not unit.is_cut_by_macro(read.cursor):
            groups.setdefault((unit.text_of(read.cursor), read.type, read.parameter.spelling), []).append(read)
    exits = [c.extent.start.offset for c in cursor.walk_preorder() if c.kind.name in LEAVES]
    return [
        InvariantLoad(*key, tuple(span_of(read.cursor) for read in reads))
        for key, reads in groups.items()
        if any(always_evaluated(unit, read) and not any(leave < place_of(read.cursor)[0] for leave in exits) for read in reads)
    ]


def entry_of(unit: TranslationUnit, kernel: Kernel, loop: Loop) -> Entry | None:
    """None where it cannot be evaluated twice."""
    if loop.kind == "do" or (loop.trip_count or 0) > 0:
        return Entry("", "")
    cursor = within(function_of(unit, kernel), loop.span, _kind(loop))
    parts = list(cursor.get_children())
    if loop.kind == "while" and len(parts) == 2 and parts[0].kind.is_expression() and is_pure(unit, parts[0]):
        return Entry("", unit.text_of(parts[0]))
    if loop.kind != "for" or len(parts) != 4 or parts[0].kind.name != "DECL_STMT" or not parts[1].kind.is_expression():
        return None
    if not is_pure(unit, parts[0]) or not is_pure(unit, parts[1]):
        return None
    first = unit.text_of(parts[0])
    return Entry(first if first.endswith(";") else f"{first};", unit.text_of(parts[1]))


def _kind(loop: Loop) -> str:
    return next(name for name, kind in KINDS.items() if kind == loop.kind)


def _stays(unit: TranslationUnit, function: Any, loop: Any, read: Read) -> bool:
    """Whether nothing that the address is made of is declared or changed in the loop."""
    start, end = place_of(loop)
    return not any(
        start <= variable.extent.start.offset < end
        or changes(loop, variable, unit.bindings)
        or escapes(function, variable, unit.bindings)
        for variable in read.variables
    )


def always_evaluated(unit: TranslationUnit, read: Read) -> bool:
    """Whether it is evaluated whenever the body is."""
    below = read.cursor
    for ancestor in reversed(read.ancestors):
        name = ancestor.kind.name
        if name in _SOMETIMES:
            return False
        chooses = name in ("IF_STMT", "CONDITIONAL_OPERATOR") or _is_logical(unit, ancestor)
        if chooses and next(ancestor.get_children()) != below:
            return False
        below = ancestor
    return True


def _is_logical(unit: TranslationUnit, cursor: Any) -> bool:
    return libclang.operator(unit.bindings, cursor) in ("&&", "||")
