"""Perform the loads of several iterations before the first of them begins, if stores or atomics keep the compiler from doing
so.

The compiler does not move a load ahead of a store or an atomic that might write to the same memory, so each iteration's loads
wait for the previous iteration. After this change, a single 64-bit test for several iterations is followed by the loads for all
of them and then by their bodies, in order. If a body writes to anything but LDS and variables, the proposal promises the gate
that the kernel does not write to the memory from which it loads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises, broken_in_source
from rocm_perf_lab.hip_source import Edit, HipSource, Loop, SourceKernel, libclang
from rocm_perf_lab.hip_source.cursors import EXIT_STATEMENTS, byte_range_of, find_by_span, unwrapped, walk
from rocm_perf_lab.hip_source.edits import indentation, new_names
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.reads import Read, is_pure, reads_in
from rocm_perf_lab.hip_source.source_parts import ObstacleKind
from rocm_perf_lab.hip_source.variables import escaping_in, variables_changed_in
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

NAME = "load-ahead"
_ALLOWED = (ObstacleKind.ATOMIC,)
_TYPES = ("int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long")


class _NotApplicableError(Exception):
    """Why the loop is left unchanged."""


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per loop and factor."""
    for loop in kernel.all_loops():
        try:
            cursor, step, bound = _expect_counted_loop(source, kernel, loop)
            reads = _predictable_loads(source.device, kernel, loop, cursor)
            promises = _promises(source, kernel, cursor, reads)
        except _NotApplicableError as error:
            yield Refusal(NAME, kernel.name, loop.span.line, str(error))
            continue
        for factor in factors:
            if loop.trip_count is not None and factor > loop.trip_count:
                continue
            texts = ", ".join(dict.fromkeys(source.device.text_of(read.cursor) for read in reads))
            yield Proposal(
                transformation=NAME,
                kernel=kernel.name,
                line=loop.span.line,
                description=f"load {texts} for {factor} iterations of the loop of line {loop.span.line} at once",
                edits=_edits(source, loop, cursor, step, bound, reads, factor),
                parameters={"factor": factor, "loads": texts},
                promises=promises,
            )


def _expect_counted_loop(source: HipSource, kernel: SourceKernel, loop: Loop) -> tuple[Cursor, str, str]:
    """The loop, its step and its bound."""
    unit = source.device
    if loop.in_macro or loop.hint:
        raise _NotApplicableError("it comes from a macro" if loop.in_macro else "its author has already specified unrolling")
    if forbidden := next((obstacle for obstacle in loop.obstacles if obstacle.kind not in _ALLOWED), None):
        raise _NotApplicableError(f"it holds a {forbidden}")
    if not loop.innermost or loop.kind != "for" or loop.variable is None:
        raise _NotApplicableError("it is not an innermost loop that counts")
    cursor = find_by_span(function_of(unit, kernel), loop.span, "FOR_STMT")
    if any(node.kind.name in EXIT_STATEMENTS for node in walk(cursor)):
        raise _NotApplicableError("its body may be left before its end")
    if loop.stride is not None:
        return cursor, loop.stride.step, loop.stride.bound
    init, condition, _, _ = cursor.get_children()
    variable = next(node for node in walk(init) if node.kind.name == "VAR_DECL")
    counts_up = libclang.operator(unit.bindings, condition) == "<" and (loop.step or 0) > 0
    left, bound = list(condition.get_children()) if counts_up else (condition, condition)
    types = {operand.type.get_canonical().spelling.removeprefix("const ") for operand in (variable, left, bound)}
    if not counts_up or len(types) > 1 or not types <= set(_TYPES[:2]):
        raise _NotApplicableError("it is not `i < bound; i += step` on 32-bit integers")
    moving = variables_changed_in(cursor, unit.bindings) | escaping_in(function_of(unit, kernel), unit.bindings)
    named = {
        node.referenced.get_usr() for node in walk(bound) if node.kind.name == "DECL_REF_EXPR" and node.referenced is not None
    }
    if named & moving or not is_pure(unit, bound):
        raise _NotApplicableError("its bound may change in it")
    return cursor, str(loop.step), unit.text_of(bound)


def _predictable_loads(unit: TranslationUnit, kernel: SourceKernel, loop: Loop, cursor: Cursor) -> list[Read]:
    """The loads that every iteration performs from an address that depends only on the iteration number."""
    function = function_of(unit, kernel)
    body = list(cursor.get_children())[-1]
    variable = next(node for node in walk(next(cursor.get_children())) if node.kind.name == "VAR_DECL")
    start, end = byte_range_of(body)
    moving = (variables_changed_in(body, unit.bindings) | escaping_in(function, unit.bindings)) - {variable.get_usr()}
    reads = []
    for read in reads_in(unit, function, body):
        names = {declaration.get_usr() for declaration in read.variables}
        inside = any(start <= declaration.extent.start.offset < end for declaration in read.variables)
        if read.always and variable.get_usr() in names and not inside and not names & moving:
            if not unit.is_cut_by_macro(read.cursor):
                reads.append(read)
    if not reads:
        raise _NotApplicableError("no load in it depends only on the iteration number")
    if not any(loop.obstacles) and not _write_targets(unit, body):
        raise _NotApplicableError("it writes nothing for which its loads could have to wait: the compiler can move them")
    return reads


