"""The gain that a kernel shows in replay, checked against its gain in the program.

A candidate can distinguish a replay from the program, if only by the address of its code, so a gain seen only in replay does
not count.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf_lab.gate.application.program_run import ProgramRun

MIN_SHARE = 0.5
"""The fraction of the claimed saving that must be seen in the program. It is below 1 because a replay starts with cold caches,
whereas the program's kernel starts with what the previous kernel left in them, and because some dispatches are not replayed. It
is not below one half, because then most of the claim could be untrue. In the program, honest candidates saved 1.06 to 1.07
times what they claimed (tests/gate_attacks.py, where the kernel finds warm caches) and 1.00 to 1.05 times (unrolled loops of
the testbed's stencil, softmax and reduction).
"""


@dataclass(frozen=True)
class ClaimedGain:
    """The gain that a replay shows.

    symbol: the measured instantiation. saved: the fraction of the kernel's time that is saved, at the pessimistic end of the
    confidence interval.
    """

    symbol: str
    saved: float


@dataclass(frozen=True)
class ObservedGain:
    """The gain in the program. before, after: the mean time of the kernel's dispatches in each run, in ms; runs that do not
    dispatch the kernel are left out.
    """

    claim: ClaimedGain
    before: Sequence[float]
    after: Sequence[float]

    @classmethod
    def of(cls, claim: ClaimedGain, before: Sequence[ProgramRun], after: Sequence[ProgramRun]) -> ObservedGain:
        times = [[run.mean_ms[claim.symbol] for run in runs if claim.symbol in run.mean_ms] for runs in (before, after)]
        return cls(claim, *times)

    @property
    def medians_ms(self) -> tuple[float, float] | None:
        return (statistics.median(self.before), statistics.median(self.after)) if self.before and self.after else None

    @property
    def saved(self) -> float | None:
        """The fraction of the kernel's time that is saved in the program; None unless the kernel was timed in both programs."""
        if (times := self.medians_ms) is None or times[0] <= 0:
            return None
        return 1 - times[1] / times[0]

    def complaint(self) -> str | None:
        """Why the gain in the program is too small; None if it is not. If times vary, the pair of runs most
        favourable to the candidate counts.
        """
        if self.saved is None:
            return "no dispatch of the kernel was timed in the program, although a gain is claimed"
        if 1 - min(self.after) / max(self.before) >= MIN_SHARE * self.claim.saved:
            return None
        return f"it saves {self.claim.saved:.2%} of the kernel's time when replayed and {self.saved:.2%} in the program"
