"""End a tree reduction in LDS by shuffles: the last 64 values are combined in one wave, without LDS and without barriers.

The pairs that are combined stay the same, and so do the bits of the result. The other elements of the array then hold what
they held 64 values before the end, so nothing may use them afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import Edit, HipSource, Loop, SourceKernel, libclang
from rocm_perf_lab.hip_source.cursors import body_of, place_of, unwrapped, walk, walk_below, within
from rocm_perf_lab.hip_source.edits import indentation, new_names
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.model import Construct
from rocm_perf_lab.hip_source.variables import changes
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

NAME = "wave-tail"
_HALF_WAVE = 32
_TYPES = ("INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG", "FLOAT", "DOUBLE", "TYPEDEF", "ELABORATED", "UNEXPOSED")
_LANE = "threadIdx.x"


class _Unfit(Exception):
    """Why the loop is left unchanged."""


@dataclass(frozen=True)
class _Tree:
    """`for (T half = ...; half > 0; half /= 2) { if (thread < half) array[thread] op array[thread + half]; barrier }`.

    combined: the statement's text without its semicolon. element, other: the texts of the two elements in it.
    """

    init: Cursor
    condition: Cursor
    increment: Cursor
    half: str
    thread: str
    array: Cursor
    combined: str
    element: str
    other: str


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per tree."""
    trees = [loop for loop in kernel.loops if any(one.construct is Construct.BARRIER for one in loop.found)]
    for loop in trees:
        try:
            tree = _tree(source.device, kernel, loop)
            _expect_first_alone(source.device, kernel, loop, tree)
        except _Unfit as error:
            yield Refusal(NAME, kernel.name, loop.span.line, str(error))
            continue
        yield Proposal(
            transformation=NAME,
            kernel=kernel.name,
            line=loop.span.line,
            description=f"end the tree of line {loop.span.line} by shuffles in one wave",
            edits=_edits(source, loop, tree),
            parameters={"array": tree.array.spelling},
        )
    if not trees:
        yield Refusal(NAME, kernel.name, kernel.span.line, "it has no loop with a barrier")


def _tree(unit: TranslationUnit, kernel: SourceKernel, loop: Loop) -> _Tree:
    plain = loop.kind == "for" and not loop.in_macro and not loop.hint
    parts = list(within(function_of(unit, kernel), loop.span, "FOR_STMT").get_children()) if plain else []
    body = list(parts[3].get_children()) if len(parts) == 4 and parts[3].kind.name == "COMPOUND_STMT" else []
    if len(body) != 2 or body[0].kind.name != "IF_STMT" or _tight(unit, body[1]) != "__syncthreads()":
        raise _Unfit("it is no tree: its body is not a condition and a barrier")
    init, condition, increment, _ = parts
    half = next((one.spelling for one in walk(init) if one.kind.name == "VAR_DECL"), "")
    steps = (f"{half}/=2", f"{half}>>=1", f"{half}={half}/2", f"{half}={half}>>1")
    if _tight(unit, condition) not in (f"{half}>0", f"{half}>=1", f"{half}!=0") or _tight(unit, increment) not in steps:
        raise _Unfit("it does not halve a distance as long as that is above 0")
    guard, *inside = body[0].get_children()
    thread = _tight(unit, guard).removesuffix(f"<{half}")
    while len(inside) == 1 and inside[0].kind.name == "COMPOUND_STMT":
        inside = list(inside[0].get_children())
    if len(inside) != 1 or thread == _tight(unit, guard) or not _is_lane(unit, guard, thread, function_of(unit, kernel)):
        raise _Unfit("not the threads below the distance alone combine two elements")
    return _combined(unit, inside[0], (init, condition, increment), half, thread)


def _is_lane(unit: TranslationUnit, guard: Cursor, thread: str, function: Cursor) -> bool:
    """Whether it is threadIdx.x, or a variable that holds it."""
    if thread == _LANE:
        return True
    named = next((one.referenced for one in walk(guard) if one.kind.name == "DECL_REF_EXPR" and one.spelling == thread), None)
    if named is None or named.kind.name != "VAR_DECL" or changes(body_of(function), named, unit.bindings):
        return False
    made = [child for child in named.get_children() if child.kind.is_expression()]
    return bool(made) and _tight(unit, made[-1]) == _LANE


