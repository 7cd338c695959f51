"""Assign each row to a wave instead of a thread: the lanes process its elements interleaved and combine their results.

Neighbouring lanes then read neighbouring elements, and there are 64 times as many waves. Sums are accumulated in a different
order, so a tolerance is needed for floating-point numbers (--ulps). The shape of the launches changes accordingly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import Edit, HipSource, Loop, SourceKernel, libclang
from rocm_perf_lab.hip_source.cursors import body_of, place_of, unwrapped, walk
from rocm_perf_lab.hip_source.edits import indentation, new_names
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.launch_shapes import NotUnderstood
from rocm_perf_lab.hip_source.program_launches import by_file, program_launches
from rocm_perf_lab.hip_source.variables import changed_in
from rocm_perf_lab.optimize.transforms.nan_order import kept_in_order, ordered
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

NAME = "wave-per-row"
_LANES, _ROWS = 64, 4  # lanes per wave; rows, and thus waves, per workgroup
_THREAD = ("blockIdx.x*blockDim.x+threadIdx.x", "blockDim.x*blockIdx.x+threadIdx.x", "threadIdx.x+blockIdx.x*blockDim.x")
_PLACES = re.compile(rb"\b(blockIdx|blockDim|threadIdx|gridDim|__syncthreads|__shared__)\b")
_CHOOSING = ("fmaxf", "fmax", "fminf", "fmin", "max", "min", "std::max", "std::min")
_ZERO = re.compile(r"0(\.0*)?[fFuUlL]*")


class _Unfit(Exception):
    """Why the kernel is left unchanged."""


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal at most."""
    try:
        edits, rows = _edits(source, kernel)
        mine, others = by_file(source, list(_launches(source, kernel, rows)))
    except (_Unfit, NotUnderstood) as error:
        yield Refusal(NAME, kernel.name, kernel.span.line, str(error))
        return
    yield Proposal(
        transformation=NAME,
        kernel=kernel.name,
        line=kernel.span.line,
        description=f"give each row a wave instead of a thread, with {_ROWS} rows per workgroup",
        edits=(*edits, *mine),
        parameters={"rows_per_workgroup": _ROWS},
        elsewhere=tuple(others),
    )


def _edits(source: HipSource, kernel: SourceKernel) -> tuple[list[Edit], str]:
    """The edits to the kernel, and the name of its row count."""
    unit = source.device
    body = body_of(function_of(unit, kernel))
    statements = list(body.get_children()) if body is not None else []
    if body is None or len(statements) < 2 or unit.cut_by_macro(unit.own, *place_of(body)):
        raise _Unfit("its body is too short, or comes from a macro")
    first, guard, *rest = statements
    row, type_ = _row_of(unit, first)
    rows, inside = _bound_of(unit, guard, row)
    if inside is not None and rest:
        raise _Unfit("it does something for rows past the last")
    begin = place_of(guard)[1] if inside is None else place_of(inside)[0]
    rest = rest if inside is None else _statements(inside)
    if _PLACES.search(source.text[begin : kernel.body.end]):
        raise _Unfit("it uses its position in the grid, or LDS, for more than its row")
    lane, step = new_names(source.text, "lane", 1)[0], new_names(source.text, "step", 1)[0]
    start, end = place_of(first)
    margin = indentation(source.text, start)
    mine = f"blockIdx.x * {_ROWS} + threadIdx.x / {_LANES}"
    edits = [Edit(start, end, f"const int {lane} = threadIdx.x % {_LANES};\n{margin}const {type_} {row} = {mine};")]
    loops = {(loop.span.start, loop.span.end): loop for loop in kernel.loops}
    for statement in rest:
        loop = loops.pop(place_of(statement), None)
        edits += _shared(unit, statement, loop, lane, step) if loop else _kept(unit, statement, lane)
    if loops or len(edits) == 1:
        raise _Unfit("it has no loop over its row's elements")
    return edits, rows


def _row_of(unit: TranslationUnit, statement: Cursor) -> tuple[str, str]:
    """The name and the type of the variable that holds the thread's row."""
    declared = list(statement.get_children())
    made = [child for child in declared[0].get_children() if child.kind.is_expression()] if len(declared) == 1 else []
    if not made or statement.kind.name != "DECL_STMT" or _tight(unit.text_of(made[-1])) not in _THREAD:
        raise _Unfit("it does not begin by taking its thread's number as its row")
    return str(declared[0].spelling), declared[0].type.spelling.removeprefix("const ")


def _bound_of(unit: TranslationUnit, statement: Cursor, row: str) -> tuple[str, Cursor | None]:
    """The name of the row count, from `if (row >= rows) return;` or `if (row < rows) { ... }`, and the body of the latter (None
    for the former).
    """
    text = _tight(unit.text_of(statement))
    if found := re.fullmatch(rf"if\({row}>=(\w+)\){{?return;?}}?", text):
        return found[1], None
    parts = list(statement.get_children())
    if (found := re.match(rf"if\({row}<(\w+)\){{", text)) and statement.kind.name == "IF_STMT" and len(parts) == 2:
        return found[1], parts[1]
    raise _Unfit(f"the end of the rows is not checked by `if ({row} >= ...) return;` or `if ({row} < ...) {{ ... }}`")


