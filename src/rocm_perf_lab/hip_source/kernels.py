"""Finds the kernels in a device pass, with their signatures, attributes and loops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.cursors import body_of, is_member, parameters_of, span_of
from rocm_perf_lab.hip_source.loops import loops_in
from rocm_perf_lab.hip_source.source_parts import KernelParameter, SourceKernel

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import Cursor, CursorKinds
    from rocm_perf_lab.hip_source.source import TranslationUnit

_PLACE_IN_USR = re.compile(r"@\d+(?=@)")


def kernels_in(unit: TranslationUnit) -> Iterator[SourceKernel]:
    """Every kernel whose body is in the unit's own file."""
    kinds = unit.bindings.CursorKind
    for function in unit.functions():
        if not any(child.kind == kinds.CUDAGLOBAL_ATTR for child in function.get_children()):
            continue
        body = body_of(function)
        if body is not None and function.extent.start.file.name == unit.own:
            yield _kernel(unit, function, body)


def files_with_kernels(unit: TranslationUnit, name: str | None = None) -> Iterator[Path]:
    """The real paths of the user's files in the unit that define kernels. name: qualified name of the wanted kernels; None for
    all.
    """
    kinds = unit.bindings.CursorKind
    for function in unit.functions():
        is_kernel = any(child.kind == kinds.CUDAGLOBAL_ATTR for child in function.get_children())
        if is_kernel and body_of(function) is not None and name in (None, _qualified_name(function, kinds)):
            yield Path(function.extent.start.file.name).resolve()


def function_of(unit: TranslationUnit, kernel: SourceKernel) -> Cursor:
    """The cursor of a kernel's definition. kernel: must have been read from the same text."""
    return next(
        f for f in unit.functions() if f.extent.start.offset == kernel.span.start and f.extent.start.file.name == unit.own
    )


def name_of(unit: TranslationUnit, kernel: SourceKernel) -> int | None:
    """The offset of the kernel's name in its declaration; None if the name comes from a macro."""
    location = function_of(unit, kernel).location
    end = location.offset + len(kernel.name.rsplit("::", 1)[-1].encode())
    inside = kernel.span.start <= location.offset < kernel.body.start
    return location.offset if inside and not unit.cut_by_macro(unit.own, location.offset, end) else None


def _kernel(unit: TranslationUnit, function: Cursor, body: Cursor) -> SourceKernel:
    kinds = unit.bindings.CursorKind
    is_template = function.kind == kinds.FUNCTION_TEMPLATE
    children = list(function.get_children())
    attributes = dict.fromkeys(unit.text_of(child) for child in children if child.kind.is_attribute())
    template = [unit.text_of(c) for c in children if c.kind.name.startswith("TEMPLATE_")]
    linkage = _linkage(unit, function)
    return SourceKernel(
        identity=identity_of(function),
        name=_qualified_name(function, kinds),
        symbol=None if is_template else function.mangled_name,
        file=unit.path,
        declaration=function.extent.start.offset if linkage is None or linkage.braces else linkage.start,
        c_linkage=linkage is not None and linkage.braces,
        in_class=is_member(function),
        span=span_of(function),
        body=span_of(body),
        parameters=tuple(_parameter(child) for child in parameters_of(function)),
        template=", ".join(template) if is_template else None,
        attributes=tuple(attributes),
        loops=tuple(loops_in(unit, body)),
    )


@dataclass(frozen=True)
class _Linkage:
    """The `extern "C"` around a function. start: its offset. braces: whether it has braces."""

    start: int
    braces: bool


def _linkage(unit: TranslationUnit, function: Cursor) -> _Linkage | None:
    scope = function.lexical_parent
    while scope is not None and scope.kind.name not in ("LINKAGE_SPEC", "UNEXPOSED_DECL", "TRANSLATION_UNIT"):
        scope = scope.lexical_parent
    if scope is None or scope.kind.name == "TRANSLATION_UNIT":
        return None
    start = scope.extent.start.offset
    return _Linkage(start, b"{" in unit.text[start : function.extent.start.offset])


def identity_of(function: Cursor) -> str:
    """The function's USR without the file offset that Clang adds to distinguish unnamed entities."""
    return _PLACE_IN_USR.sub("", function.get_usr())


def _qualified_name(function: Cursor, kinds: CursorKinds) -> str:
    names = [function.spelling]
    scope = function.semantic_parent
    while scope is not None and scope.kind != kinds.TRANSLATION_UNIT:
        if scope.spelling:
            names.append(scope.spelling)
        scope = scope.semantic_parent
    return "::".join(reversed(names))


def _parameter(cursor: Cursor) -> KernelParameter:
    canonical = cursor.type.get_canonical()
    is_array = canonical.kind.name.endswith("ARRAY")  # `float p[]` is also a pointer
    pointee = canonical.element_type if is_array else canonical.get_pointee()
    is_pointer = is_array or canonical.kind.name == "POINTER"
    return KernelParameter(
        name=cursor.spelling,
        type=cursor.type.spelling,
        canonical=canonical.spelling,
        pointee=_unqualified(pointee.spelling) if is_pointer else None,
        const_pointee=is_pointer and pointee.is_const_qualified(),
        restrict=is_pointer and canonical.is_restrict_qualified(),
        span=span_of(cursor),
    )


def _unqualified(spelling: str) -> str:
    return spelling.removeprefix("const ").removeprefix("volatile ")
