"""A `@triton.jit` function and its place in its file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from rocm_perf_lab.hip_source.source_parts import Span
from rocm_perf_lab.triton_source.source_positions import SourcePositions

_LOOPS = (ast.For, ast.While)


@dataclass(frozen=True)
class SourceLoop:
    """span: from the loop's first word to the end of its body."""

    node: ast.For | ast.While
    span: Span


@dataclass(frozen=True)
class TritonKernel:
    """span: whole lines, from the first decorator to the end of the body, without the final line ending.

    indentation: the indentation of the first line, as text.
    """

    name: str
    node: ast.FunctionDef
    span: Span
    indentation: str
    positions: SourcePositions = field(repr=False, compare=False)

    @property
    def parameters(self) -> list[ast.arg]:
        arguments = self.node.args
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]

    @property
    def constants(self) -> frozenset[str]:
        """The parameters annotated as `tl.constexpr`."""
        return frozenset(argument.arg for argument in self.parameters if "constexpr" in _words(argument.annotation))

    def all_loops(self) -> Iterator[SourceLoop]:
        """All loops in source order, so that inner loops come after the loops that contain them."""
        loops = [node for node in ast.walk(self.node) if isinstance(node, _LOOPS)]
        return (SourceLoop(node, self.positions.span(node)) for node in sorted(loops, key=lambda node: node.lineno))


def first_line(function: ast.FunctionDef) -> int:
    """The line of the first decorator, or of the definition if there is none."""
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])


def _words(annotation: ast.expr | None) -> str:
    return ast.unparse(annotation) if annotation is not None else ""
