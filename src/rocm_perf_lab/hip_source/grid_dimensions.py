"""Which of a grid's dimensions a kernel depends on, judged by its own text and the text of the functions that it calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.cursors import body_of, byte_range_of, walk
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.source_parts import SourceKernel

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor
    from rocm_perf_lab.hip_source.source import TranslationUnit

_ALL_DIMENSIONS = re.compile(r"\b(blockIdx|gridDim)\b(?!\s*\.\s*[xyz]\b)|\bcooperative_groups\b|\bcg\s*::|\b__ockl_get_\w+")
_ONE_DIMENSION = r"\b(blockIdx|gridDim)\s*\.\s*{0}\b|\bhip(BlockIdx|GridDim)_{0}\b|workgroup_id_{0}\b|grid_size_{0}\b"


def depends_on(unit: TranslationUnit, kernel: SourceKernel, dimension: str) -> bool:
    """Whether the kernel's work depends, or may depend, on its workgroup's position in this dimension ("x", "y" or "z")."""
    used = re.compile(_ONE_DIMENSION.format(dimension))
    return any(_ALL_DIMENSIONS.search(text) or used.search(text) for text in _texts(unit, kernel))


def replaceable(unit: TranslationUnit, kernel: SourceKernel, dimension: str) -> list[tuple[int, int]] | None:
    """The byte range of each `blockIdx.<dimension>` if the kernel depends on this dimension in no other way; None otherwise."""
    own, *called = _texts(unit, kernel)
    used = re.compile(_ONE_DIMENSION.format(dimension))
    if any(_ALL_DIMENSIONS.search(text) for text in (own, *called)) or any(used.search(text) for text in called):
        return None
    body = body_of(function_of(unit, kernel))
    ranges = [
        byte_range_of(cursor) for cursor in walk(body) if re.fullmatch(rf"blockIdx\s*\.\s*{dimension}", unit.text_of(cursor))
    ]
    occurrences = list(dict.fromkeys(ranges))
    return (
        occurrences if len(occurrences) == len(used.findall(own)) and not any(map(unit.is_cut_by_macro, walk(body))) else None
    )


def _texts(unit: TranslationUnit, kernel: SourceKernel) -> list[str]:
    """The kernel's body, then the bodies of the program's own functions that it reaches."""
    function = function_of(unit, kernel)
    texts, left = {function.get_usr(): unit.text_of(body_of(function))}, [function]
    while left:
        for called in _called_functions(unit, left.pop()):
            if (name := called.get_usr()) not in texts:
                texts[name] = unit.text_of(called)
                left.append(called)
    return list(texts.values())


def _called_functions(unit: TranslationUnit, function: Cursor) -> list[Cursor]:
    library = unit.bindings.conf.lib
    named = (cursor.referenced for cursor in walk(function) if cursor.kind.name in ("CALL_EXPR", "DECL_REF_EXPR"))
    definitions = (
        declaration.get_definition()
        for declaration in named
        if declaration is not None and declaration.kind.name in ("FUNCTION_DECL", "CXX_METHOD")
    )
    return [
        definition
        for definition in definitions
        if definition is not None and not library.clang_Location_isInSystemHeader(definition.location)
    ]
