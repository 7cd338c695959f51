"""Loop options: `range(...)` becomes `tl.range(..., option=value)`, which has the same meaning but tells the compiler more."""

from __future__ import annotations

import ast

from rocm_perf_lab.optimize.triton.transforms.loops import RangeLoop
from rocm_perf_lab.triton_source import Edit, TritonSource
from rocm_perf_lab.triton_source.names import dotted, keyword


def with_option(source: TritonSource, loop: RangeLoop, language: str, name: str, value: int) -> list[Edit]:
    """The edits that give this option to the loop. language: what the file calls `triton.language`."""
    places, call = source.positions, loop.call
    edits = []
    if not loop.is_of_triton:
        start = places.span(call.func).start
        edits.append(Edit(start, start, f"{language}."))
    if (argument := keyword(call, name)) is not None:
        span = places.span(argument)
        return [*edits, Edit(span.start, span.end, str(value))]
    end = places.end(call) - 1
    comma = "" if source.text[:end].rstrip().endswith(b",") else ", "
    return [*edits, Edit(end, end, f"{comma}{name}={value}")]


def language_of(source: TritonSource) -> str | None:
    """What the file calls `triton.language`, usually "tl"; None if it has no name for it."""
    for node in source.tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "triton.language" and alias.asname:
                    return alias.asname
        if isinstance(node, ast.ImportFrom) and node.module == "triton":
            for alias in node.names:
                if alias.name == "language":
                    return alias.asname or alias.name
    return (
        "triton.language" if any(dotted(attribute)[:2] == ("triton", "language") for attribute in _attributes(source)) else None
    )


def _attributes(source: TritonSource) -> list[ast.Attribute]:
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.Attribute)]
