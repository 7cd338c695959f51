"""Count in the workgroup's own LDS, and add the counts to global memory once, at the end.

Where many threads add to few elements, such as the bins of a histogram, global atomics on one cache line are served one after
the other. Atomics in LDS are handled within each compute unit, which leaves at most one global addition per workgroup and
element. Additions to elements beyond the copy in LDS stay global, so the number of elements need not be known. Floating-point
numbers are added in a different order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source import Edit, HipSource, KernelParameter, SourceKernel, reordering_obstacles
from rocm_perf_lab.hip_source.cursors import body_of, byte_range_of, parameters_of, unwrapped, walk, walk_below
from rocm_perf_lab.hip_source.edits import indentation, new_names
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.loops import KINDS
from rocm_perf_lab.hip_source.source_parts import ObstacleKind
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

NAME = "privatize"
_BINS = (256, 2048)
_BYTE_BINS = (256,)  # for an 8-bit index
_ELEMENTS = ("int", "unsigned int", "unsigned long long", "float", "double")
_BYTES = ("UCHAR",)
_STATEMENTS = ("COMPOUND_STMT", "IF_STMT", *KINDS)
_GUARD = re.compile(r"if\s*\((.*)\)\s*(\{\s*)?return\s*;?\s*\}?", re.DOTALL)


class _NotApplicableError(Exception):
    """Why the kernel is left unchanged."""


@dataclass(frozen=True)
class _Addition:
    """A statement `atomicAdd(&counts[index], value)`."""

    call: Cursor
    index: Cursor
    value: str

    @property
    def of_byte(self) -> bool:
        return unwrapped(self.index).type.get_canonical().kind.name in _BYTES


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per parameter and number of bins."""
    unit = source.device
    has_additions = False
    for parameter in kernel.parameters:
        if parameter.pointee is None or parameter.const_pointee:
            continue
        try:
            additions = _additions(unit, kernel, parameter)
            reaching_the_end = _let_all_threads_reach_the_end(source, kernel) if additions else []
        except _NotApplicableError as error:
            has_additions = True
            yield Refusal(NAME, kernel.name, parameter.span.line, f"{parameter.name}: {error}")
            continue
        has_additions |= bool(additions)
        for bins in (_BYTE_BINS if all(addition.of_byte for addition in additions) else _BINS) if additions else ():
            line = additions[0].call.location.line
            yield Proposal(
                transformation=NAME,
                kernel=kernel.name,
                line=line,
                description=f"add to {bins} elements of {parameter.name} in LDS first (line {line})",
                edits=(*reaching_the_end, *_edits(source, kernel, parameter, additions, bins)),
                parameters={"parameter": parameter.name, "bins": bins},
            )
    if not has_additions:
        yield Refusal(NAME, kernel.name, kernel.span.line, "no statement of it adds to an element of a parameter by atomicAdd")


def _additions(unit: TranslationUnit, kernel: SourceKernel, parameter: KernelParameter) -> list[_Addition]:
    """The atomic additions to the parameter's elements; empty if there are none. Raises _NotApplicableError if the parameter
    has other uses as well, or if all the values added to it have already been summed in LDS.
    """
    function = function_of(unit, kernel)
    declared = next(declaration for declaration in parameters_of(function) if declaration.spelling == parameter.name)
    body, additions, other = body_of(function), [], 0
    for node, above in walk_below(body):
        if node.kind.name == "DECL_REF_EXPR" and node.referenced == declared:
            addition = _addition(unit, node, above)
            additions += [addition] if addition else []
            other = other or (0 if addition else node.location.line)
    if additions and other:
        raise _NotApplicableError(f"it is also used other than for adding (line {other})")
    if additions and all(_is_lds(addition.call) for addition in additions):
        raise _NotApplicableError("what it adds has already been summed in LDS")
    element = (parameter.pointee or "").removeprefix("const ")
    if additions and element not in _ELEMENTS:
        raise _NotApplicableError(f"its elements are {element}")
    return additions


def _addition(unit: TranslationUnit, use: Cursor, above: list[Cursor]) -> _Addition | None:
    holders = [ancestor for ancestor in above if ancestor.kind.name not in ("UNEXPOSED_EXPR", "PAREN_EXPR")]
    kinds = [holder.kind.name for holder in holders[-3:]]
    if len(holders) < 4 or kinds != ["CALL_EXPR", "UNARY_OPERATOR", "ARRAY_SUBSCRIPT_EXPR"]:
        return None
    statement, call, _, element = holders[-4:]
    base, index = element.get_children()
    arguments = list(call.get_arguments())
    is_addition = call.spelling == "atomicAdd" and len(arguments) == 2 and unwrapped(base) == use
    if not is_addition or statement.kind.name not in _STATEMENTS or unit.is_cut_by_macro(call):
        return None
    return _Addition(call, index, unit.text_of(arguments[1]))


