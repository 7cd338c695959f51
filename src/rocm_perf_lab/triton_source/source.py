"""A Python file with Triton functions, and edits to it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.hip_source.edits import Edit, apply_edits
from rocm_perf_lab.hip_source.source_parts import Span
from rocm_perf_lab.triton_source.function import TritonKernel, first_line
from rocm_perf_lab.triton_source.names import is_jit
from rocm_perf_lab.triton_source.source_positions import SourcePositions

_NOTHING: Mapping[Path, bytes] = MappingProxyType({})


class TritonSource:
    """path: the file. text: the file's bytes, in UTF-8. If the text is not Python, accessing the functions raises
    SourceError.
    """

    other_files: Mapping[Path, bytes] = _NOTHING  # changes affect only this file

    def __init__(self, path: Path, text: bytes):
        self.path, self.text = path, text

    @property
    def state(self) -> bytes:
        """The value that distinguishes this source from others with the same path."""
        return self.text

    def edited(self, edits: Iterable[Edit], other_edits: Iterable[tuple[Path, Edit]] = ()) -> TritonSource:
        """other_edits: must be empty. Raises ValueError if edits overlap."""
        if list(other_edits):
            raise ValueError("a change to a Triton function concerns only its file")
        return TritonSource(self.path, apply_edits(self.text, edits))

    @functools.cached_property
    def tree(self) -> ast.Module:
        """Raises SourceError."""
        try:
            return ast.parse(self.text.decode(), str(self.path))  # positions are in UTF-8 bytes
        except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
            hint = "name the script that launches the kernel"
            raise SourceError(f"{self.path} cannot be read as Python: {error}", hint) from error

    @functools.cached_property
    def positions(self) -> SourcePositions:
        return SourcePositions(self.text)

    @functools.cached_property
    def kernels(self) -> tuple[TritonKernel, ...]:
        """The `@triton.jit` functions, wherever they are in the file."""
        functions = [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)]
        return tuple(self._kernel(function) for function in functions if any(map(is_jit, function.decorator_list)))

    def kernel(self, name: str) -> TritonKernel:
        """Raises SourceError if there is no kernel with this name, or more than one."""
        kernels = [kernel for kernel in self.kernels if kernel.name == name]
        if len(kernels) != 1:
            message = f"{self.path} has {len(kernels) or 'no'} functions {name} with @triton.jit"
            raise SourceError(message, "name one that occurs only once" if kernels else "name the file that defines it")
        return kernels[0]

    def function_at(self, name: str, line: int) -> ast.FunctionDef | None:
        """The function `name` that contains this line, which may be a decorator's line."""
        functions = (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef) and node.name == name)
        return next((function for function in functions if first_line(function) <= line <= (function.end_lineno or line)), None)

    def _kernel(self, node: ast.FunctionDef) -> TritonKernel:
        first = first_line(node)
        start = self.positions.start_of_line(first)
        decorated = self.text[start : self.positions.offset(first, node.col_offset)].decode()
        return TritonKernel(node.name, node, Span(start, self.positions.end(node), first), decorated, self.positions)
