"""Loops over `range` or `tl.range`, and the names that they change."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from rocm_perf_lab.triton_source import TritonKernel
from rocm_perf_lab.triton_source.names import assigned_in, dotted, is_call, names_in


@dataclass(frozen=True)
class RangeLoop:
    """`for variable in range(begin, end, step)`. begin, step: None if not given."""

    node: ast.For
    call: ast.Call
    variable: str
    begin: ast.expr | None
    end: ast.expr
    step: ast.expr | None

    @property
    def is_of_triton(self) -> bool:
        """Whether the loop is over `tl.range`, which has options."""
        return dotted(self.call.func) != ("range",)

    @property
    def bound_names(self) -> set[str]:
        """The names that the loop or its body binds."""
        return assigned_in(self.node)

    def is_invariant(self, node: ast.expr) -> bool:
        """Whether the loop binds none of the names in the expression."""
        return not names_in(node) & self.bound_names


def range_loops(kernel: TritonKernel) -> list[RangeLoop]:
    """The loops in source order, without loops over `tl.static_range`, which are already unrolled."""
    return [
        loop
        for source_loop in kernel.all_loops()
        if isinstance(source_loop.node, ast.For) and (loop := _range(source_loop.node)) is not None
    ]


def _range(node: ast.For) -> RangeLoop | None:
    call = node.iter
    if not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call) or node.orelse:
        return None
    if not (dotted(call.func) == ("range",) or is_call(call, "range")) or not 1 <= len(call.args) <= 3:
        return None
    begin, end, step = (None, call.args[0], None) if len(call.args) == 1 else (*call.args, None)[:3]
    return RangeLoop(node, call, node.target.id, begin, end, step)  # type: ignore[arg-type]


def is_innermost(loop: RangeLoop) -> bool:
    return not any(isinstance(node, ast.For | ast.While) for statement in loop.node.body for node in ast.walk(statement))
