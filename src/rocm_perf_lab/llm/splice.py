"""A model's code in the place of one kernel, and what of it Clang then finds there.

The answer takes the kernel's exact bytes, so that host code and everything else stays; that nothing reaches beyond its
place (a brace too many, a comment that does not end) is for the gate's source check, which compares declarations. Here
is checked what the gate does not look for: anything in the kernel's place but the kernel and device functions, and
assembly, which could read files while it is assembled (.incbin).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rocm_perf_lab.hip_source import Edit, HipSource, Kernel
from rocm_perf_lab.hip_source.cursors import walk
from rocm_perf_lab.hip_source.fingerprint import flat
from rocm_perf_lab.hip_source.source import TranslationUnit

_ASSEMBLY_WORD = re.compile(r"\b_*asm_*\b")


def splice(source: HipSource, kernel: Kernel, code: str) -> Edit:
    """The edit that puts `code` in the place of the kernel, whose indentation its first line keeps."""
    return Edit(kernel.span.start, kernel.span.end, code.strip("\n"))


def contract_breach(baseline: HipSource, kernel: Kernel, candidate: HipSource, edit: Edit) -> str | None:
    """Why the spliced code is not a kernel and device functions of its own; None where it is.

    Errors: SourceError where the candidate does not compile.
    """
    start, end = edit.start, edit.start + len(edit.text.encode())
    if _ASSEMBLY_WORD.search(edit.text) and not _ASSEMBLY_WORD.search(_text(baseline, kernel)):
        return "it uses inline assembly, which the kernel did not"
    unit = candidate.device
    kinds = unit.bindings.CursorKind
    kernels = 0
    for cursor in _within(unit, start, end):
        attributes = {child.kind for child in cursor.get_children()}
        if cursor.kind not in (kinds.FUNCTION_DECL, kinds.FUNCTION_TEMPLATE):
            return f"{_name(cursor)} is neither the kernel nor a __device__ function: only these may stand in the answer"
        if kinds.CUDAGLOBAL_ATTR in attributes:
            kernels += 1
            if cursor.spelling != kernel.name.rsplit("::", 1)[-1]:
                return f"it defines the kernel {cursor.spelling}; only {kernel.name} may be replaced"
        elif kinds.CUDADEVICE_ATTR not in attributes:
            return f"{_name(cursor)} is a host function: helpers must be __device__ functions"
        if assembly := _new_assembly(unit, cursor, baseline, kernel):
            return f"it uses inline assembly that the kernel did not have: {assembly[:80]}"
    if kernels != 1:
        return f"it defines {kernel.name} {kernels} times; the answer must hold the whole kernel, once"
    return None


def _text(source: HipSource, kernel: Kernel) -> str:
    return source.text[kernel.span.start : kernel.span.end].decode()


def _within(unit: TranslationUnit, start: int, end: int) -> Iterator[Any]:
    """Declarations of the source itself that begin in [start, end); uses of macros left out."""
    for cursor in flat(unit):
        place = cursor.extent.start
        if place.file is not None and place.file.name == str(unit.path) and start <= place.offset < end:
            yield cursor


def _new_assembly(unit: TranslationUnit, cursor: Any, baseline: HipSource, kernel: Kernel) -> str | None:
    kinds = unit.bindings.CursorKind
    known = " ".join(_text(baseline, kernel).split())
    for inner in walk(cursor):
        if inner.kind == kinds.ASM_LABEL_ATTR or (
            inner.kind in (kinds.ASM_STMT, kinds.MS_ASM_STMT) and unit.text_of(inner) not in known
        ):
            return unit.text_of(inner)
    return None


def _name(cursor: Any) -> str:
    return f"{cursor.kind.name.lower().removesuffix('_decl').replace('_', ' ')} {cursor.spelling}".strip()
