"""A Triton function as its file defines it: its text with decorators, and the functions of the same file that it calls."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.errors import SourceError
from rocm_perf_lab.prompt.code import Excerpt, SourceExcerpts
from rocm_perf_lab.triton_source import TritonSource
from rocm_perf_lab.triton_source.function import first_line


@dataclass(frozen=True)
class FunctionParameter:
    """type: the annotation; empty if there is none."""

    name: str
    type: str


@dataclass(frozen=True)
class TritonFunction:
    """attributes: the function's decorators. template: always None; only HIP kernels have one."""

    name: str
    parameters: tuple[FunctionParameter, ...]
    attributes: tuple[str, ...]
    code: SourceExcerpts
    template: None = None


def function_at(source: TritonSource, name: str, line: int) -> TritonFunction:
    """The function `name` at this line, which may be the line of a decorator. Raises SourceError if there is none."""
    path, tree = source.path, source.tree
    own = source.function_at(name, line)
    if own is None:
        raise SourceError(f"{path} has no function {name} in line {line}", "profile the script again: it has changed")
    text = source.text.decode()
    lines = text.splitlines()
    used = [callee for callee in _callees(own, tree) if callee is not own]
    excerpts = SourceExcerpts(
        _excerpt(path, lines, own, "kernel"),
        tuple(_excerpt(path, lines, callee, "used") for callee in used),
        Excerpt(path.name, 1, len(lines), "file", "\n".join(lines)),
        (),
    )
    return TritonFunction(
        name, _parameters(own), tuple(f"@{ast.unparse(decorator)}" for decorator in own.decorator_list), excerpts
    )


def _callees(function: ast.FunctionDef, tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions of the module that this function calls, directly or indirectly, in file order."""
    known = {definition.name: definition for definition in tree.body if isinstance(definition, ast.FunctionDef)}
    reached: set[str] = set()
    waiting = [function]
    while waiting:
        names = {node.id for node in ast.walk(waiting.pop()) if isinstance(node, ast.Name)} & known.keys() - reached
        reached |= names
        waiting += [known[name] for name in names]
    return [definition for name, definition in known.items() if name in reached]


def _excerpt(path: Path, lines: list[str], function: ast.FunctionDef, role: str) -> Excerpt:
    first, last = first_line(function), function.end_lineno or function.lineno
    return Excerpt(path.name, first, last, role, "\n".join(lines[first - 1 : last]))


def _parameters(function: ast.FunctionDef) -> tuple[FunctionParameter, ...]:
    arguments = function.args
    return tuple(
        FunctionParameter(parameter.arg, ast.unparse(parameter.annotation) if parameter.annotation is not None else "")
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    )
