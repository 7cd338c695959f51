"""The candidate's code object is laid out as the compiler lays out the baseline's: nothing in it is read in two ways, or run
unseen."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from rocm_perf_lab.code_object.disassembly import instructions
from rocm_perf_lab.code_object.layout import Layout, Section, layout_of
from rocm_perf_lab.code_object.pieces import Piece
from rocm_perf_lab.gate.observing import named, reached

_ALLOCATED, _WRITABLE, _NOT_LOADED = 2, 1, 0
# What the compiler adds for honest changes: tables of constants and of addresses, and the relocations of these and of calls.
_ADDED = frozenset(
    {
        Section(".rodata", "SHT_PROGBITS", _ALLOCATED),
        Section(".data.rel.ro", "SHT_PROGBITS", _ALLOCATED | _WRITABLE),
        Section(".got", "SHT_PROGBITS", _ALLOCATED | _WRITABLE),
        Section(".relro_padding", "SHT_NOBITS", _ALLOCATED | _WRITABLE),
        Section(".rela.dyn", "SHT_RELA", _ALLOCATED),
        *(Section(f".rela{name}", "SHT_RELA", _NOT_LOADED) for name in (".text", ".rodata", ".data.rel.ro")),
    }
)
_ENDS = re.compile(r"s_(endpgm(_saved)?|set_?pc_[bi]64|branch|trap)\b")  # a trap halts the wave
_FILLS = re.compile(r"s_(nop|code_end)\b")
_CALLS, _RETURNS = re.compile(r"s_swap_?pc_[bi]64\b"), re.compile(r"s_set_?pc_[bi]64\b")


def laid_out_otherwise(baseline: bytes, candidate: bytes) -> str | None:
    """What of its layout the compiler does not make of an honest change; None for nothing. Errors: SourceError."""
    before, after = layout_of(baseline), layout_of(candidate)
    if after.notes:
        return f"its code object cannot be read in one way only: {after.notes}"
    if added := sorted(section.name for section in after.sections - before.sections - _ADDED):
        return f"its code object has a section {added[0]} that the baseline's has not"
    return _unowned(before, after)


def _unowned(before: Layout, after: Layout) -> str | None:
    left = list(before.unowned)
    for gap in after.unowned:
        if gap not in left:
            return f"its code object has {len(gap)} bytes among its code that belong to no function"
        left.remove(gap)
    return None


def runs_on(before: Mapping[str, Piece], after: Mapping[str, Piece], kernels: Collection[str], target: str) -> str | None:
    """Which function of the kernels, where it or its use is new, does not end its path; None where all do."""
    if empty := [kernel for kernel in kernels if kernel not in after]:
        return f"the kernel {empty[0]} has no instructions: what follows it would be run"
    known = {piece.name for kernel in kernels for piece in reached(before, kernel) if after.get(piece.name) == piece}
    pieces = {piece.name: piece for kernel in kernels for piece in reached(after, kernel)}
    pieces |= {name: piece for name, piece in after.items() if piece.is_function and name not in before}
    for name in sorted(pieces.keys() - known):
        if not _ends(pieces[name], after, target):
            return f"the function {name} does not end with its last instruction: what follows it would be run"
    return None


def other_kernels(before: Mapping[str, Piece], after: Mapping[str, Piece], kernels: Collection[str]) -> str | None:
    """The name of a kernel that something in `after` newly refers to. kernels: all of both code objects."""
    added = _referred(after, kernels) - _referred(before, kernels)
    return sorted(added)[0][1] if added else None


def _referred(pieces: Mapping[str, Piece], kernels: Collection[str]) -> set[tuple[str, str]]:
    """(by what, kernel), beside what a kernel's own descriptor refers to."""
    found = set()
    for piece in pieces.values():
        for _, reference in piece.references:
            kernel = named(reference).removesuffix(".kd")
            if kernel in kernels and piece.name not in (kernel, f"{kernel}.kd"):
                found.add((piece.name, kernel))
    return found


def _ends(piece: Piece, pieces: Mapping[str, Piece], target: str) -> bool:
    words = list(instructions(piece.content or b"", target))
    while words and _FILLS.match(words[-1]):
        words.pop()
    if words and _CALLS.match(words[-1]):
        return any(not _returns(callee, target) for callee in _last_called(piece, pieces))
    return bool(words) and bool(_ENDS.match(words[-1]))


def _last_called(piece: Piece, pieces: Mapping[str, Piece]) -> Iterator[Piece]:
    """Whom its last reference is to."""
    callee = pieces.get(named(piece.references[-1][1])) if piece.references else None
    if callee is not None and callee is not piece and callee.is_function:
        yield callee


def _returns(piece: Piece, target: str) -> bool:
    """Whether it may. What ends otherwise than by returning is looked at itself."""
    return any(_RETURNS.match(word) for word in instructions(piece.content or b"", target))
