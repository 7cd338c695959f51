"""Loads that every iteration of a loop executes from the same address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.cursors import EXIT_STATEMENTS, byte_range_of, find_by_span, span_of, walk
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.loops import KINDS
from rocm_perf_lab.hip_source.reads import Read, is_pure, reads_in
from rocm_perf_lab.hip_source.source_parts import Loop, SourceKernel, Span
from rocm_perf_lab.hip_source.variables import escaping_in, variables_changed_in

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit


@dataclass(frozen=True)
class InvariantLoad:
    """A load with the same result in every iteration.

    text: the load as written. type: the type of its value. parameter: the pointer through which it reads. spans: its locations
    in the loop.
    """

    text: str
    type: str
    parameter: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class LoopEntry:
    """The condition under which a loop runs at all, to be evaluated before the loop. first: the statements that precede the
    condition (`int i = 0;`), if any. condition: empty if the loop always runs.
    """

    first: str
    condition: str


def invariant_loads(unit: TranslationUnit, kernel: SourceKernel, loop: Loop) -> list[InvariantLoad]:
    """The invariant loads that every iteration executes unconditionally."""
    function = function_of(unit, kernel)
    cursor = find_by_span(function, loop.span, _kind(loop))
    body = list(cursor.get_children())[0 if loop.kind == "do" else -1]
    moving = variables_changed_in(cursor, unit.bindings) | escaping_in(function, unit.bindings)
    groups: dict[tuple[str, str, str], list[Read]] = {}
    for read in reads_in(unit, function, body):
        if _is_invariant(cursor, moving, read) and not unit.is_cut_by_macro(read.cursor):
            groups.setdefault((unit.text_of(read.cursor), read.type, read.parameter.spelling), []).append(read)
    exits = [c.extent.start.offset for c in walk(cursor) if c.kind.name in EXIT_STATEMENTS]
    return [
        InvariantLoad(*key, tuple(span_of(read.cursor) for read in reads))
        for key, reads in groups.items()
        if any(read.always and not any(leave < byte_range_of(read.cursor)[0] for leave in exits) for read in reads)
    ]


def entry_of(unit: TranslationUnit, kernel: SourceKernel, loop: Loop) -> LoopEntry | None:
    """The condition under which the loop runs; None if it has an unsupported form or cannot be evaluated twice."""
    if loop.kind == "do" or (loop.trip_count or 0) > 0:
        return LoopEntry("", "")
    cursor = find_by_span(function_of(unit, kernel), loop.span, _kind(loop))
    parts = list(cursor.get_children())
    if loop.kind == "while" and len(parts) == 2 and parts[0].kind.is_expression() and is_pure(unit, parts[0]):
        return LoopEntry("", unit.text_of(parts[0]))
    if loop.kind != "for" or len(parts) != 4 or parts[0].kind.name != "DECL_STMT" or not parts[1].kind.is_expression():
        return None
    if not is_pure(unit, parts[0]) or not is_pure(unit, parts[1]):
        return None
    first = unit.text_of(parts[0])
    return LoopEntry(first if first.endswith(";") else f"{first};", unit.text_of(parts[1]))


def _kind(loop: Loop) -> str:
    return next(name for name, kind in KINDS.items() if kind == loop.kind)


def _is_invariant(loop: Cursor, moving: frozenset[str], read: Read) -> bool:
    """Whether none of the variables in the address is declared in the loop or may change in it."""
    start, end = byte_range_of(loop)
    return not any(start <= variable.extent.start.offset < end or variable.get_usr() in moving for variable in read.variables)
