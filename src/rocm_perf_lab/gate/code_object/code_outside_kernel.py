"""Checks that a candidate changes only one kernel: all other machine code, for device and host, must match the baseline's."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rocm_perf_lab.code_object.symbol_contents import SymbolContent, contents_by_symbol, host_sections

_DESCRIPTOR = ".kd"
_ASSERTION_FUNCTIONS = ("__assert_fail", "__assertfail")
_ASSERTION_HINT = (
    "the compiler has put an assertion's text and line into it. Leave assert() as it is and on the line where it was, or build "
    "both with -DNDEBUG"
)


@dataclass(frozen=True)
class DeviceCodeComparison:
    """Result of comparing two code objects.

    complaint: what the candidate changes besides the target; None if nothing. identical_count: number of identical functions,
    descriptors and variables; added, removed: functions that only the target uses.
    """

    complaint: str | None
    identical_count: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def compare_device(baseline: bytes, candidate: bytes, targets: Collection[str]) -> DeviceCodeComparison:
    """Compare the machine code outside the targets in two code objects.

    baseline, candidate: code objects linked with --emit-relocs. targets: symbols of the kernels that may differ.

    A piece found in only one of them must be a function or a constant. Since nothing that occurs in both refers to it, only the
    target can use it. Raises SourceError.
    """
    before, after = contents_by_symbol(baseline), contents_by_symbol(candidate)
    own = {name for target in targets for name in (target, target + _DESCRIPTOR)}
    common = [name for name in before if name in after and name not in own and not _is_constant_label(name)]
    for name in common:
        if difference := _difference(before[name], after[name]):
            why = _ASSERTION_HINT if name in _ASSERTION_FUNCTIONS else "it is not part of the kernel"
            return DeviceCodeComparison(f"{_kind_in_words(before[name])} {name} has {difference}: {why}", 0)
    added = [piece for name, piece in after.items() if name not in before and name not in own]
    removed = [piece for name, piece in before.items() if name not in after and name not in own]
    for piece in (*added, *removed):
        if complaint := _unrelated_piece_complaint(piece, "added" if piece in added else "removed"):
            return DeviceCodeComparison(complaint, 0)
    return DeviceCodeComparison(None, len(common), _function_names(added), _function_names(removed))


def compare_host(baseline: bytes, candidate: bytes) -> str | None:
    """How the host code differs; None if it does not. Both objects were compiled for the host alone. Raises SourceError."""
    before, after = host_sections(baseline), host_sections(candidate)
    if before == after:
        return None
    differing = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    where = ", ".join(differing[:4]) + (", ..." if len(differing) > 4 else "")
    return f"the host's object code differs in {where}: something there depends on the kernel, such as a size or __LINE__"


def _is_constant_label(name: str) -> bool:
    """Whether the name is a generated label for a constant, which is compared as part of the code that refers to it."""
    return name.startswith(".L")


def _difference(before: SymbolContent, after: SymbolContent) -> str | None:
    if (before.kind, before.size, before.writable) != (after.kind, after.size, after.writable):
        return "a different size or kind"
    if before.linkage != after.linkage:
        return "different linkage"
    if before.content != after.content:
        return "different bytes"
    return None if before.references == after.references else "different references"


def _unrelated_piece_complaint(piece: SymbolContent, how: str) -> str | None:
    if piece.is_function or (piece.name.startswith(".L") and not piece.writable):
        return None
    if piece.writable:
        return f"the variable {piece.name}, which outlives a launch, was {how}"
    if piece.name.endswith(_DESCRIPTOR):
        return f"the kernel {piece.name.removesuffix(_DESCRIPTOR)} was {how}"
    return None


def _function_names(pieces: Collection[SymbolContent]) -> tuple[str, ...]:
    return tuple(sorted(piece.name for piece in pieces if piece.is_function))


def _kind_in_words(piece: SymbolContent) -> str:
    if piece.is_function:
        return "the function"
    return "the descriptor" if piece.name.endswith(_DESCRIPTOR) else "the variable"
