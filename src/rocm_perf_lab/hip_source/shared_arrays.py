"""The multi-dimensional static LDS arrays of a kernel, and whether each is accessed only element by element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import libclang
from rocm_perf_lab.hip_source.cursors import span_of, walk, walk_below
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.lanes import LaneValues
from rocm_perf_lab.hip_source.source_parts import SourceKernel, Span

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import ClangType, Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_ARRAYS = ("CONSTANTARRAY", "DEPENDENTSIZEDARRAY")


@dataclass(frozen=True)
class SharedArray:
    """`__shared__ T name[..][rows][row]` in a kernel's body.

    span: the span of the declaration. row: the span of the innermost extent; None if it cannot be edited (because of a macro or
    a type alias). row_bytes, element_bytes: sizes; None if they depend on a template. obstacle: why the array's layout must not
    change; None if it may. rows_by_lane: whether some access selects the row by lane, so that the lanes of a wave access
    several rows.
    """

    name: str
    span: Span
    row: Span | None
    row_bytes: int | None
    element_bytes: int | None
    obstacle: str | None
    rows_by_lane: bool


def shared_arrays(unit: TranslationUnit, kernel: SourceKernel) -> Iterator[SharedArray]:
    """The arrays declared in the kernel's own body, in source order."""
    kinds = unit.bindings.CursorKind
    function = function_of(unit, kernel)
    lanes = LaneValues(unit, function)
    for cursor in walk(function):
        if cursor.kind != kinds.VAR_DECL or not any(c.kind == kinds.CUDASHARED_ATTR for c in cursor.get_children()):
            continue
        if (rank := _rank(cursor.type)) >= 2:
            uses = list(_uses(unit, function, cursor))
            yield _array(unit, cursor, uses, rank, lanes)


def _array(unit: TranslationUnit, cursor: Cursor, uses: list[_Use], rank: int, lanes: LaneValues) -> SharedArray:
    row = cursor.type.get_canonical()
    for _ in range(rank - 1):
        row = row.element_type
    full_uses = [use for use in uses if use.obstacle is None and len(use.subscripts) == rank]
    odd = next((use for use in uses if use not in full_uses), None)
    return SharedArray(
        name=cursor.spelling,
        span=span_of(cursor),
        row=_last_extent(unit, cursor),
        row_bytes=_size(row),
        element_bytes=_size(row.element_type),
        obstacle=None if odd is None else f"{odd.obstacle or 'it is used as a whole, or by rows'} (line {odd.line})",
        rows_by_lane=any(lanes.differs(subscript) for use in full_uses for subscript in use.subscripts[:-1]),
    )


def _rank(type_: ClangType) -> int:
    rank, type_ = 0, type_.get_canonical()
    while type_.kind.name in _ARRAYS:
        rank, type_ = rank + 1, type_.element_type
    return rank


def _size(type_: ClangType) -> int | None:
    return size if (size := type_.get_size()) > 0 else None


def _last_extent(unit: TranslationUnit, cursor: Cursor) -> Span | None:
    """The span between the brackets at the end of a declarator (N in `a[M][N]`). None if there are no such brackets, if they
    contain a comment or another bracket, or if they come from a macro or another file.
    """
    extent, path = cursor.extent, unit.own
    if extent.end.file is None or extent.end.file.name != path:
        return None
    text, close = unit.text, extent.end.offset - 1
    open_ = text.rfind(b"[", extent.start.offset, close) + 1
    between = text[open_:close]
    if not open_ or text[close : close + 1] != b"]" or b"]" in between or b"//" in between or b"/*" in between:
        return None
    return None if unit.cut_by_macro(path, open_ - 1, close + 1) else Span(open_, close, extent.end.line)


@dataclass(frozen=True)
class _Use:
    """One use of the array. subscripts: the indexing expressions, outermost first. obstacle: how the use of an element relies
    on the array's layout; None if it does not.
    """

    line: int
    subscripts: tuple[Cursor, ...]
    obstacle: str | None


def _uses(unit: TranslationUnit, function: Cursor, array: Cursor) -> Iterator[_Use]:
    for cursor, above in walk_below(function):
        if cursor.kind == unit.bindings.CursorKind.DECL_REF_EXPR and cursor.referenced == array:
            yield _use(unit, cursor, above)


def _use(unit: TranslationUnit, reference: Cursor, ancestors: list[Cursor]) -> _Use:
    """Walk up from the array's name as long as it is subscripted, then examine the expression that contains the element."""
    kinds = unit.bindings.CursorKind
    subscripts, below, climbing = [], reference, list(ancestors)
    while climbing:
        parent = climbing[-1]
        if parent.kind == kinds.ARRAY_SUBSCRIPT_EXPR and next(parent.get_children()) == below:
            subscripts.append(list(parent.get_children())[1])
        elif parent.kind not in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR):
            break
        elif (
            subscripts
            and _rank(parent.type) == 0
            and parent.kind == kinds.UNEXPOSED_EXPR
            and parent.type.kind.name != "POINTER"
        ):
            return _Use(reference.location.line, tuple(subscripts), None)  # only the element's value is used
        below = climbing.pop()
    return _Use(reference.location.line, tuple(subscripts), _obstacle(unit, climbing[-1] if climbing else None))


def _obstacle(unit: TranslationUnit, holder: Cursor) -> str | None:
    kinds = unit.bindings.CursorKind
    if holder is None:
        return None
    if holder.kind == kinds.UNARY_OPERATOR and libclang.operator(unit.bindings, holder) == "&":
        return "the address of an element is taken"
    if holder.kind == kinds.VAR_DECL and holder.type.get_canonical().kind.name == "LVALUEREFERENCE":
        return "a reference to an element is made"
    if holder.kind == kinds.CALL_EXPR:
        return "an element is passed to a function by reference"
    if holder.kind == kinds.CXX_UNARY_EXPR:
        return "its size is used"
    return None
