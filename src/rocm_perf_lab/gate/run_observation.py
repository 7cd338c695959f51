"""The means by which a kernel can distinguish runs: clocks, its dispatch packet, hardware registers. See new_observations()."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from rocm_perf_lab.code_object.disassembly import instructions
from rocm_perf_lab.code_object.pieces import SymbolContent, pieces_of

# Offset of kernel_code_properties in the kernel descriptor, bytes 56 and 57 (AMDGPUUsage.rst, "Kernel Descriptor").
_PROPERTIES = 56
_SET_UP = {1: "its dispatch packet", 2: "its queue", 4: "its dispatch's number"}
# Fields of the MODE register that control floating-point arithmetic, as "offset, width": rounding and denormals (bits 0 to 7,
# or parts of them), DX10_CLAMP (8) and IEEE (9), FP16_OVFL (23). AMD's CDNA3 ISA, table "MODE register fields".
_FLOATING_POINT = "|".join([*(f"{at}, {bits}" for at in range(10) for bits in range(1, 11 - at)), "23, 1"])
TRAP = "a trap"
_MNEMONICS = (
    (re.compile(r"s_mem(real)?time\b|s_get_shader_cycles|s_sendmsg_rtn"), "a clock"),
    (re.compile(r"s_(getreg|setreg(_imm32)?)_b32\b(?!.*\bHW_REG_MODE\b)"), "a hardware register"),
    (
        re.compile(rf"s_setvskip|s_setreg(_imm32)?_b32\b(?!.*\bhwreg\(HW_REG_MODE, ({_FLOATING_POINT})\))"),
        "traps, skipped instructions or a mode other than floating point",
    ),
    (re.compile(r".*\bttmp\d*"), "the trap handler's registers"),
    (
        re.compile(r"s_(sendmsg|sendmsghalt|sethalt|setkill|ttracedata|incperflevel|decperflevel|rfe|cbranch_cdb)"),
        "the host",
    ),
    (re.compile(r"s_trap\b"), TRAP),
    (re.compile(r"ds_gws_"), "global wave synchronisation"),
    (
        re.compile(r"s_(sleep|wakeup|icache_inv|dcache_(inv|wb|discard))"),
        "a wait or cache operation that no time is modelled for",
    ),
    (re.compile(r"$"), "bytes that are not an instruction"),
)
# Agent-scope fences (AMDGPUUsage.rst, "Memory Model GFX90A" and "GFX942"): the instruction, an instruction that serves equally
# well, and the purpose. The race check verifies that they are in the right places.
_FENCES = (
    (r"buffer_wbl2 sc1$", r"buffer_wbl2", "makes its stores visible to other workgroups"),
    (r"buffer_(inv sc1|wbinvl1(_vol)?)$", r"buffer_inv sc0 sc1", "looks for what other workgroups have stored"),
)
# Communication with the host and other devices while the kernel runs: system-scope fences, accesses (including volatile ones)
# and atomics.
_OF_THE_SYSTEM = re.compile(r"buffer_(wbl2|invl2)$|.*\bsc0 sc1\b|\w+_atomic_\w+ .*\bsc1\b")


def new_observations(
    before: Mapping[str, SymbolContent], after: Mapping[str, SymbolContent], kernel: str, target: str
) -> dict[str, str]:
    """Ways in which the candidate's kernel observes the run but the baseline's does not, each with the instruction or field
    that reveals it.

    before, after: pieces of the code objects. target: the GPU's name in the code objects' metadata.
    """
    known = dict(_observed(before, kernel, target))
    # New functions are checked even if no symbol refers to them: a numeric address may refer to them.
    added = [piece for name, piece in after.items() if piece.is_function and name not in before]
    return {what: how for what, how in _observed(after, kernel, target, added) if what not in known}


def lost_fence(before: Mapping[str, SymbolContent], after: Mapping[str, SymbolContent], kernel: str, target: str) -> str | None:
    """How the candidate changes the baseline's system-scope instructions, or omits one kind of the baseline's agent-scope
    fences; None if it does neither. A replay may not show such a change: in a program, the host may read or write while the
    kernel runs, and a device may reorder accesses that a replay leaves in order.
    """
    old, new = (_instructions(pieces, kernel, target) for pieces in (before, after))
    if (was := _for_the_system(old)) and was != (now := _for_the_system(new)):
        one, other = next(pair for pair in itertools.zip_longest(was, now) if pair[0] != pair[1])
        there, here = (f"`{text}`" if text else "nothing" for text in (one, other))
        return (
            f"what the host and other devices can see while it runs differs: where the baseline has {there} there is {here}; "
            "its fences, volatile accesses and atomics of system scope must stay as they are"
        )
    for pattern, as_well, does in _FENCES:
        fence = next((text for text in old if re.match(pattern, text)), None)
        if fence and not any(re.match(f"{pattern}|{as_well}", text) for text in new):
            return f"it no longer {does}, as the baseline does with `{fence}`"
    return None


def speaks_to_the_host(image: bytes, kernel: str, target: str) -> bool:
    """Whether a code object's kernel has system-scope fences, volatile accesses or atomics. Raises SourceError."""
    return bool(_for_the_system(instructions_of(image, kernel, target)))


def instructions_of(image: bytes, kernel: str, target: str) -> list[str]:
    """The instructions of a code object's kernel and of the functions that it calls, as text. Raises SourceError."""
    return _instructions(pieces_of(image), kernel, target)


def _for_the_system(texts: Sequence[str]) -> list[str]:
    """System-scope instructions in code order, without registers; repetitions, such as those from unrolling, count once."""
    found = (text for text in texts if _OF_THE_SYSTEM.match(text))
    names = (" ".join([text.split()[0], *re.findall(r"\b(?:sc0|sc1|nt)\b", text)]) for text in found)
    return [name for name, _ in itertools.groupby(names)]


def _instructions(pieces: Mapping[str, SymbolContent], kernel: str, target: str) -> list[str]:
    return [text for piece in reached(pieces, kernel) for text in instructions(piece.content or b"", target)]


def reached(pieces: Mapping[str, SymbolContent], kernel: str) -> list[SymbolContent]:
    """The kernel and the functions that it calls, whether directly, through tables of addresses or through other functions."""
    by_name: dict[str, list[SymbolContent]] = {}
    for name, piece in pieces.items():
        by_name.setdefault(name.partition(" #")[0], []).append(piece)
    found: dict[str, SymbolContent] = {}
    todo = [kernel]
    while todo:
        for piece in by_name.get(todo.pop(), ()):
            if piece.name not in found:
                found[piece.name] = piece
                todo += [named(reference) for _, reference in piece.references]
    return [piece for piece in found.values() if piece.is_function]


def named(reference: str) -> str:
    """The symbol in a reference: `_Z1ff` in "10 _Z1ff+0"."""
    return re.sub(r"[+-]\d+$", "", reference.split(" ", 1)[1])


def _observed(
    pieces: Mapping[str, SymbolContent], kernel: str, target: str, also: Sequence[SymbolContent] = ()
) -> Iterator[tuple[str, str]]:
    descriptor = pieces.get(f"{kernel}.kd")
    if descriptor is not None and descriptor.content is not None:
        properties = int.from_bytes(descriptor.content[_PROPERTIES : _PROPERTIES + 2], "little")
        yield from ((what, "its descriptor") for bit, what in _SET_UP.items() if properties >> bit & 1)
    for piece in {piece.name: piece for piece in (*reached(pieces, kernel), *also)}.values():
        for text in instructions(piece.content or b"", target):
            yield from ((what, f"`{text}`") for pattern, what in _MNEMONICS if pattern.match(text))
