"""What a replay says that a kernel gains, held against what the kernel gains in its program.

A candidate can tell a replay from the program, by where its code lies at least: what is seen in a replay alone is no gain.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf_lab.gate.program_run import ProgramRun

LEAST_SHARE = 0.5
"""The part of the claimed saving that has to be seen in the program. Not all of it: a replay starts with cold caches, the
program with what the kernel before left, and it has dispatches that are not replayed. Not less than half: then most of the
claim would be untrue. Of honest candidates 1.06 to 1.07 of what was claimed was seen there (tests/gate_attacks.py, whose
program finds warm caches), and 1.00 to 1.05 (unrolled loops of the testbed's stencil, softmax and reduction)."""


@dataclass(frozen=True)
class Claim:
    """symbol: of the instantiation that was measured. saved: the part of its time, at the interval's slow end."""

    symbol: str
    saved: float


@dataclass(frozen=True)
class SeenGain:
    """Mean times of the kernel's dispatches in the program, in ms, of each run. A run without any has none."""

    claim: Claim
    before: Sequence[float]
    after: Sequence[float]

    @classmethod
    def of(cls, claim: Claim, before: Sequence[ProgramRun], after: Sequence[ProgramRun]) -> SeenGain:
        times = [[run.mean_ms[claim.symbol] for run in runs if claim.symbol in run.mean_ms] for runs in (before, after)]
        return cls(claim, *times)

    @property
    def medians_ms(self) -> tuple[float, float] | None:
        return (statistics.median(self.before), statistics.median(self.after)) if self.before and self.after else None

    @property
    def saved(self) -> float | None:
        """The part of the kernel's time that is saved in the program; None where it is not launched there."""
        if (times := self.medians_ms) is None or times[0] <= 0:
            return None
        return 1 - times[1] / times[0]

    def complaint(self) -> str | None:
        """Where times vary, the most that the runs allow has to be enough: noise speaks for the candidate."""
        if self.saved is None:
            return "the program has no times of the kernel's dispatches, though it is said to gain"
        if 1 - min(self.after) / max(self.before) >= LEAST_SHARE * self.claim.saved:
            return None
        return f"it saves {self.claim.saved:.2%} of the kernel's time when replayed and {self.saved:.2%} in the program"
