"""configuration: doubles or halves the number of warps or a block size with which the file launches the function, or uses one
stage more or one fewer.

Each proposal takes one step: the optimizer's loop profiles the accepted change and continues from there. `rocm-perf autotune
--triton` searches an entire space of configurations, and also accepts functions with `@triton.autotune`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rocm_perf_lab.optimize.transforms.proposal import Proposal, Refusal
from rocm_perf_lab.optimize.triton.transforms.launches import launches_in
from rocm_perf_lab.triton_source import Edit, TritonKernel, TritonSource
from rocm_perf_lab.triton_source.names import dotted, keyword

NAME = "configuration"
_WARPS, _STAGES = "num_warps", "num_stages"
_USUAL = {_WARPS: 4, _STAGES: 2}  # Triton's defaults on AMD GPUs
_MAX = {_WARPS: 16, _STAGES: 4}
_MIN_BLOCK, _MAX_BLOCK = 16, 8192


def propose(source: TritonSource, kernel: TritonKernel, factors: tuple[int, ...]) -> Iterator[Proposal | Refusal]:
    line = kernel.node.lineno
    launches = launches_in(source, kernel)
    if any(
        dotted(decorator.func)[-1:] in (("autotune",), ("heuristics",))
        for decorator in kernel.node.decorator_list
        if isinstance(decorator, ast.Call)
    ):
        yield Refusal(NAME, kernel.name, line, "it chooses its own configuration: `rocm-perf autotune --triton` tunes it")
        return
    if not launches:
        yield Refusal(NAME, kernel.name, line, "its file does not launch it")
        return
    for name, usual in _USUAL.items():
        yield from _steps(source, kernel, launches, name, usual)
    for name in (parameter.arg for parameter in kernel.parameters if parameter.arg in kernel.constants):
        yield from _steps(source, kernel, launches, name, None)


def _steps(
    source: TritonSource, kernel: TritonKernel, launches: list[ast.Call], name: str, usual: int | None
) -> Iterator[Proposal | Refusal]:
    values = {_value(launch, name, usual) for launch in launches}
    value = values.pop()
    if values or value is None:
        if name not in _USUAL and value is not None:
            yield Refusal(NAME, kernel.name, launches[0].lineno, f"launches give {name} different or non-numeric values")
        return
    for neighbour in _neighbours(name, value):
        edits = tuple(_edit(source, launch, name, neighbour) for launch in launches)
        words = f"{name}={neighbour} instead of {value}"
        yield Proposal(NAME, kernel.name, launches[0].lineno, words, edits, {name: neighbour})


def _value(launch: ast.Call, name: str, usual: int | None) -> int | None:
    """The value that a launch passes for a name; `usual` if it passes none, None if the value is not a number."""
    argument = keyword(launch, name)
    if argument is None:
        return usual
    return argument.value if isinstance(argument, ast.Constant) and type(argument.value) is int else None


def _neighbours(name: str, value: int) -> list[int]:
    if name == _STAGES:
        return [neighbour for neighbour in (value - 1, value + 1) if 1 <= neighbour <= _MAX[name]]
    if value < 1 or value & (value - 1):
        return []
    if name == _WARPS:
        return [neighbour for neighbour in (value // 2, value * 2) if 1 <= neighbour <= _MAX[name]]
    return [neighbour for neighbour in (value // 2, value * 2) if _MIN_BLOCK <= neighbour <= _MAX_BLOCK and value >= _MIN_BLOCK]


def _edit(source: TritonSource, launch: ast.Call, name: str, value: int) -> Edit:
    if (argument := keyword(launch, name)) is not None:
        span = source.positions.span(argument)
        return Edit(span.start, span.end, str(value))
    end = source.positions.end(launch) - 1
    comma = "" if source.text[:end].rstrip().endswith(b",") else ", "
    return Edit(end, end, f"{comma}{name}={value}")
