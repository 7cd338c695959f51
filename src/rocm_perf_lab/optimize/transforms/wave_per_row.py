"""Assign each row to a wave instead of a thread: neighbouring lanes process neighbouring
elements, and the lanes then combine their results.

There are then 64 times as many waves. Sums are accumulated in a different
order, so a tolerance is needed for floating-point numbers (--ulps). The shape of the launches changes accordingly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import Edit, HipSource, Loop, SourceKernel, libclang
from rocm_perf_lab.hip_source.cursors import body_of, byte_range_of, unwrapped, walk
from rocm_perf_lab.hip_source.edits import indentation, new_names
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.launch_shapes import LaunchNotUnderstoodError
from rocm_perf_lab.hip_source.program_launches import by_file, program_launches
from rocm_perf_lab.hip_source.variables import variables_changed_in
from rocm_perf_lab.optimize.transforms.nan_order import extremum_of, keep_nan_order
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

NAME = "wave-per-row"
_LANES, _ROWS = 64, 4  # lanes per wave; rows, and thus waves, per workgroup
_THREAD = ("blockIdx.x*blockDim.x+threadIdx.x", "blockDim.x*blockIdx.x+threadIdx.x", "threadIdx.x+blockIdx.x*blockDim.x")
_PLACES = re.compile(rb"\b(blockIdx|blockDim|threadIdx|gridDim|__syncthreads|__shared__)\b")
_CHOOSING_FUNCTIONS = ("fmaxf", "fmax", "fminf", "fmin", "max", "min", "std::max", "std::min")
_ZERO = re.compile(r"0(\.0*)?[fFuUlL]*")


class _NotApplicableError(Exception):
    """Why the kernel is left unchanged."""


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal at most."""
    try:
        edits, rows = _edits(source, kernel)
        own_edits, other_edits = by_file(source, list(_launches(source, kernel, rows)))
    except (_NotApplicableError, LaunchNotUnderstoodError) as error:
        yield Refusal(NAME, kernel.name, kernel.span.line, str(error))
        return
    yield Proposal(
        transformation=NAME,
        kernel=kernel.name,
        line=kernel.span.line,
        description=f"give each row a wave instead of a thread, with {_ROWS} rows per workgroup",
        edits=(*edits, *own_edits),
        parameters={"rows_per_workgroup": _ROWS},
        other_edits=tuple(other_edits),
    )


def _edits(source: HipSource, kernel: SourceKernel) -> tuple[list[Edit], str]:
    """The edits to the kernel, and the name of its row count."""
    unit = source.device
    body = body_of(function_of(unit, kernel))
    statements = list(body.get_children()) if body is not None else []
    if body is None or len(statements) < 2 or unit.cut_by_macro(unit.own, *byte_range_of(body)):
        raise _NotApplicableError("its body is too short, or comes from a macro")
    first, guard, *remaining = statements
    row, type_ = _row_of(unit, first)
    rows, inside = _bound_of(unit, guard, row)
    if inside is not None and remaining:
        raise _NotApplicableError("it does something for rows past the last")
    begin = byte_range_of(guard)[1] if inside is None else byte_range_of(inside)[0]
    remaining = remaining if inside is None else _statements(inside)
    if _PLACES.search(source.text[begin : kernel.body.end]):
        raise _NotApplicableError("it uses its position in the grid, or LDS, for more than its row")
    lane, step = new_names(source.text, "lane", 1)[0], new_names(source.text, "step", 1)[0]
    start, end = byte_range_of(first)
    margin = indentation(source.text, start)
    row_index = f"blockIdx.x * {_ROWS} + threadIdx.x / {_LANES}"
    edits = [Edit(start, end, f"const int {lane} = threadIdx.x % {_LANES};\n{margin}const {type_} {row} = {row_index};")]
    loops = {(loop.span.start, loop.span.end): loop for loop in kernel.loops}
    for statement in remaining:
        loop = loops.pop(byte_range_of(statement), None)
        edits += _shared(unit, statement, loop, lane, step) if loop else _once_per_wave(unit, statement, lane)
    if loops or len(edits) == 1:
        raise _NotApplicableError("it has no loop over its row's elements")
    return edits, rows


def _row_of(unit: TranslationUnit, statement: Cursor) -> tuple[str, str]:
    """The name and the type of the variable that holds the thread's row."""
    declared = list(statement.get_children())
    initializers = [child for child in declared[0].get_children() if child.kind.is_expression()] if len(declared) == 1 else []
    if not initializers or statement.kind.name != "DECL_STMT" or _without_spaces(unit.text_of(initializers[-1])) not in _THREAD:
        raise _NotApplicableError("it does not begin by taking its thread's number as its row")
    return str(declared[0].spelling), declared[0].type.spelling.removeprefix("const ")


