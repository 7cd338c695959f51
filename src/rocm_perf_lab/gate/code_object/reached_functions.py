"""The functions that a kernel reaches by calls, and their instructions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rocm_perf_lab.code_object.disassembly import instructions
from rocm_perf_lab.code_object.symbol_contents import SymbolContent, contents_by_symbol


def instructions_of(image: bytes, kernel: str, target: str) -> list[str]:
    """The instructions of a code object's kernel and of the functions that it calls, as text. Raises SourceError."""
    return instructions_in(contents_by_symbol(image), kernel, target)


def instructions_in(pieces: Mapping[str, SymbolContent], kernel: str, target: str) -> list[str]:
    """The instructions of the kernel and of the functions that it calls, as text."""
    return [text for piece in kernel_and_callees(pieces, kernel) for text in instructions(piece.content or b"", target)]


def kernel_and_callees(pieces: Mapping[str, SymbolContent], kernel: str) -> list[SymbolContent]:
    """The kernel and the functions that it calls, whether directly, through tables of addresses or through other functions."""
    by_name: dict[str, list[SymbolContent]] = {}
    for name, piece in pieces.items():
        by_name.setdefault(name.partition(" #")[0], []).append(piece)
    reached_pieces: dict[str, SymbolContent] = {}
    todo = [kernel]
    while todo:
        for piece in by_name.get(todo.pop(), ()):
            if piece.name not in reached_pieces:
                reached_pieces[piece.name] = piece
                todo += [referenced_symbol(reference) for _, reference in piece.references]
    return [piece for piece in reached_pieces.values() if piece.is_function]


def referenced_symbol(reference: str) -> str:
    """The symbol in a reference: `_Z1ff` in "10 _Z1ff+0"."""
    return re.sub(r"[+-]\d+$", "", reference.split(" ", 1)[1])
