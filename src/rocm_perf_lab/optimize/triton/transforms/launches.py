"""The launches of a function in its file: `kernel[grid](...)`."""

from __future__ import annotations

import ast

from rocm_perf_lab.triton_source import TritonKernel, TritonSource


def launches_in(source: TritonSource, kernel: TritonKernel) -> list[ast.Call]:
    """The launches in source order; empty if any of them takes keywords from a dictionary."""
    found = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_launch(node, kernel.name)]
    plain = [call for call in found if all(word.arg is not None for word in call.keywords)]
    return sorted(plain, key=lambda call: call.lineno) if len(plain) == len(found) else []


def _is_launch(call: ast.Call, name: str) -> bool:
    target = call.func
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name