def _bound_of(unit: TranslationUnit, statement: Cursor, row: str) -> tuple[str, Cursor | None]:
    """The name of the row count, from `if (row >= rows) return;` or `if (row < rows) { ... }`, and the body of the latter (None
    for the former).
    """
    text = _without_spaces(unit.text_of(statement))
    if match := re.fullmatch(rf"if\({row}>=(\w+)\){{?return;?}}?", text):
        return match[1], None
    parts = list(statement.get_children())
    if (match := re.match(rf"if\({row}<(\w+)\){{", text)) and statement.kind.name == "IF_STMT" and len(parts) == 2:
        return match[1], parts[1]
    raise _NotApplicableError(
        f"the end of the rows is not checked by `if ({row} >= ...) return;` or `if ({row} < ...) {{ ... }}`"
    )


def _shared(unit: TranslationUnit, statement: Cursor, loop: Loop, lane: str, step: str) -> Iterator[Edit]:
    """The edits that make the lanes divide up the row's elements in the loop and combine their results after it."""
    if loop.kind != "for" or loop.step != 1 or not loop.innermost or loop.obstacles or loop.in_macro:
        raise _NotApplicableError(f"the loop of line {loop.span.line} is not a plain one over elements")
    init, _, increment, inside = list(statement.get_children())
    first = list(list(init.get_children())[0].get_children())[-1]
    start, end = byte_range_of(first)
    text = unit.text_of(first)
    begin = text if text.isalnum() else f"({text})"
    yield Edit(start, end, lane if text == "0" else f"{begin} + {lane}")
    yield Edit(*byte_range_of(increment), f"{loop.variable} += {_LANES}")
    own = _declared_names(inside)
    combined = [line for inner in _under_conditions(inside) if (line := _combining_code(unit, inner, step, own))]
    _expect_independent(unit, inside)
    lines = [f"for (int {step} = {_LANES // 2}; {step} > 0; {step} /= 2) {line}" for line in dict.fromkeys(combined)]
    loop_end = unit.text.find(b";", loop.span.end - 1) + 1 if inside.kind.name != "COMPOUND_STMT" else loop.span.end
    in_order, after = _nan_edits(unit, inside, (loop.span.start, loop_end), lines)
    yield from in_order
    yield Edit(loop_end, loop_end, after)


def _nan_edits(unit: TranslationUnit, inside: Cursor, loop: tuple[int, int], lines: list[str]) -> tuple[list[Edit], str]:
    """The edits to the loop that handle NaNs whose effect depends on their position, and the text to add after the loop in any
    case.
    """
    extrema = [extremum for statement in _under_conditions(inside) if (extremum := extremum_of(unit, statement)) is not None]
    extrema = [extremum for extremum in extrema if extremum.name not in _declared_names(inside)]
    if not extrema:
        margin = indentation(unit.text, loop[0])
        return [], "".join(f"\n{margin}{line}" for line in lines)
    stores = any(next(statement.get_children()).kind.name == "ARRAY_SUBSCRIPT_EXPR" for statement in _under_conditions(inside))
    if len(lines) > 1 or stores or not extrema[0].value or any(True for _ in _conditions(inside)):
        raise _NotApplicableError(f"in line {extrema[0].statement.location.line}, the effect of a NaN depends on its position")
    return keep_nan_order(unit.text, loop, extrema[0], lines[0])


def _expect_independent(unit: TranslationUnit, inside: Cursor) -> None:
    """Refuse a loop in which one element needs the results of another: a value accumulated so far, or memory to which the loop
    stores.
    """
    statements = [(statement, [*statement.get_children()]) for statement in _under_conditions(inside)]
    own = _declared_names(inside)
    reduced = {parts[0].spelling for _, parts in statements if parts[0].kind.name == "DECL_REF_EXPR"} - own
    stored = {_base_name(parts[0]) for _, parts in statements if parts[0].kind.name == "ARRAY_SUBSCRIPT_EXPR"}
    for statement, (target, *_) in statements:
        names = [node.spelling for node in walk(statement) if node.kind.name == "DECL_REF_EXPR"]
        for name in reduced:
            if names.count(name) > (0 if target.spelling != name else 1 + (statement.kind.name == "BINARY_OPERATOR")):
                raise _NotApplicableError(f"{name} is used while it is being accumulated, in line {statement.location.line}")
        for name in stored:
            if names.count(name) > (_base_name(target) == name):
                raise _NotApplicableError(f"the loop reads {name}, which it stores to, in line {statement.location.line}")
    results = [parts[0].referenced for _, parts in statements if parts[0].kind.name == "DECL_REF_EXPR"]
    declared = [node for node in walk(inside) if node.kind.name == "VAR_DECL"]
    if variables_changed_in(inside, unit.bindings) - {variable.get_usr() for variable in (*results, *declared)}:
        raise _NotApplicableError(f"the loop of line {inside.location.line} changes variables other than those it reduces")
    for condition in _conditions(inside):
        if name := next((changed for changed in (*reduced, *stored) if _mentions(condition, changed)), None):
            raise _NotApplicableError(f"the condition of line {condition.location.line} needs {name}, which the loop changes")


