"""Finds the positions of Python AST nodes in the bytes of their file. Python itself also counts columns in UTF-8 bytes."""

from __future__ import annotations

import ast
import re
from typing import Protocol

from rocm_perf_lab.hip_source.source_parts import Span

_LINE_END = re.compile(rb"\r\n|\r|\n")  # as Python counts lines: form feeds and the like do not end a line


class PositionedNode(Protocol):
    """An AST node with a position."""

    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


class SourcePositions:
    """The positions in one text."""

    def __init__(self, text: bytes):
        self._text = text
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def offset(self, line: int, column: int) -> int:
        """The byte offset of a position. line: counted from 1. column: in bytes, counted from 0."""
        return self._starts[line - 1] + column

    def span(self, node: PositionedNode) -> Span:
        return Span(self.offset(node.lineno, node.col_offset), self.end(node), node.lineno)

    def end(self, node: PositionedNode) -> int:
        """The offset of the end of the node."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def start_of_line(self, line: int) -> int:
        return self._starts[line - 1]

    def text(self, node: ast.expr | ast.stmt) -> str:
        span = self.span(node)
        return self._text[span.start : span.end].decode()
