"""The launches of a function in its file: `kernel[grid](...)`."""

from __future__ import annotations

import ast

from rocm_perf_lab.triton_source import TritonKernel, TritonSource


def launches_in(source: TritonSource, kernel: TritonKernel) -> list[ast.Call]:
    """The launches in source order; empty if any of them unpacks a dictionary into keyword arguments."""
    launches = [node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_launch(node, kernel.name)]
    without_dictionary = [call for call in launches if all(word.arg is not None for word in call.keywords)]
    return sorted(without_dictionary, key=lambda call: call.lineno) if len(without_dictionary) == len(launches) else []


def _is_launch(call: ast.Call, name: str) -> bool:
    target = call.func
    return isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name