def _shared(unit: TranslationUnit, statement: Cursor, loop: Loop, lane: str, step: str) -> Iterator[Edit]:
    """The edits that make the lanes divide up the row's elements in the loop and combine their results after it."""
    if loop.kind != "for" or loop.step != 1 or not loop.innermost or loop.found or loop.in_macro:
        raise _Unfit(f"the loop of line {loop.span.line} is not a plain one over elements")
    init, _, increment, inside = list(statement.get_children())
    first = list(list(init.get_children())[0].get_children())[-1]
    start, end = place_of(first)
    text = unit.text_of(first)
    begin = text if text.isalnum() else f"({text})"
    yield Edit(start, end, lane if text == "0" else f"{begin} + {lane}")
    yield Edit(*place_of(increment), f"{loop.variable} += {_LANES}")
    own = _declared(inside)
    combined = [line for one in _under_conditions(inside) if (line := _combined(unit, one, step, own))]
    _expect_independent(unit, inside)
    lines = [f"for (int {step} = {_LANES // 2}; {step} > 0; {step} /= 2) {line}" for line in dict.fromkeys(combined)]
    loop_end = unit.text.find(b";", loop.span.end - 1) + 1 if inside.kind.name != "COMPOUND_STMT" else loop.span.end
    in_order, after = _in_order(unit, inside, (loop.span.start, loop_end), lines)
    yield from in_order
    yield Edit(loop_end, loop_end, after)


def _in_order(unit: TranslationUnit, inside: Cursor, loop: tuple[int, int], lines: list[str]) -> tuple[list[Edit], str]:
    """The edits to the loop that handle NaNs whose effect depends on their position, and the text to add after the loop in any
    case.
    """
    found = [one for statement in _under_conditions(inside) if (one := ordered(unit, statement)) is not None]
    found = [one for one in found if one.name not in _declared(inside)]
    if not found:
        margin = indentation(unit.text, loop[0])
        return [], "".join(f"\n{margin}{line}" for line in lines)
    stores = any(next(one.get_children()).kind.name == "ARRAY_SUBSCRIPT_EXPR" for one in _under_conditions(inside))
    if len(lines) > 1 or stores or not found[0].value or any(True for _ in _conditions(inside)):
        raise _Unfit(f"in line {found[0].statement.location.line}, the effect of a NaN depends on its position")
    return kept_in_order(unit.text, loop, found[0], lines[0])


def _expect_independent(unit: TranslationUnit, inside: Cursor) -> None:
    """Refuse a loop in which one element needs the results of another: a value accumulated so far, or memory to which the loop
    stores.
    """
    statements = [(statement, [*statement.get_children()]) for statement in _under_conditions(inside)]
    own = _declared(inside)
    reduced = {parts[0].spelling for _, parts in statements if parts[0].kind.name == "DECL_REF_EXPR"} - own
    stored = {_base(parts[0]) for _, parts in statements if parts[0].kind.name == "ARRAY_SUBSCRIPT_EXPR"}
    for statement, (target, *_) in statements:
        names = [one.spelling for one in walk(statement) if one.kind.name == "DECL_REF_EXPR"]
        for name in reduced:
            if names.count(name) > (0 if target.spelling != name else 1 + (statement.kind.name == "BINARY_OPERATOR")):
                raise _Unfit(f"{name} is used while it is being accumulated, in line {statement.location.line}")
        for name in stored:
            if names.count(name) > (_base(target) == name):
                raise _Unfit(f"the loop reads {name}, which it stores to, in line {statement.location.line}")
    results = [parts[0].referenced for _, parts in statements if parts[0].kind.name == "DECL_REF_EXPR"]
    declared = [one for one in walk(inside) if one.kind.name == "VAR_DECL"]
    if changed_in(inside, unit.bindings) - {one.get_usr() for one in (*results, *declared)}:
        raise _Unfit(f"the loop of line {inside.location.line} changes variables other than those it reduces")
    for condition in _conditions(inside):
        if name := next((one for one in (*reduced, *stored) if _names(condition, one)), None):
            raise _Unfit(f"the condition of line {condition.location.line} needs {name}, which the loop changes")


def _under_conditions(inside: Cursor) -> Iterator[Cursor]:
    """The statements of an iteration; an `if` without else is replaced by the statements in it."""
    for statement in _statements(inside):
        held = _held(statement)
        yield from [statement] if held is None else _under_conditions(held[1])


def _conditions(inside: Cursor) -> Iterator[Cursor]:
    """The conditions of every `if` whose body _under_conditions() enters."""
    for held in filter(None, map(_held, _statements(inside))):
        yield held[0]
        yield from _conditions(held[1])


