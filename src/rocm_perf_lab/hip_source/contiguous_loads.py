"""Loads of neighbouring elements in one block of statements; all of them are executed if the block runs to its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import EXIT_STATEMENTS, byte_range_of, span_of, unwrapped, walk
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.reads import Read, reads_in
from rocm_perf_lab.hip_source.source_parts import SourceKernel, Span
from rocm_perf_lab.hip_source.variables import escaping_in, variables_changed_in

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import ClangType, Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_WIDE_INTEGERS = ("LONG", "ULONG", "LONGLONG", "ULONGLONG")
_NO_ELEMENTS = ("BOOL", "VECTOR", "EXTVECTOR")  # the elements of a vector of bool are bits
_ENDS = ("CASE_STMT", "DEFAULT_STMT", "LABEL_STMT")


@dataclass(frozen=True)
class ContiguousLoads:
    """`base[index + first]`, `base[index + first + 1]`, ... in one block.

    first_element: source text of the first load; first_statement: the first one that contains one of the loads. type, bytes:
    type and size of an element. spans: for each element in order, its locations in the source. parameter: the pointer
    parameter through which the loads read.
    """

    first_element: str
    first_statement: Span
    type: str
    bytes: int
    parameter: str
    spans: tuple[tuple[Span, ...], ...]


@dataclass(frozen=True)
class _Group:
    """Loads whose addresses differ only by a constant; nothing changes the variables in these addresses between the loads."""

    before: Cursor
    parameter: str
    type: ClangType
    variables: tuple[Cursor, ...]
    texts: dict[int, str] = field(default_factory=dict)
    places: dict[int, list[Span]] = field(default_factory=dict)


def contiguous_loads(unit: TranslationUnit, kernel: SourceKernel) -> Iterator[list[ContiguousLoads]]:
    """For each block that has any, its sequences of two or more adjacent loads."""
    function = function_of(unit, kernel)
    escaping = escaping_in(function, unit.bindings)
    for cursor in walk(function):
        if cursor.kind == unit.bindings.CursorKind.COMPOUND_STMT:
            runs = [run for group in _Block(unit, function, escaping).groups(cursor) for run in _contiguous_runs(group)]
            if runs:
                yield runs


class _Block:
    """Groups the loads of one block. escaping: variables that may be accessed in ways other than by name."""

    def __init__(self, unit: TranslationUnit, function: Cursor, escaping: frozenset[str]):
        self._unit, self._function, self._escaping = unit, function, escaping
        self._open: dict[tuple[str, str, str, str], _Group] = {}
        self._closed: list[_Group] = []

    def groups(self, block: Cursor) -> list[_Group]:
        for statement in block.get_children():
            ends = any(c.kind.name in (*EXIT_STATEMENTS, *_ENDS) for c in walk(statement))
            changed = variables_changed_in(statement, self._unit.bindings)
            self._close(changed)
            if not ends and not self._unit.is_cut_by_macro(statement):
                self._add_loads(statement, changed | self._escaping)
            if ends:
                self._close()
        self._close()
        return self._closed

    def _close(self, changed: frozenset[str] | None = None) -> None:
        """Close the groups that use one of these variables; None closes all groups."""
        for key, group in list(self._open.items()):
            if changed is None or any(variable.get_usr() in changed for variable in group.variables):
                self._closed.append(self._open.pop(key))

    def _add_loads(self, statement: Cursor, moving: frozenset[str]) -> None:
        """Add the statement's loads to the open groups.

        moving: variables that the statement, or code that accesses them by another name, may change.
        """
        start, end = byte_range_of(statement)
        for read in reads_in(self._unit, self._function, statement):
            parts = self._constant_part(read)
            if parts is None or not read.always or not self._is_steady(read, moving):
                continue
            if any(start <= variable.extent.start.offset < end for variable in read.variables):
                continue  # declared by the statement itself
            base, index, offset = parts
            key = (read.parameter.spelling, base, index, read.type)
            group = self._open.get(key)
            if group is None:
                group = _Group(statement, read.parameter.spelling, read.cursor.type, read.variables)
                self._open[key] = group
            group.texts.setdefault(offset, self._unit.text_of(read.cursor))
            group.places.setdefault(offset, []).append(span_of(read.cursor))

    def _is_steady(self, read: Read, moving: frozenset[str]) -> bool:
        """Whether the variables in the address keep their values, and the text of the read can be edited."""
        return not self._unit.is_cut_by_macro(read.cursor) and not any(v.get_usr() in moving for v in read.variables)

    def _constant_part(self, read: Read) -> tuple[str, str, int] | None:
        """(base, non-constant part of the index, constant part); None if this is no subscript, or if the sum may wrap."""
        kinds, bindings = self._unit.bindings.CursorKind, self._unit.bindings
        if read.cursor.kind != kinds.ARRAY_SUBSCRIPT_EXPR:
            return None
        base, index = read.cursor.get_children()
        index = unwrapped(index)
        if (value := libclang.integer_value(bindings, index)) is not None:
            return self._unit.text_of(base), "", value
        variable_part, offset = index, 0
        if index.kind == kinds.BINARY_OPERATOR and libclang.operator(bindings, index) in ("+", "-"):
            left, right = index.get_children()
            value = libclang.integer_value(bindings, right)
            if value is not None:
                variable_part, offset = unwrapped(left), value if libclang.operator(bindings, index) == "+" else -value
        kind = index.type.get_canonical().kind.name
        return (
            (self._unit.text_of(base), self._unit.text_of(variable_part), offset) if kind in ("INT", *_WIDE_INTEGERS) else None
        )


def _contiguous_runs(group: _Group) -> Iterator[ContiguousLoads]:
    """Runs of 2, 4, 8 or 16 elements with at most 16 bytes in total, from the lowest offset up."""
    size, offsets = group.type.get_size(), sorted(group.places)
    if size <= 0 or size & (size - 1) or group.type.get_canonical().kind.name in _NO_ELEMENTS:
        return
    while offsets:
        run = next((offsets[:n] for n in (16, 8, 4, 2) if n * size <= 16 and _is_contiguous(offsets[:n], n)), None)
        if run is None:
            offsets = offsets[1:]
            continue
        yield ContiguousLoads(
            first_element=group.texts[run[0]],
            first_statement=span_of(group.before),
            type=group.type.spelling.removeprefix("const "),
            bytes=size,
            parameter=group.parameter,
            spans=tuple(tuple(group.places[offset]) for offset in run),
        )
        offsets = offsets[len(run) :]


def _is_contiguous(offsets: list[int], length: int) -> bool:
    return len(offsets) == length and offsets[-1] - offsets[0] == length - 1