def _promises(source: HipSource, kernel: SourceKernel, cursor: Cursor, reads: list[Read]) -> Promises:
    unit = source.device
    if all(_is_lds(target) for target in _write_targets(unit, list(cursor.get_children())[-1])):
        return NO_PROMISES
    promises = Promises(unwritten=tuple(dict.fromkeys(read.parameter.spelling for read in reads)))
    if reason := broken_in_source(source, kernel.name, promises):
        raise _NotApplicableError(reason)
    return promises


def _write_targets(unit: TranslationUnit, body: Cursor) -> list[Cursor]:
    """The expressions for the memory to which the body may write, not counting variables: elements that it assigns to, and
    non-const pointers that it passes to functions.
    """
    targets = []
    for node in walk(body):
        operator = libclang.operator(unit.bindings, node)
        assigns = node.kind.name == "COMPOUND_ASSIGNMENT_OPERATOR" or operator in ("++", "--")
        if assigns or (node.kind.name == "BINARY_OPERATOR" and operator == "="):
            target = unwrapped(next(node.get_children()))
            targets += [target] if target.kind.name != "DECL_REF_EXPR" else []
        elif node.kind.name == "CALL_EXPR":
            targets += [argument for argument in node.get_arguments() if _is_pointer(argument)]
    return targets


def _is_pointer(argument: Cursor) -> bool:
    canonical = argument.type.get_canonical()
    return canonical.kind.name == "POINTER" and not canonical.get_pointee().is_const_qualified()


def _is_lds(expression: Cursor) -> bool:
    """Whether the expression is an element of a static LDS array, or such an element's address."""
    expression = unwrapped(expression)
    if expression.kind.name == "UNARY_OPERATOR":
        expression = unwrapped(next(expression.get_children()))
    while expression.kind.name == "ARRAY_SUBSCRIPT_EXPR":
        expression = unwrapped(next(expression.get_children()))
    declared = expression.referenced if expression.kind.name == "DECL_REF_EXPR" else None
    return declared is not None and any(child.kind.name == "CUDASHARED_ATTR" for child in declared.get_children())


def _edits(
    source: HipSource, loop: Loop, cursor: Cursor, step: str, bound: str, reads: list[Read], factor: int
) -> tuple[Edit, ...]:
    text, variable = source.text, loop.variable or ""
    loads = list(dict.fromkeys((source.device.text_of(read.cursor), read.type) for read in reads))
    names = new_names(text, "ahead", len(loads) * factor)
    outer = indentation(text, loop.span.start)
    inner, deepest = outer + "  ", outer + "    "
    lines, bodies = [], []
    for number in range(factor):
        own = names[number * len(loads) : (number + 1) * len(loads)]
        its = dict(zip((load for load, _ in loads), own, strict=True))
        for load, type_ in loads:
            index = variable if number == 0 else f"({variable} + {number} * ({step}))"
            moved_load = re.sub(rf"\b{variable}\b", index, load)
            lines.append(f"{deepest}const {type_} {its[load]} = {moved_load};\n")
        changed = [Edit(*byte_range_of(read.cursor), its[source.device.text_of(read.cursor)]) for read in reads]
        bodies.append(f"{deepest}{_body(text, loop, changed)}\n{deepest}{variable} += {step};\n")
    single_iteration = f"{deepest}{_body(text, loop, [])}\n{deepest}{variable} += {step};\n"
    wide = "static_cast<long long>"
    test = f"{wide}({variable}) + {factor - 1} * {wide}({step}) < {wide}({bound})"
    replacement = (
        f"{{\n{inner}if ({test}) {{\n{''.join(lines)}{''.join(bodies)}{inner}}} else {{\n{single_iteration}{inner}}}\n{outer}}}"
    )
    increment = byte_range_of(list(cursor.get_children())[2])
    return Edit(*increment, ""), Edit(loop.body.start, _end(text, loop), replacement)


def _end(text: bytes, loop: Loop) -> int:
    """The end of the loop, including the semicolon, which is not part of a statement's extent."""
    return loop.body.end if text[loop.body.end - 1 : loop.body.end] == b"}" else text.index(b";", loop.body.end) + 1


def _body(text: bytes, loop: Loop, edits: list[Edit]) -> str:
    start, end = loop.body.start, _end(text, loop)
    parts, position = [], start
    for edit in sorted(edits):
        parts += [text[position : edit.start].decode(), edit.text]
        position = edit.end
    body = "".join([*parts, text[position:end].decode()])
    return body if body.startswith("{") else f"{{ {body} }}"
