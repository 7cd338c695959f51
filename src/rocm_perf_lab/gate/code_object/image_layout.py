"""Checks that the candidate's code object is laid out as the compiler lays out the baseline's, so that nothing in it is
ambiguous or runs unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from rocm_perf_lab.code_object.disassembly import instructions
from rocm_perf_lab.code_object.layout import CodeObjectLayout, ElfSection, layout_of
from rocm_perf_lab.code_object.symbol_contents import SymbolContent
from rocm_perf_lab.gate.code_object.reached_functions import kernel_and_callees, referenced_symbol

_ALLOCATED, _WRITABLE, _NOT_LOADED = 2, 1, 0
# Sections that the compiler adds for honest changes: tables of constants and of addresses, and the relocations for these tables
# and for calls.
_ADDABLE_SECTIONS = frozenset(
    {
        ElfSection(".rodata", "SHT_PROGBITS", _ALLOCATED),
        ElfSection(".data.rel.ro", "SHT_PROGBITS", _ALLOCATED | _WRITABLE),
        ElfSection(".got", "SHT_PROGBITS", _ALLOCATED | _WRITABLE),
        ElfSection(".relro_padding", "SHT_NOBITS", _ALLOCATED | _WRITABLE),
        ElfSection(".rela.dyn", "SHT_RELA", _ALLOCATED),
        *(ElfSection(f".rela{name}", "SHT_RELA", _NOT_LOADED) for name in (".text", ".rodata", ".data.rel.ro")),
    }
)
_END_INSTRUCTION = re.compile(r"s_(endpgm(_saved)?|set_?pc_[bi]64|branch|trap)\b")  # a trap halts the wave
_FILLER_INSTRUCTION = re.compile(r"s_(nop|code_end)\b")
_CALL_INSTRUCTION, _RETURN_INSTRUCTION = re.compile(r"s_swap_?pc_[bi]64\b"), re.compile(r"s_set_?pc_[bi]64\b")


def layout_difference(baseline: bytes, candidate: bytes) -> str | None:
    """The aspect of the candidate's layout that cannot result from compiling an honest change; None if there is none. Raises
    SourceError.
    """
    before, after = layout_of(baseline), layout_of(candidate)
    if after.notes:
        return f"its code object can be read in more than one way: {after.notes}"
    if added := sorted(section.name for section in after.sections - before.sections - _ADDABLE_SECTIONS):
        return f"its code object has a section {added[0]} that the baseline's does not have"
    return _unowned_code_complaint(before, after)


def _unowned_code_complaint(before: CodeObjectLayout, after: CodeObjectLayout) -> str | None:
    left = list(before.unowned)
    for gap in after.unowned:
        if gap not in left:
            return f"its code object has {len(gap)} bytes among its code that belong to no function"
        left.remove(gap)
    return None


def runs_past_end(
    before: Mapping[str, SymbolContent], after: Mapping[str, SymbolContent], kernels: Collection[str], target: str
) -> str | None:
    """Why a new, changed or newly used function could run on past its end; None if none could."""
    if empty := [kernel for kernel in kernels if kernel not in after]:
        return f"the kernel {empty[0]} has no instructions: the code after it would be executed"
    known = {piece.name for kernel in kernels for piece in kernel_and_callees(before, kernel) if after.get(piece.name) == piece}
    pieces = {piece.name: piece for kernel in kernels for piece in kernel_and_callees(after, kernel)}
    pieces |= {name: piece for name, piece in after.items() if piece.is_function and name not in before}
    for name in sorted(pieces.keys() - known):
        if not _is_terminated(pieces[name], after, target):
            return f"the function {name} does not end with its last instruction: the code after it would be executed"
    return None


def newly_referenced_kernel(
    before: Mapping[str, SymbolContent], after: Mapping[str, SymbolContent], kernels: Collection[str]
) -> str | None:
    """The name of a kernel that is newly referred to in `after`, or None. kernels: all kernels of both code objects."""
    added = _kernel_references(after, kernels) - _kernel_references(before, kernels)
    return sorted(added)[0][1] if added else None


def _kernel_references(pieces: Mapping[str, SymbolContent], kernels: Collection[str]) -> set[tuple[str, str]]:
    """Pairs of (referring piece, kernel), excluding the references from a kernel's own code and descriptor."""
    pairs = set()
    for piece in pieces.values():
        for _, reference in piece.references:
            kernel = referenced_symbol(reference).removesuffix(".kd")
            if kernel in kernels and piece.name not in (kernel, f"{kernel}.kd"):
                pairs.add((piece.name, kernel))
    return pairs


def _is_terminated(piece: SymbolContent, pieces: Mapping[str, SymbolContent], target: str) -> bool:
    words = list(instructions(piece.content or b"", target))
    while words and _FILLER_INSTRUCTION.match(words[-1]):
        words.pop()
    if words and _CALL_INSTRUCTION.match(words[-1]):
        return any(not _can_return(callee, target) for callee in _last_called(piece, pieces))
    return bool(words) and bool(_END_INSTRUCTION.match(words[-1]))


def _last_called(piece: SymbolContent, pieces: Mapping[str, SymbolContent]) -> Iterator[SymbolContent]:
    """The function named by the piece's last reference, if any."""
    callee = pieces.get(referenced_symbol(piece.references[-1][1])) if piece.references else None
    if callee is not None and callee is not piece and callee.is_function:
        yield callee


def _can_return(piece: SymbolContent, target: str) -> bool:
    """Whether the function can return. If it cannot, runs_past_end() checks that it does not run past its own end."""
    return any(_RETURN_INSTRUCTION.match(word) for word in instructions(piece.content or b"", target))
