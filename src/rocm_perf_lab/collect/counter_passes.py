"""Which counters rocprofv3 can collect together: the hardware has a few registers a block."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_perf_lab.arch.family import family_of

# Performance counter registers of each block that one pass may use. Source: rocprofiler-compute, mi_gpu_spec.yaml
# (perfmon_config; gfx90a and gfx94x agree). A block that is not listed gets one register, which is always possible.
_REGISTERS = {"SQ": 8, "TCP": 4, "TCC": 4, "TA": 2, "TD": 2, "SPI": 6, "CPC": 2, "CPF": 2, "GRBM": 2, "GDS": 4}


def counter_passes(target: str) -> list[list[str]]:
    """The counters that the analysis wants from a GPU of this target, one inner list a run; [] for unknown targets."""
    family = family_of(target)
    return pack(family.counters()) if family else []


def pack(counters: Iterable[str]) -> list[list[str]]:
    """Distribute counters over as few passes as the registers of their blocks allow, in the order given."""
    passes: list[list[str]] = []
    taken: dict[str, int] = {}
    for counter in counters:
        block = counter.split("_", 1)[0]
        number = taken.get(block, 0) // _REGISTERS.get(block, 1)
        taken[block] = taken.get(block, 0) + 1
        if number == len(passes):
            passes.append([])
        passes[number].append(counter)
    return passes