def _held(statement: Cursor) -> tuple[Cursor, Cursor] | None:
    """The condition and the body of an `if` without else or declaration; None for any other statement."""
    parts = list(statement.get_children()) if statement.kind.name == "IF_STMT" else []
    return (parts[0], parts[1]) if len(parts) == 2 and parts[0].kind.is_expression() else None


def _base(element: Cursor) -> str:
    """The name of the array or pointer of `array[...]`; "" for anything else."""
    return next((one.spelling for one in walk(element) if one.kind.name == "DECL_REF_EXPR"), "")


def _declared(inside: Cursor) -> set[str]:
    """The names of the variables declared inside the loop's body: each iteration has its own."""
    return {one.spelling for one in walk(inside) if one.kind.name == "VAR_DECL"}


def _combined(unit: TranslationUnit, statement: Cursor, step: str, own: set[str]) -> str:
    """The code that combines the lanes' results for a statement; "" for a statement that stores elements or affects only its
    own iteration.
    """
    target, *values = list(statement.get_children()) or [statement]
    operator = libclang.operator(unit.bindings, statement)
    if statement.kind.name == "DECL_STMT" or (operator.endswith("=") and target.spelling in own):
        return ""
    if operator == "=" and target.kind.name == "ARRAY_SUBSCRIPT_EXPR":
        return ""
    decl = target.referenced if target.kind.name == "DECL_REF_EXPR" else None
    if decl is None or decl.kind.name != "VAR_DECL":
        raise _Unfit(f"line {statement.location.line} neither stores an element nor reduces")
    name = decl.spelling
    if operator == "+=" and not _names(values[0], name):
        made = [child for child in decl.get_children() if child.kind.is_expression()]
        if not made or not _ZERO.fullmatch(unit.text_of(made[-1])):
            raise _Unfit(f"{name} does not start at 0")
        return f"{name} += __shfl_xor({name}, {step});"
    chosen = _chosen(unit, values[0], name) if operator == "=" else ""
    if not chosen:
        raise _Unfit(f"line {statement.location.line} reduces in a way that is not known")
    return f"{name} = {chosen}({name}, __shfl_xor({name}, {step}));"


def _chosen(unit: TranslationUnit, value: Cursor, name: str) -> str:
    """The function that chooses between the variable and a value that does not depend on it; "" if there is none."""
    called = unwrapped(value)
    function = _tight(unit.text_of(called)).partition("(")[0]
    arguments = [unwrapped(one) for one in called.get_arguments()] if called.kind.name == "CALL_EXPR" else []
    is_itself = [one.kind.name == "DECL_REF_EXPR" and one.spelling == name for one in arguments]
    named = sum(_names(one, name) for one in arguments)
    return function if function in _CHOOSING and len(arguments) == 2 and sum(is_itself) == named == 1 else ""


def _kept(unit: TranslationUnit, statement: Cursor, lane: str) -> Iterator[Edit]:
    """The edit to a statement outside loops: every lane executes the statement, but only one lane stores or performs an
    atomic.
    """
    if statement.kind.name == "DECL_STMT":
        return
    operator = libclang.operator(unit.bindings, statement)
    target = next(statement.get_children(), None)
    if target is not None and target.kind.name == "DECL_REF_EXPR" and operator.endswith("="):
        return
    if statement.kind.name == "CALL_EXPR" and statement.spelling.startswith("atomic"):
        start = place_of(statement)[0]
        yield Edit(start, start, f"if ({lane} == 0) ")
        return
    if target is None or operator != "=" or target.kind.name != "ARRAY_SUBSCRIPT_EXPR":
        raise _Unfit(f"line {statement.location.line} is neither a loop, a plain assignment nor an atomic")
    start = place_of(statement)[0]
    yield Edit(start, start, f"if ({lane} == 0) ")


def _launches(source: HipSource, kernel: SourceKernel, rows: str) -> Iterator[tuple[Path, Edit]]:
    position = next((i for i, one in enumerate(kernel.parameters) if one.name == rows), None)
    for site in program_launches(source, kernel):
        passed = next((one.name for one in site.arguments.values() if one.position == position), None)
        if passed is None or passed in site.changing:
            raise _Unfit(f"the launch in line {site.line} does not pass the number of rows as a plain variable")
        yield site.file, Edit(site.start, site.end, site.written(f"({passed} + {_ROWS - 1}) / {_ROWS}", f"{_LANES * _ROWS}"))


def _statements(inside: Cursor) -> list[Cursor]:
    return list(inside.get_children()) if inside.kind.name == "COMPOUND_STMT" else [inside]


def _names(cursor: Cursor, name: str) -> bool:
    return any(one.spelling == name for one in walk(cursor) if one.kind.name == "DECL_REF_EXPR")


def _tight(text: str) -> str:
    return text.replace(" ", "")