def _is_lds(call: Cursor) -> bool:
    """Whether the added value is a variable in LDS, or an element of an array there."""
    value = unwrapped(list(call.get_arguments())[1])
    base = unwrapped(next(value.get_children())) if value.kind.name == "ARRAY_SUBSCRIPT_EXPR" else value
    declared = base.referenced if base.kind.name == "DECL_REF_EXPR" else None
    return declared is not None and any(child.kind.name == "CUDASHARED_ATTR" for child in declared.get_children())


def _let_all_threads_reach_the_end(source: HipSource, kernel: SourceKernel) -> list[Edit]:
    """The edits that let every thread reach the end: `if (done) return;` at the top level becomes a condition on the rest of
    the kernel.
    """
    unit = source.device
    function = function_of(unit, kernel)
    body = body_of(function)
    if body is None or unit.cut_by_macro(unit.own, *byte_range_of(body)):
        raise _NotApplicableError("the kernel's body comes from a macro")
    returns = [node for node in walk(body) if node.kind.name == "RETURN_STMT"]
    guards = [
        statement
        for statement in body.get_children()
        if statement.kind.name == "IF_STMT" and _GUARD.fullmatch(unit.text_of(statement))
    ]
    if len(returns) != len(guards):
        raise _NotApplicableError(f"a thread may end in line {returns[0].location.line}")
    forbidden = (ObstacleKind.BARRIER, ObstacleKind.DYNAMIC_LDS, ObstacleKind.INLINE_ASM, ObstacleKind.JUMP)
    obstacles = [obstacle for obstacle in reordering_obstacles.find(function, unit.bindings) if obstacle.kind in forbidden]
    if guards and obstacles:
        raise _NotApplicableError(f"it holds a {obstacles[0]}, which threads that have ended do not reach")
    edits = []
    for guard in guards:
        condition = _GUARD.fullmatch(unit.text_of(guard))
        start, end = byte_range_of(guard)
        end = end if source.text[end - 1 : end] in (b"}", b";") else source.text.index(b";", end) + 1
        edits.append(Edit(start, end, f"if (!({condition[1] if condition else ''})) {{"))
    return edits


def _edits(
    source: HipSource, kernel: SourceKernel, parameter: KernelParameter, additions: list[_Addition], bins: int
) -> Iterator[Edit]:
    text = source.text
    own, bin_, thread, threads = (new_names(text, stem, 1)[0] for stem in ("own", "bin", "thread", "threads"))
    element = (parameter.pointee or "").removeprefix("const ")
    for addition in additions:
        start, end = byte_range_of(addition.call)
        inside = f"atomicAdd(&{own}[{bin_}], {addition.value});"
        beyond = f" else atomicAdd(&{parameter.name}[{bin_}], {addition.value});"
        guarded = inside if addition.of_byte else f"if (static_cast<unsigned long>({bin_}) < {bins}) {inside}{beyond}"
        index = source.device.text_of(addition.index)
        yield Edit(start, text.index(b";", end) + 1, f"{{ const auto {bin_} = {index}; {guarded} }}")
    margin = indentation(text, byte_range_of(additions[0].call)[0])[:2] or "  "
    loop = f"for (unsigned {bin_} = {thread}; {bin_} < {bins}; {bin_} += {threads})"
    before = (
        f"__shared__ {element} {own}[{bins}];",
        f"const unsigned {thread} = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);",
        f"const unsigned {threads} = blockDim.x * blockDim.y * blockDim.z;",
        f"{loop} {own}[{bin_}] = 0;",
        "__syncthreads();",
    )
    after = (
        *("}" for _ in _let_all_threads_reach_the_end(source, kernel)),
        "__syncthreads();",
        f"{loop}",
        f"  if ({own}[{bin_}] != 0) atomicAdd(&{parameter.name}[{bin_}], {own}[{bin_}]);",
    )
    start, end = kernel.body.start + 1, kernel.body.end - 1
    yield Edit(start, start, "".join(f"\n{margin}{line}" for line in before))
    yield Edit(end, end, "".join(f"{margin}{line}\n" for line in after))
