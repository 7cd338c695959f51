"""The race check's findings, compared by kind and place: a candidate may have a race only if the baseline has a race of the
same kind in the same place.

Each line of the race check's report names instructions, and these differ between any two builds, so neither the lines nor their
number can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer
from rocm_perf_lab.isolate import Capture

_UNWRITTEN = "read of LDS that nothing has written"
_ATOMICS = "atomic accesses in no order"
_FOR_THE_HOST = ("the host may see what is written", "the host may miss what is written")
_KINDS = (  # phrases used in native/device/exec/race_check.cpp
    "race in LDS",
    "race in global memory",
    _ATOMICS,
    *_FOR_THE_HOST,
    _UNWRITTEN,
    "scalar load of what the dispatch has written",
    "is used before the load",
    "what the write-back at",
    "had not been waited for when the atomic at",
)
_ADDRESS = re.compile(r"\bat address (0x[0-9a-f]+)")
_ACCESS = re.compile(r"\b(load|store|atomic) by wave")

Kind = tuple[str, str, bool]
"""Phrase, place, and whether one of the accesses is a load: stores of one value by many threads may be harmless, whereas a load
may see the previous value.
"""


def new_race(before: Sequence[str], after: Sequence[str], capture: Capture, buffers: Sequence[Buffer]) -> str | None:
    """The candidate's first race (`after`) whose kind does not occur among the baseline's (`before`); None if there is none."""
    known = {_kind(line, capture, buffers) for line in before}
    return next((line for line in after if _kind(line, capture, buffers) not in known), None)


def races_of(seed: int) -> tuple[str, str]:
    """The software device's options for a race check. Atomic accesses do not race, but are checked too: a candidate could make
    all accesses atomic and leave out the synchronisation that orders them.
    """
    return f"race-check={seed}", devices.UNORDERED_ATOMICS


def without_atomics(races: Sequence[str]) -> list[str]:
    """The races in the strict sense: unordered atomic accesses and races with the host are left out."""
    return [line for line in races if not any(words in line for words in (_ATOMICS, *_FOR_THE_HOST))]


def without_host(races: Sequence[str]) -> list[str]:
    """The races, without those that matter only if the host accesses memory while the kernel runs."""
    return [line for line in races if not any(words in line for words in _FOR_THE_HOST)]


def without_unwritten_reads(races: Sequence[str]) -> list[str]:
    """The races, without reads of unwritten LDS. If the sizes do not fill its tiles, a kernel may perform such reads without
    using the results.
    """
    return [line for line in races if _UNWRITTEN not in line]


def _kind(line: str, capture: Capture, buffers: Sequence[Buffer]) -> Kind:
    words = next((words for words in _KINDS if words in line), line)
    address = _ADDRESS.search(line)
    place = _memory_name(int(address[1], 16), capture, buffers) if address and words != "race in LDS" else ""
    return words, place, "load" in _ACCESS.findall(line)


def _memory_name(address: int, capture: Capture, buffers: Sequence[Buffer]) -> str:
    """The buffer or, failing that, the allocation that contains the address; the address itself if neither does."""
    extents = [(buffer.name, buffer.address, buffer.size) for buffer in buffers]
    extents += [(f"{start:#x}", start, size) for region in capture.regions for start, size in region.allocations]
    return next((name for name, start, size in extents if start <= address < start + size), f"{address:#x}")
