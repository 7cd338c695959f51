"""Fences, and whatever else lets the host, other devices and other workgroups see what a kernel does while it runs."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from rocm_perf_lab.code_object.symbol_contents import SymbolContent
from rocm_perf_lab.gate.code_object.reached_functions import instructions_in, instructions_of

# Agent-scope fences (AMDGPUUsage.rst, "Memory Model GFX90A" and "GFX942"): the instruction, an instruction that serves equally
# well, and the purpose. The race check verifies that they are in the right places.
_FENCES = (
    (r"buffer_wbl2 sc1$", r"buffer_wbl2", "makes its stores visible to other workgroups"),
    (
        r"buffer_(inv sc1|wbinvl1(_vol)?)$",
        r"buffer_inv sc0 sc1",
        "invalidates its caches to see what other workgroups have stored",
    ),
)
# Communication with the host and other devices while the kernel runs: system-scope fences, accesses (including volatile ones)
# and atomics.
_SYSTEM_SCOPE = re.compile(r"buffer_(wbl2|invl2)$|.*\bsc0 sc1\b|\w+_atomic_\w+ .*\bsc1\b")


def lost_fence(before: Mapping[str, SymbolContent], after: Mapping[str, SymbolContent], kernel: str, target: str) -> str | None:
    """How the candidate changes the baseline's system-scope instructions, or omits one kind of the baseline's agent-scope
    fences; None if it does neither. A replay may not show such a change: in a program, the host may read or write while the
    kernel runs, and a device may reorder accesses that a replay leaves in order.
    """
    old, new = (instructions_in(pieces, kernel, target) for pieces in (before, after))
    if (was := _system_scope_instructions(old)) and was != (now := _system_scope_instructions(new)):
        old_text, new_text = next(pair for pair in itertools.zip_longest(was, now) if pair[0] != pair[1])
        old_shown, new_shown = (f"`{text}`" if text else "nothing" for text in (old_text, new_text))
        return (
            f"what the host and other devices can see while it runs differs: where the baseline has {old_shown} there is "
            f"{new_shown}; its fences, volatile accesses and atomics of system scope must stay as they are"
        )
    for pattern, as_well, does in _FENCES:
        fence = next((text for text in old if re.match(pattern, text)), None)
        if fence and not any(re.match(f"{pattern}|{as_well}", text) for text in new):
            return f"it no longer {does}, as the baseline does with `{fence}`"
    return None


def speaks_to_the_host(image: bytes, kernel: str, target: str) -> bool:
    """Whether a code object's kernel has system-scope fences, volatile accesses or atomics. Raises SourceError."""
    return bool(_system_scope_instructions(instructions_of(image, kernel, target)))


def _system_scope_instructions(texts: Sequence[str]) -> list[str]:
    """System-scope instructions in code order, without registers; repetitions, such as those from unrolling, count once."""
    of_system = (text for text in texts if _SYSTEM_SCOPE.match(text))
    names = (" ".join([text.split()[0], *re.findall(r"\b(?:sc0|sc1|nt)\b", text)]) for text in of_system)
    return [name for name, _ in itertools.groupby(names)]
