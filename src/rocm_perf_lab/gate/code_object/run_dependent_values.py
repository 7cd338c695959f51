"""The means by which a kernel can tell runs apart: clocks, its dispatch packet, hardware registers. See new_observations()."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rocm_perf_lab.code_object.disassembly import instructions
from rocm_perf_lab.code_object.symbol_contents import SymbolContent
from rocm_perf_lab.gate.code_object.reached_functions import kernel_and_callees

# Offset of kernel_code_properties in the kernel descriptor, bytes 56 and 57 (AMDGPUUsage.rst, "Kernel Descriptor").
_PROPERTIES_OFFSET = 56
_SET_UP = {1: "its dispatch packet", 2: "its queue", 4: "its dispatch's number"}
# Fields of the MODE register that control floating-point arithmetic, as "offset, width": rounding and denormals (bits 0 to 7,
# or parts of them), DX10_CLAMP (8) and IEEE (9), FP16_OVFL (23). AMD's CDNA3 ISA, table "MODE register fields".
_FLOATING_POINT = "|".join([*(f"{offset}, {bits}" for offset in range(10) for bits in range(1, 11 - offset)), "23, 1"])
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


def new_observations(
    before: Mapping[str, SymbolContent], after: Mapping[str, SymbolContent], kernel: str, target: str
) -> dict[str, str]:
    """Ways in which the candidate's kernel observes the run but the baseline's does not, each with the instruction or field
    that reveals it.

    before, after: pieces of the code objects. target: the GPU's name in the code objects' metadata.
    """
    known = dict(_observations(before, kernel, target))
    # New functions are checked even if no symbol refers to them: a numeric address may refer to them.
    added = [piece for name, piece in after.items() if piece.is_function and name not in before]
    return {means: how for means, how in _observations(after, kernel, target, added) if means not in known}


def _observations(
    pieces: Mapping[str, SymbolContent], kernel: str, target: str, also: Sequence[SymbolContent] = ()
) -> Iterator[tuple[str, str]]:
    descriptor = pieces.get(f"{kernel}.kd")
    if descriptor is not None and descriptor.content is not None:
        properties = int.from_bytes(descriptor.content[_PROPERTIES_OFFSET : _PROPERTIES_OFFSET + 2], "little")
        yield from ((means, "its descriptor") for bit, means in _SET_UP.items() if properties >> bit & 1)
    for piece in {piece.name: piece for piece in (*kernel_and_callees(pieces, kernel), *also)}.values():
        for text in instructions(piece.content or b"", target):
            yield from ((means, f"`{text}`") for pattern, means in _MNEMONICS if pattern.match(text))