def _combined(unit: TranslationUnit, statement: Cursor, head: tuple[Cursor, Cursor, Cursor], half: str, thread: str) -> _Tree:
    parts = list(statement.get_children())
    operator = libclang.operator(unit.bindings, statement)
    target = parts[0] if operator.endswith("=") and operator not in ("==", "!=", "<=", ">=") else None
    if target is None or target.kind.name != "ARRAY_SUBSCRIPT_EXPR" or target.type.is_volatile_qualified():
        raise _Unfit("it does not assign to an element")
    base, index = (unwrapped(one) for one in target.get_children())
    array = base.referenced if base.kind.name == "DECL_REF_EXPR" else None
    shared = array is not None and any(child.kind.name == "CUDASHARED_ATTR" for child in array.get_children())
    if array is None or not shared or target.type.get_canonical().kind.name not in _TYPES:
        raise _Unfit("it combines something else than numbers in LDS")
    read = [one for one in walk(parts[1]) if one.kind.name == "ARRAY_SUBSCRIPT_EXPR"]
    element, others = unit.text_of(target), [one for one in read if _tight(unit, one) != _tight(unit, target)]
    far = (f"{array.spelling}[{thread}+{half}]", f"{array.spelling}[{half}+{thread}]")
    if _tight(unit, index) != thread or len(others) != 1 or _tight(unit, others[0]) not in far:
        raise _Unfit("it combines other elements than those of a thread and of the thread at the distance")
    names = [one.spelling for one in walk(statement) if one.kind.name == "DECL_REF_EXPR"]
    if names.count(array.spelling) != len(read) + 1 or any(one.kind.name == "LAMBDA_EXPR" for one in walk(statement)):
        raise _Unfit("it uses the array in other ways")
    return _Tree(*head, half, thread, array, unit.text_of(statement), element, unit.text_of(others[0]))


def _expect_first_alone(unit: TranslationUnit, kernel: SourceKernel, loop: Loop, tree: _Tree) -> None:
    """Refuse if anything after the loop uses another element than the first."""
    for one, above in walk_below(body_of(function_of(unit, kernel))):
        if one.kind.name == "DECL_REF_EXPR" and one.referenced == tree.array and one.extent.start.offset >= loop.span.end:
            holder = next((a for a in reversed(above) if a.kind.name not in ("UNEXPOSED_EXPR", "PAREN_EXPR")), None)
            if holder is None or _tight(unit, holder) != f"{tree.array.spelling}[0]":
                raise _Unfit(f"{tree.array.spelling} is used in line {one.location.line}, and not its first element alone")


def _edits(source: HipSource, loop: Loop, tree: _Tree) -> tuple[Edit, ...]:
    unit, value = source.device, new_names(source.text, "value", 1)[0]
    margin = indentation(source.text, loop.span.start)
    inner, deepest = margin + "  ", margin + "    "
    first = unit.text_of(tree.init).rstrip(";")
    combined = tree.combined.replace(tree.other, f"__shfl_down({value}, {tree.half})").replace(tree.element, value)
    lines = (
        f"{inner}if ({tree.thread} < 2 * {tree.half}) {{",
        f"{deepest}auto {value} = {tree.element};",
        f"{deepest}for (; {unit.text_of(tree.condition)}; {unit.text_of(tree.increment)}) {combined};",
        f"{deepest}if ({tree.thread} == 0) {tree.array.spelling}[0] = {value};",
        f"{inner}}}",
        f"{inner}__syncthreads();",
        f"{margin}}}",
    )
    start, (begin, end) = loop.span.start, place_of(tree.init)
    semicolon = source.text[end - 1 : end] == b";"
    return (
        Edit(start, start, f"{{\n{inner}{first};\n{inner}"),
        Edit(begin, end, ";" if semicolon else ""),
        Edit(*place_of(tree.condition), f"{tree.half} > {_HALF_WAVE}"),
        Edit(loop.span.end, loop.span.end, "\n" + "\n".join(lines)),
    )


def _tight(unit: TranslationUnit, cursor: Cursor) -> str:
    return re.sub(r"\s", "", unit.text_of(cursor))
