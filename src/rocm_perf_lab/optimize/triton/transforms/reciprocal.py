"""reciprocal: multiplies a tile by the reciprocal of a sum or a scalar, instead of dividing the tile by it.

A division takes about ten instructions per element. Multiplying by a reciprocal rounds twice, so results can be off by a unit
in the last place; use it with --ulps.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal
from rocm_perf_lab.triton_source import Edit, TritonKernel, TritonSource
from rocm_perf_lab.triton_source.names import is_call

NAME = "reciprocal"
_SCALARS = ("sum", "max", "sqrt", "load")


def propose(source: TritonSource, kernel: TritonKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    divisions = [node for node in ast.walk(kernel.node) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    for node in sorted(divisions, key=lambda division: (division.lineno, division.col_offset)):
        if not isinstance(node.left, ast.Name | ast.Call | ast.BinOp) or isinstance(node.left, ast.Constant):
            continue
        if not _may_be_small(node.right):
            yield Refusal(NAME, kernel.name, node.lineno, "the divisor may have as many elements as the dividend")
            continue
        words = f"multiply by the reciprocal in line {node.lineno}"
        yield Proposal(NAME, kernel.name, node.lineno, words, (_edit(source, node),))


def _may_be_small(divisor: ast.expr) -> bool:
    """Whether the divisor may have fewer elements than the dividend: this holds for a name or a reduction, but not for a tile
    computed in place.
    """
    return isinstance(divisor, ast.Name | ast.Subscript) or any(is_call(divisor, name) for name in _SCALARS)


def _edit(source: TritonSource, node: ast.BinOp) -> Edit:
    places = source.positions
    left, right, span = places.text(node.left), places.text(node.right), places.span(node)
    if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Add | ast.Sub):
        left = f"({left})"
    return Edit(span.start, span.end, f"{left} * (1.0 / {right})")
