"""Distribute a loop's iterations over several workgroups; this helps if the grid is small, and requires independent iterations.

Each workgroup is replaced by `parts` workgroups. Each of these executes every `parts`-th iteration of the loop and does
everything else as before. This way, `parts` times as many waves can hide each other's latency and use compute units that were
idle. The launches grow accordingly, in a grid dimension that the kernel does not use or, failing that, in one that it uses only
through `blockIdx`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.gate.source.launch_rule import shape_in_source
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises, broken_in_source
from rocm_perf_lab.hip_source import Edit, HipSource, Loop, SourceKernel, libclang, reordering_obstacles
from rocm_perf_lab.hip_source.cursors import body_of, byte_range_of, find_by_span, walk, walk_below
from rocm_perf_lab.hip_source.edits import before_pragmas, indentation, line_start, new_names
from rocm_perf_lab.hip_source.grid_dimensions import depends_on, replaceable
from rocm_perf_lab.hip_source.independent_loop import DependentIterationsError, Independence, independence_of
from rocm_perf_lab.hip_source.integer_expression import INT, UNSIGNED, Constant, Conversion, converted, operation
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.launch_shapes import LaunchNotUnderstoodError, Shape, ShapedLaunch
from rocm_perf_lab.hip_source.program_launches import by_file, program_launches
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor

NAME = "split-loop"
_PARTS = (4, 8, 32)  # workgroups that replace one
_AXES = "xyz"


class _NotApplicableError(Exception):
    """Why the kernel is left unchanged."""


@dataclass(frozen=True)
class _Placement:
    """How a workgroup determines which part of the loop it executes. axis: the grid dimension that grows. blocks: the byte
    ranges where the kernel uses that dimension's `blockIdx`; empty if the dimension was not used.
    """

    axis: int
    blocks: tuple[tuple[int, int], ...]


def propose(source: HipSource, kernel: SourceKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    """One proposal per number of parts."""
    try:
        loop, independence = _loop(source, kernel)
        promises = _promises(source, kernel, independence)
        sites = program_launches(source, kernel)
        placement = _find_placement(source, kernel, sites)
        changes = [
            (parts, *_change(source, kernel, loop, independence, sites, placement, parts))
            for parts in _PARTS
            if _fits(loop, parts)
        ]
    except (_NotApplicableError, DependentIterationsError, LaunchNotUnderstoodError) as error:
        yield Refusal(NAME, kernel.name, kernel.span.line, str(error))
        return
    for parts, own_edits, other_edits in changes:
        yield Proposal(
            transformation=NAME,
            kernel=kernel.name,
            line=loop.span.line,
            description=f"give the iterations of the loop of line {loop.span.line} to {parts} workgroups in place of one",
            edits=tuple(own_edits),
            parameters={"parts": parts},
            promises=promises,
            other_edits=tuple(other_edits),
        )


def _loop(source: HipSource, kernel: SourceKernel) -> tuple[Loop, Independence]:
    """The only outermost loop, and the conditions under which its iterations are independent."""
    unit = source.device
    if len(kernel.loops) != 1:
        raise _NotApplicableError(f"it has {len(kernel.loops)} outermost loops, not one" if kernel.loops else "it has no loop")
    (loop,) = kernel.loops
    if loop.in_macro or loop.kind != "for" or loop.variable is None or _step(loop) is None:
        raise _NotApplicableError("its loop is not a plain one that counts upwards")
    function = function_of(unit, kernel)
    if obstacle := next(iter(reordering_obstacles.find(function, unit.bindings)), None):
        raise _NotApplicableError(f"it holds a {obstacle}")
    body = body_of(function)
    cursor = find_by_span(function, loop.span, "FOR_STMT")
    condition = list(cursor.get_children())[1]
    if body is None or libclang.operator(unit.bindings, condition) not in ("<", "<="):
        raise _NotApplicableError("its loop is not limited by an upper bound")
    _expect_in_block(body, cursor)
    return loop, independence_of(unit, body, cursor)


def _expect_in_block(body: Cursor, loop: Cursor) -> None:
    """Check that the loop is directly in a block, with or without an unroll pragma: only then can statements be inserted before
    it.
    """
    holders = next(list(above) for node, above in walk_below(body) if node == loop)
    while holders and holders[-1].kind.name == "UNEXPOSED_STMT":
        holders.pop()
    if not holders or holders[-1].kind.name != "COMPOUND_STMT":
        raise _NotApplicableError("its loop is the only statement of another one")


def _promises(source: HipSource, kernel: SourceKernel, independence: Independence) -> Promises:
    restricted = {parameter.name for parameter in kernel.parameters if parameter.restrict}
    promised = tuple(stored for stored in independence.stored if stored not in restricted)
    promises = Promises(restrict=promised) if promised else NO_PROMISES
    if reason := broken_in_source(source, kernel.name, promises):
        raise _NotApplicableError(reason)
    return promises


def _step(loop: Loop) -> str | None:
    if loop.step is not None:
        return str(loop.step) if loop.step > 0 else None
    return loop.stride.step if loop.stride is not None else None


def _fits(loop: Loop, parts: int) -> bool:
    return loop.trip_count is None or parts <= loop.trip_count


def _find_placement(source: HipSource, kernel: SourceKernel, sites: list[ShapedLaunch]) -> _Placement:
    unit = source.device
    for axis in (1, 2):
        alone = all(_has_one_workgroup(site.shape, axis) for site in sites)
        if alone and not depends_on(unit, kernel, _AXES[axis]):
            return _Placement(axis, ())
    for axis in (2, 1, 0):
        blocks = replaceable(unit, kernel, _AXES[axis])
        if blocks:
            return _Placement(axis, tuple(blocks))
    raise _NotApplicableError("it depends on all dimensions of the grid, and not only through `blockIdx`")


def _has_one_workgroup(shape: Shape, axis: int) -> bool:
    number = shape.groups[axis]
    return isinstance(number, Constant) and number.value == 1


def _change(
    source: HipSource,
    kernel: SourceKernel,
    loop: Loop,
    independence: Independence,
    sites: list[ShapedLaunch],
    placement: _Placement,
    parts: int,
) -> tuple[list[Edit], list[tuple[Path, Edit]]]:
    cursor = find_by_span(function_of(source.device, kernel), loop.span, "FOR_STMT")
    block = _block(source, placement)
    part, count = (new_names(source.text, stem, 1)[0] for stem in ("part", "parts"))
    own = f"const unsigned {part} = {f'{block} % {parts}' if placement.blocks else block};"
    lines = [own, *_guard(independence.strides, part, count, parts)]
    start = before_pragmas(source.text, loop.span.start)
    margin = indentation(source.text, loop.span.start)
    at_line = start == line_start(source.text, start)
    text = "".join(f"{margin}{line}\n" for line in lines) if at_line else "".join(f"{line}\n{margin}" for line in lines)
    edits = [Edit(*interval, f"({block} / {parts})") for interval in placement.blocks]
    own_edits, other_edits = by_file(source, [_launch_edit(site, placement, parts) for site in sites])
    factor = count if independence.strides else str(parts)
    return [*edits, Edit(start, start, text), *_bounds(cursor, loop, part, factor), *own_edits], other_edits


def _guard(strides: Sequence[str], part: str, count: str, parts: int) -> list[str]:
    """The lines that make one workgroup execute all iterations if the iterations store to the same elements, because their
    order then matters.
    """
    if not strides:
        return []
    moves = " && ".join(f"({stride}) != 0" for stride in strides)
    return [f"const unsigned {count} = {moves} ? {parts} : 1;", f"if ({part} >= {count}) return;"]


def _bounds(cursor: Cursor, loop: Loop, part: str, parts: str) -> Iterator[Edit]:
    """The edits to the loop's initial value and its increment."""
    init, _, increment, _ = cursor.get_children()
    variable = next(node for node in walk(init) if node.kind.name == "VAR_DECL")
    start, end = byte_range_of([child for child in variable.get_children() if child.kind.is_expression()][-1])
    step = _step(loop) or "1"
    by = "" if step == "1" else f" * ({step})"
    yield Edit(start, start, "(")
    yield Edit(end, end, f") + static_cast<{variable.type.spelling}>({part}){by}")
    yield Edit(*byte_range_of(increment), f"{loop.variable} += {parts}{by}")


def _block(source: HipSource, placement: _Placement) -> str:
    """The workgroup's index in this dimension, in HIP's notation if HIP's header is included."""
    axis = _AXES[placement.axis]
    hip = source.device.has_system_macro("__launch_bounds__")
    return f"blockIdx.{axis}" if hip else f"__builtin_amdgcn_workgroup_id_{axis}()"


def _launch_edit(site: ShapedLaunch, placement: _Placement, parts: int) -> tuple[Path, Edit]:
    groups = list(site.shape.groups)
    before = groups[placement.axis]
    before = before.inner if isinstance(before, Conversion) else before
    more = (
        Constant(parts, UNSIGNED)
        if _has_one_workgroup(site.shape, placement.axis)
        else operation("*", before, Constant(parts, INT))
    )
    groups[placement.axis] = converted(more, UNSIGNED)
    grid, block, lds = shape_in_source(replace(site.shape, groups=(groups[0], groups[1], groups[2])))
    if "_cast<" in grid + block + lds:
        raise _NotApplicableError(f"the shape of the launch in line {site.line} mixes types of integers")
    return site.file, Edit(site.start, site.end, site.replacement_text(grid, block, lds))
