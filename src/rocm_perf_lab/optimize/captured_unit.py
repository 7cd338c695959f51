"""Determines in which of a program's units the captured code was compiled.

A header's kernel may be compiled in several units, and two files may have kernels with the same name, only one of which is to
be changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from rocm_perf_lab.code_object import parse
from rocm_perf_lab.code_object.symbol_contents import SymbolContent, contents_by_symbol, width_of
from rocm_perf_lab.errors import NoCaptureError
from rocm_perf_lab.gate.code_object.reached_functions import kernel_and_callees
from rocm_perf_lab.gate.code_object.translation_units import same_machine_code
from rocm_perf_lab.gate.judge import Builder
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.isolate import Capture


def unit_of(source: HipSource, captures: Sequence[Capture], builder: Builder) -> HipSource:
    """The source as read in the unit whose code object was captured.

    Raises whatever building raises, and NoCaptureError if the captures come from several units, or the unit cannot be
    determined.
    """
    if not source.other_units:
        return source
    symbol = captures[0].symbol
    images = {unit: builder.code_object(unit) for unit in (source, *source.other_units_of_program)}
    units = [unit for unit, image in images.items() if symbol in parse(image).kernels]
    captured = {capture.code_object.read_bytes() for capture in captures}
    alike = [unit for unit in units if all(is_same_build(code_object, images[unit], symbol) for code_object in captured)]
    if alike and all(same_machine_code(images[alike[0]], images[unit], symbol) for unit in alike[1:]):
        return alike[0]
    names = " and ".join(unit.main.name for unit in units) or source.path.name
    raise NoCaptureError(
        f"the kernel launched as {captures[0].kernel} does not come only from {names}",
        "give the kernel a unique name, or compile it in only one file",
    )


def is_same_build(captured: bytes, image: bytes, symbol: str) -> bool:
    """Whether a captured code object comes from the same build as an image that was linked with its relocations kept. Raises
    SourceError.
    """
    before, after = contents_by_symbol(image), contents_by_symbol(captured)
    named = [{name: piece.size for name, piece in pieces.items() if not name.startswith(".")} for pieces in (before, after)]
    return named[0] == named[1] and all(
        _has_same_code(piece, after[piece.name]) for piece in kernel_and_callees(before, symbol)
    )


def _has_same_code(piece: SymbolContent, captured: SymbolContent) -> bool:
    """Compare the code, ignoring the bytes that relocations patch, which are zero only in `piece`."""
    content = bytearray(captured.content or b"")
    for position, reference in piece.references:
        width = width_of(reference)
        content[position : position + width] = bytes(width)
    return bytes(content) == piece.content
