"""A lower bound on a dispatch's time, from work that its kernel cannot avoid: any shorter time must be wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocm_perf_lab.arch.products import Product, products

if TYPE_CHECKING:
    from rocm_perf_lab.replaying.replay_document import CountedSection

# Width of a CU's vector memory path; AMD CDNA 3 ISA guide, "Memory hierarchy".
_STORE_BYTES_PER_CLOCK = 64
# A scheduler issues at most one instruction of each type per clock from the waves of a SIMD: vector, scalar, vector memory,
# LDS, and branch or message; AMD Graphics Cores Next white paper, "CU front-end". CDNA and RDNA 2 have the same types.
_INSTRUCTIONS_PER_CLOCK = 5
_WAVE_SIZE = 64  # the largest; smaller waves only increase the number of waves
# Fetching the first instruction takes one trip to memory, and an instruction that writes memory cannot start its own trip
# before it is fetched. Each trip takes longer than a hit in the nearest cache; the fastest hit measured on CDNA or RDNA 2 takes
# more than 110 clocks, and the caches are empty when the gate measures.
_TRIP_CLOCKS = 100
_REQUEST_BYTES = 32  # smallest request to memory beyond the L2


@dataclass(frozen=True)
class DispatchWork:
    """The part of a dispatch's work that counts towards the bound.

    waves: number of waves in the grid. written_bytes: number of bytes that the kernel changes. instructions: executed by all
    waves. requests: reads and writes beyond the L2. A GPU counts neither instructions nor requests; both are then 0.
    """

    waves: int
    written_bytes: int = 0
    instructions: float = 0.0
    requests: float = 0.0

    @classmethod
    def of(cls, packet: Mapping[str, Any], written_bytes: int, counted: CountedSection | None) -> DispatchWork:
        """The work of a dispatch. packet: its `grid` and `workgroup` in work-items; counted: the replay's counts, or None."""
        groups = math.prod(math.ceil(g / w) for g, w in zip(packet["grid"], packet["workgroup"], strict=True))
        waves = groups * math.ceil(math.prod(packet["workgroup"]) / _WAVE_SIZE)
        if counted is None:
            return cls(waves, written_bytes)
        return cls(waves, written_bytes, counted.instructions, counted.requests_beyond_l2)


def min_milliseconds(target: str, work: DispatchWork) -> float:
    """The time of whichever part of the work takes longest on the fastest product with this target; 0 if none is known.

    Trips: one to memory, and a second one if memory is written. Issue: every wave executes at least one instruction. Stores:
    every CU stores in every clock cycle. Bandwidth: every request beyond the L2 has the smallest size and is answered by the
    fastest Infinity Cache; only the software device counts such requests. The bound assumes that no part waits for another, so
    not even a kernel that overlaps them perfectly can be faster.
    """
    known = [product for product in products() if product.gfx_target == target]
    times = [time for product in known if (time := _min_milliseconds_on(product, work)) is not None]
    fastest = max((rate for product in known if (rate := product.figure("mall_gbps"))), default=math.inf)
    return max(min(times), work.requests * _REQUEST_BYTES / (fastest * 1e6)) if times else 0.0


def _min_milliseconds_on(product: Product, work: DispatchWork) -> float | None:
    """The bound in ms, ignoring requests beyond the L2; None if the product's size or clock is not known."""
    cus, simds, megahertz = product.figure("cu"), product.figure("simd_per_cu"), product.figure("max_clock_mhz")
    if not cus or not simds or not megahertz:
        return None
    clocks = max(
        _TRIP_CLOCKS * (2 if work.written_bytes else 1),
        max(work.instructions, work.waves) / (cus * simds * _INSTRUCTIONS_PER_CLOCK),
        work.written_bytes / (cus * _STORE_BYTES_PER_CLOCK),
    )
    return clocks / (megahertz * 1e3)
