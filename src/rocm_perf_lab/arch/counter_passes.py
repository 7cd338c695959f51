"""Groups counters that rocprofv3 can collect together, since each hardware block has only a few counter registers."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_perf_lab.arch.families import family_of

# The number of performance counter registers that one pass may use in each block (in each of its instances), from aqlprofile's
# gfx9_block_info.h and gfx10_block_info.h (which agree on the blocks that both have). A block not listed gets one register.
_REGISTERS = {
    "SQ": 8, "SPI": 6, "TA": 2, "TD": 2, "TCP": 4, "TCC": 4, "TCA": 4, "GL1A": 4, "GL1C": 4, "GL2A": 4, "GL2C": 4, "GRBM": 2,
    "CPC": 2, "CPF": 2, "CPG": 2, "GDS": 4, "SX": 4, "GCEA": 2, "GCR": 2, "GUS": 2,
}  # fmt: skip

_PART_OF = {"SQC": "SQ"}  # SQ's registers also count the events of the scalar and instruction caches.


def counter_passes(target: str) -> list[list[str]]:
    """The counters that the analysis needs on a GPU of this target, one inner list per run; [] for unknown targets."""
    family = family_of(target)
    return pack(family.counters()) if family else []


def pack(counters: Iterable[str]) -> list[list[str]]:
    """Distribute counters over as few passes as the registers of their blocks allow, keeping the given order."""
    passes: list[list[str]] = []
    used: dict[str, int] = {}
    for counter in counters:
        prefix = counter.split("_", 1)[0]
        block = _PART_OF.get(prefix, prefix)
        number = used.get(block, 0) // _REGISTERS.get(block, 1)
        used[block] = used.get(block, 0) + 1
        if number == len(passes):
            passes.append([])
        passes[number].append(counter)
    return passes
