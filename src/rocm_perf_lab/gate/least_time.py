"""The least time that a dispatch can take, from what its kernel cannot change: a time below it is no time of this work."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rocm_perf_lab.arch.products import Product, products

if TYPE_CHECKING:
    from rocm_perf_lab.replay.replay_document import CountedSection

# A CU's vector memory path; AMD CDNA 3 ISA guide, "Memory hierarchy".
_STORE_BYTES_PER_CLOCK = 64
# A scheduler picks from the waves of a SIMD at most one instruction of each type: vector, scalar, vector memory, LDS, and
# branch or message; AMD Graphics Cores Next white paper, "CU front-end". The same types make up CDNA and RDNA 2.
_INSTRUCTIONS_PER_CLOCK = 5
_SIMDS_PER_CU = 4
_WAVE_SIZE = 64  # the widest: narrower waves only make it more of them
# Fetching the first instruction is one trip to memory, and an instruction that writes memory cannot make its own before it
# was fetched. Each is longer than a hit in the nearest cache, of which the fastest that was measured on CDNA or RDNA 2 takes
# more than 110 clocks; caches are empty when the gate measures.
_TRIP_CLOCKS = 100
_REQUEST_BYTES = 32  # of memory behind the L2, at least


@dataclass(frozen=True)
class Work:
    """waves: of the grid. written_bytes: that differ after the kernel. instructions, requests: what the software device
    counted, of all waves, and of reads and writes beyond the L2; 0 where nothing was counted."""

    waves: int
    written_bytes: int = 0
    instructions: float = 0.0
    requests: float = 0.0

    @classmethod
    def of(cls, packet: Mapping[str, Any], written_bytes: int, counted: CountedSection | None) -> Work:
        """packet: a capture's; counted: a replay's, or None."""
        groups = math.prod(math.ceil(g / w) for g, w in zip(packet["grid"], packet["workgroup"], strict=True))
        waves = groups * math.ceil(math.prod(packet["workgroup"]) / _WAVE_SIZE)
        if counted is None:
            return cls(waves, written_bytes)
        return cls(waves, written_bytes, counted.instructions, counted.requests_beyond_l2)


def least_milliseconds(target: str, work: Work) -> float:
    """The most of what each part of the work takes, on the fastest product of this target; 0 where none is known.

    Trips: one to memory, and a second one if memory is written. Issue: every wave has an instruction at least. Stores: every
    CU stores at each clock. Bandwidth: every request beyond the L2 is of the smallest size and answered by the fastest
    Infinity Cache; the software device alone counts them. None of these wait for each other here, so that a kernel which
    overlaps them perfectly is above the bound, too.
    """
    known = [product for product in products() if product.gfx_target == target]
    times = [time for product in known if (time := _least_on(product, work)) is not None]
    fastest = max((rate for product in known if (rate := product.figure("mall_gbps"))), default=math.inf)
    return max(min(times), work.requests * _REQUEST_BYTES / (fastest * 1e6)) if times else 0.0


def _least_on(product: Product, work: Work) -> float | None:
    """Without what lies beyond the L2; None where the product's size or clock is not known."""
    cus, megahertz = product.figure("cu"), product.figure("max_clock_mhz")
    if not cus or not megahertz:
        return None
    simds = cus * (product.figure("simd_per_cu") or _SIMDS_PER_CU)
    clocks = max(
        _TRIP_CLOCKS * (2 if work.written_bytes else 1),
        max(work.instructions, work.waves) / (simds * _INSTRUCTIONS_PER_CLOCK),
        work.written_bytes / (cus * _STORE_BYTES_PER_CLOCK),
    )
    return clocks / (megahertz * 1e3)
