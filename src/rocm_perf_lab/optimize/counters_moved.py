"""Why the time changed: the counters of loads, waits and instructions that moved most, and what that says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Those whose movement explains a kernel's time; the words say what each counts.
_TELLING = {
    "SQ_WAIT_ANY": "wave cycles spent waiting",
    "SQ_WAIT_INST_ANY": "wave cycles waiting for an instruction's turn",
    "SQ_WAVE_CYCLES": "wave cycles in all",
    "SQ_BUSY_CYCLES": "cycles with a wave on the device",
    "SQ_INSTS": "instructions",
    "SQ_INSTS_VALU": "vector instructions",
    "SQ_INSTS_SALU": "scalar instructions",
    "SQ_INSTS_BRANCH": "branches",
    "SQ_INSTS_SMEM": "scalar loads",
    "SQ_INSTS_VMEM_RD": "vector loads",
    "SQ_INSTS_VMEM_WR": "vector stores",
    "SQ_INSTS_LDS": "LDS instructions",
    "SQ_IFETCH": "instruction fetches",
    "TCP_TOTAL_CACHE_ACCESSES_sum": "L1 accesses",
    "TCC_REQ_sum": "L2 requests",
    "TCC_MISS_sum": "L2 misses",
    "TCC_EA0_RDREQ_sum": "reads beyond L2",
}


@dataclass(frozen=True)
class Moved:
    """One counter before and after. change: relative, None from 0."""

    counter: str
    meaning: str
    before: float
    after: float

    @property
    def change(self) -> float | None:
        return (self.after - self.before) / self.before if self.before else None


def moved(counters: Mapping[str, Sequence[float]], most: int = 6) -> list[Moved]:
    """counters: name -> (before, after) of one kernel. The telling ones, the largest relative change first."""
    found = [Moved(name, _TELLING[name], *pair) for name, pair in counters.items() if name in _TELLING]
    return sorted(found, key=lambda one: (-abs(one.change if one.change is not None else float("inf")), one.counter))[:most]


def explanation(counters: Mapping[str, Sequence[float]]) -> str:
    """One sentence on why time follows from them."""

    def change(name: str) -> float | None:
        before, after = counters.get(name, (0, 0))
        return (after - before) / before if before else None

    waits, instructions, loads = change("SQ_WAIT_ANY"), change("SQ_INSTS"), change("SQ_INSTS_VMEM_RD")
    parts = []
    if waits is not None and waits < -0.01:
        same = " for the same loads" if loads is not None and abs(loads) < 0.01 else ""
        parts.append(f"waves wait {-waits:.0%} fewer cycles{same}: more loads are under way at once")
    if loads is not None and loads <= -0.01:
        parts.append(f"{-loads:.0%} fewer vector loads are issued, each wider")
    if instructions is not None and abs(instructions) >= 0.01:
        parts.append(f"{abs(instructions):.0%} {'fewer' if instructions < 0 else 'more'} instructions are executed")
    return "; ".join(parts) or "no counter of waits or instructions moved by 1 % or more"
