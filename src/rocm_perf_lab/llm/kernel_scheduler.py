"""Schedules kernels: the dominant one as long as there is one, else the top ones in turn; or reports why the loop ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rocm_perf_lab.optimize.backend import ProfileSummary
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.report.dag import DOMINATES

MAX_FAILURES = 2  # a kernel is abandoned after this many consecutive rounds in which no change to it was kept
_MAX_KERNELS = 3  # at most this many kernels are taken in turn


@dataclass(frozen=True)
class StopReason:
    """Why the loop ends. reason: one of a fixed set; detail: a sentence."""

    reason: str
    detail: str


@dataclass
class KernelScheduler:
    """Chooses the kernel for the next round, or finds a reason to stop.

    chosen: whether the user named the kernels; they are then taken in turn, even if one dominates.
    """

    chosen: bool = False
    rounds: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)

    def next(self, summary: ProfileSummary) -> Target | StopReason:
        wanted = self._wanted_targets(summary)
        if isinstance(wanted, StopReason):
            return wanted
        left = [target for target in wanted if not self.is_exhausted(target)]
        if not left:
            names = ", ".join(target.kernel for target in wanted)
            why = f"given up after {MAX_FAILURES} rounds without a kept change, or because it cannot be judged"
            return StopReason("repeated failure", f"{names}: {why}")
        # In turn: the kernel with the fewest rounds first and, in case of a tie, the one that could gain the most.
        return min(left, key=lambda target: self.rounds[target.demangled])

    def record_kept(self, target: Target) -> None:
        self.rounds[target.demangled] += 1
        self.failures[target.demangled] = 0

    def record_failure(self, target: Target, for_good: bool = False) -> None:
        self.rounds[target.demangled] += 1
        self.failures[target.demangled] += MAX_FAILURES if for_good else 1

    def is_exhausted(self, target: Target) -> bool:
        return self.failures[target.demangled] >= MAX_FAILURES

    def _wanted_targets(self, summary: ProfileSummary) -> list[Target] | StopReason:
        if self.chosen or summary.fraction is None or summary.fraction < DOMINATES:
            if summary.targets:
                return list(summary.targets[:_MAX_KERNELS])
            return StopReason("no headroom", _skipped_in_words(summary) or "the program has no kernel of this source")
        dominant = [target for target in summary.targets if target.demangled == summary.dominant]
        if dominant:
            return dominant
        why = next(
            (skipped.reason for skipped in summary.skipped if skipped.kernel == summary.dominant), "it is not in this source"
        )
        share = f"{summary.dominant} accounts for {summary.fraction:.0%} of the critical path"
        return StopReason("ceiling reached", f"{share}, but {why}")


def _skipped_in_words(summary: ProfileSummary) -> str:
    return "; ".join(f"{skipped.kernel}: {skipped.reason}" for skipped in summary.skipped)
