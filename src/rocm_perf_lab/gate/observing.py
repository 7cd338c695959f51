"""What a kernel can tell one run from another by: clocks, its dispatch packet, hardware registers. See new_observations()."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rocm_perf_lab.code_object.disassembly import instructions
from rocm_perf_lab.code_object.pieces import Piece

# Of the kernel descriptor's kernel_code_properties, bytes 56 and 57 (AMDGPUUsage.rst, "Kernel Descriptor").
_PROPERTIES = 56
_SET_UP = {1: "its dispatch packet", 2: "its queue", 4: "its dispatch's number"}
# Fields of the MODE register that decide how floating point is computed, as "offset, width": rounding and denormals (bits 0 to
# 7, also in parts), DX10_CLAMP (8) and IEEE (9), FP16_OVFL (23). AMD's CDNA3 ISA, table "MODE register fields".
_FLOATING_POINT = "|".join([*(f"{at}, {bits}" for at in range(10) for bits in range(1, 11 - at)), "23, 1"])
_MNEMONICS = (
    (re.compile(r"s_mem(real)?time\b|s_get_shader_cycles|s_sendmsg_rtn"), "a clock"),
    (re.compile(r"s_(getreg|setreg(_imm32)?)_b32\b(?!.*\bHW_REG_MODE\b)"), "a hardware register"),
    (
        re.compile(rf"s_setvskip|s_setreg(_imm32)?_b32\b(?!.*\bhwreg\(HW_REG_MODE, ({_FLOATING_POINT})\))"),
        "traps, skipped instructions or another mode that is not floating point's",
    ),
    (re.compile(r".*\bttmp\d*"), "the trap handler's registers"),
    (
        re.compile(r"s_(sendmsg|sendmsghalt|sethalt|trap|setkill|ttracedata|incperflevel|decperflevel|rfe|cbranch_cdb)"),
        "the host",
    ),
    (re.compile(r"ds_gws_"), "global wave synchronisation"),
    (
        re.compile(r"s_(sleep|wakeup|icache_inv|dcache_(inv|wb|discard))"),
        "a wait or cache operation that no time is modelled for",
    ),
    (re.compile(r"$"), "bytes that are no instruction"),
)


def new_observations(before: Mapping[str, Piece], after: Mapping[str, Piece], kernel: str, target: str) -> dict[str, str]:
    """What the candidate's kernel uses of the kind and the baseline's does not -> the instruction or field by which.

    before, after: pieces of the code objects. target: as the code object's metadata names it.
    """
    known = dict(_observed(before, kernel, target))
    # Of those that are new, also what only a number leads to.
    added = [piece for name, piece in after.items() if piece.is_function and name not in before]
    return {what: how for what, how in _observed(after, kernel, target, added) if what not in known}


def reached(pieces: Mapping[str, Piece], kernel: str) -> list[Piece]:
    """The kernel and the functions that it calls, directly, by tables of addresses or through others."""
    by_name: dict[str, list[Piece]] = {}
    for name, piece in pieces.items():
        by_name.setdefault(name.partition(" #")[0], []).append(piece)
    found: dict[str, Piece] = {}
    todo = [kernel]
    while todo:
        for piece in by_name.get(todo.pop(), ()):
            if piece.name not in found:
                found[piece.name] = piece
                todo += [named(reference) for _, reference in piece.references]
    return [piece for piece in found.values() if piece.is_function]


def named(reference: str) -> str:
    """Of "10 _Z1ff+0"."""
    return re.sub(r"[+-]\d+$", "", reference.split(" ", 1)[1])


def _observed(pieces: Mapping[str, Piece], kernel: str, target: str, also: Sequence[Piece] = ()) -> Iterator[tuple[str, str]]:
    descriptor = pieces.get(f"{kernel}.kd")
    if descriptor is not None and descriptor.content is not None:
        properties = int.from_bytes(descriptor.content[_PROPERTIES : _PROPERTIES + 2], "little")
        yield from ((what, "its descriptor") for bit, what in _SET_UP.items() if properties >> bit & 1)
    for piece in {piece.name: piece for piece in (*reached(pieces, kernel), *also)}.values():
        for text in instructions(piece.content or b"", target):
            yield from ((what, f"`{text}`") for pattern, what in _MNEMONICS if pattern.match(text))