def _under_conditions(inside: Cursor) -> Iterator[Cursor]:
    """The statements of an iteration; an `if` without else is replaced by the statements in it."""
    for statement in _statements(inside):
        held = _condition_and_body(statement)
        yield from [statement] if held is None else _under_conditions(held[1])


def _conditions(inside: Cursor) -> Iterator[Cursor]:
    """The conditions of every `if` whose body _under_conditions() enters."""
    for held in filter(None, map(_condition_and_body, _statements(inside))):
        yield held[0]
        yield from _conditions(held[1])


def _condition_and_body(statement: Cursor) -> tuple[Cursor, Cursor] | None:
    """The condition and the body of an `if` without else or declaration; None for any other statement."""
    parts = list(statement.get_children()) if statement.kind.name == "IF_STMT" else []
    return (parts[0], parts[1]) if len(parts) == 2 and parts[0].kind.is_expression() else None


def _base_name(element: Cursor) -> str:
    """The name of the array or pointer of `array[...]`; "" for anything else."""
    return next((node.spelling for node in walk(element) if node.kind.name == "DECL_REF_EXPR"), "")


def _declared_names(inside: Cursor) -> set[str]:
    """The names of the variables declared inside the loop's body: each iteration has its own."""
    return {node.spelling for node in walk(inside) if node.kind.name == "VAR_DECL"}


def _combining_code(unit: TranslationUnit, statement: Cursor, step: str, own: set[str]) -> str:
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
        raise _NotApplicableError(f"line {statement.location.line} neither stores an element nor reduces")
    name = decl.spelling
    if operator == "+=" and not _mentions(values[0], name):
        initializers = [child for child in decl.get_children() if child.kind.is_expression()]
        if not initializers or not _ZERO.fullmatch(unit.text_of(initializers[-1])):
            raise _NotApplicableError(f"{name} does not start at 0")
        return f"{name} += __shfl_xor({name}, {step});"
    chosen = _choosing_function(unit, values[0], name) if operator == "=" else ""
    if not chosen:
        raise _NotApplicableError(f"line {statement.location.line} reduces in a way that is not known")
    return f"{name} = {chosen}({name}, __shfl_xor({name}, {step}));"


def _choosing_function(unit: TranslationUnit, value: Cursor, name: str) -> str:
    """The function that chooses between the variable and a value that does not depend on it; "" if there is none."""
    called = unwrapped(value)
    function = _without_spaces(unit.text_of(called)).partition("(")[0]
    arguments = [unwrapped(argument) for argument in called.get_arguments()] if called.kind.name == "CALL_EXPR" else []
    is_itself = [argument.kind.name == "DECL_REF_EXPR" and argument.spelling == name for argument in arguments]
    named = sum(_mentions(argument, name) for argument in arguments)
    return function if function in _CHOOSING_FUNCTIONS and len(arguments) == 2 and sum(is_itself) == named == 1 else ""


def _once_per_wave(unit: TranslationUnit, statement: Cursor, lane: str) -> Iterator[Edit]:
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
        start = byte_range_of(statement)[0]
        yield Edit(start, start, f"if ({lane} == 0) ")
        return
    if target is None or operator != "=" or target.kind.name != "ARRAY_SUBSCRIPT_EXPR":
        raise _NotApplicableError(f"line {statement.location.line} is neither a loop, a plain assignment nor an atomic")
    start = byte_range_of(statement)[0]
    yield Edit(start, start, f"if ({lane} == 0) ")


def _launches(source: HipSource, kernel: SourceKernel, rows: str) -> Iterator[tuple[Path, Edit]]:
    position = next((i for i, parameter in enumerate(kernel.parameters) if parameter.name == rows), None)
    for site in program_launches(source, kernel):
        passed = next((argument.name for argument in site.arguments.values() if argument.position == position), None)
        if passed is None or passed in site.changing:
            raise _NotApplicableError(f"the launch in line {site.line} does not pass the number of rows as a plain variable")
        shape = site.replacement_text(f"({passed} + {_ROWS - 1}) / {_ROWS}", f"{_LANES * _ROWS}")
        yield site.file, Edit(site.start, site.end, shape)


def _statements(inside: Cursor) -> list[Cursor]:
    return list(inside.get_children()) if inside.kind.name == "COMPOUND_STMT" else [inside]


def _mentions(cursor: Cursor, name: str) -> bool:
    return any(node.spelling == name for node in walk(cursor) if node.kind.name == "DECL_REF_EXPR")


def _without_spaces(text: str) -> str:
    return text.replace(" ", "")
