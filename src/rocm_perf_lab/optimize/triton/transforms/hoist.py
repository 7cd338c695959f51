"""hoist: a load that is the same in each round of a loop is made once, before the loop.

The compiler leaves it where it is if the loop stores anything, or the pointer may be shared with one that others write to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rocm_perf_lab.hip_source.edits import new_names
from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal
from rocm_perf_lab.optimize.triton.transforms.loops import RangeLoop, range_loops
from rocm_perf_lab.triton_source import Edit, TritonKernel, TritonSource
from rocm_perf_lab.triton_source.names import calls, keyword

NAME = "hoist"
_WRITES = ("store", "debug_barrier") + tuple(
    f"atomic_{name}" for name in ("add", "max", "min", "and", "or", "xor", "xchg", "cas")
)


def propose(source: TritonSource, kernel: TritonKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    for loop in range_loops(kernel):
        invariant = [call for call in calls(loop.node, "load") if loop.is_invariant(call)]
        for call in invariant:
            if reason := _why_not(loop, call):
                yield Refusal(NAME, kernel.name, call.lineno, reason)
            else:
                words = f"load of line {call.lineno} before the loop in line {loop.node.lineno}"
                yield Proposal(NAME, kernel.name, loop.node.lineno, words, _edits(source, loop, call))


def _why_not(loop: RangeLoop, call: ast.Call) -> str:
    if any(calls(loop.node, name) for name in _WRITES):
        return "the loop writes to memory, which the load may read"
    if keyword(call, "volatile") is not None:
        return "it is volatile"
    if not any(
        call in ast.walk(statement) for statement in loop.node.body if isinstance(statement, ast.Assign | ast.AugAssign)
    ):
        return "it is not made in every round"
    return ""


def _edits(source: TritonSource, loop: RangeLoop, call: ast.Call) -> tuple[Edit, ...]:
    places, (name,) = source.places, new_names(source.text, "loaded", 1)
    start, span = places.span(loop.node).start, places.span(call)
    line = f"{name} = {places.text(call)}\n{' ' * loop.node.col_offset}"
    return Edit(start, start, line), Edit(span.start, span.end, name)
