"""The loop: profile, choose a kernel, propose changes, have the gate judge them, keep the best. Every change to the
user's files is journalled first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.optimize.backend import ProfileSummary, RememberingBackend
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.locked_gate import LockedGate
from rocm_perf_lab.optimize.order_by_waits import order_by_waits
from rocm_perf_lab.optimize.prediction import PredictedProposal, predict_gain
from rocm_perf_lab.optimize.rejections import KernelRejections, Rejections
from rocm_perf_lab.optimize.result import JudgedCandidate, OptimizeResult
from rocm_perf_lab.optimize.run_state import Approve, RunState
from rocm_perf_lab.optimize.search import Search
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.optimize.time_budget import TimeBudget
from rocm_perf_lab.optimize.transforms import DEFAULT, TRANSFORMS, Proposal, Refusal, Transformation
from rocm_perf_lab.optimize.transforms.combined import with_enabled_changes

COMMAND = "optimize"
_MAX_KERNELS = 3  # how many kernels are tried in one iteration


@dataclass(frozen=True)
class OptimizeLoopOptions:
    """Settings of the loop.

    factors: for transformations that take a factor. transforms: names of transformations, in the order in which they
    are tried if nothing predicts which one gains more. workers: number of proposals judged at a time. accept_modelled: whether
    to also accept gains that are within the timing model's error. min_improvement: the smallest gain that the gate accepts.
    budget_seconds: no new work is begun after this much time; None for no limit. judge_again: whether to judge proposals that
    earlier runs rejected.
    """

    factors: tuple[int, ...] = (2, 4, 8)
    transforms: tuple[str, ...] = DEFAULT
    max_iterations: int = 3
    in_place: bool = False
    dry_run: bool = False
    workers: int = 1
    accept_modelled: bool = False
    min_improvement: float = 0.02
    budget_seconds: float | None = None
    judge_again: bool = False


class OptimizeLoop:
    """One run. source: the user's file. run: the run's directory. transformations: those for the source's language, keyed by
    name. clock: returns the time in seconds. Raises SourceError, OutputError, and whatever the backend raises.
    """

    def __init__(
        self,
        source: Path,
        found_by: str,
        run: Path,
        journal: Journal,
        backend: RememberingBackend,
        options: OptimizeLoopOptions,
        approve: Approve,
        note: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        transformations: Mapping[str, Transformation] = TRANSFORMS,
    ):
        self._backend, self._options, self._note = backend, options, note
        self._transformations = transformations
        self._budget = TimeBudget(options.budget_seconds, clock)
        self._rejections = Rejections(run.parent, run.name, options.judge_again)
        self._run = RunState(
            source, found_by, run, journal, backend, approve, options.in_place, COMMAND, options.accept_modelled
        )
        self._outcome = self._run.outcome
        self._outcome.dry_run = options.dry_run
        self._exhausted: set[str] = set()

    def optimize(self) -> OptimizeResult:
        original = self._run.original()
        current = self._backend.read(original)
        summary = self._run.profile(current)
        stop = f"ended at --max-iters {self._options.max_iterations}"
        for number in range(1, self._options.max_iterations + 1):
            best = self._iteration(current, summary)
            if best is None:
                stop = self._why_it_stops(summary)
                break
            target, judged, candidate = best
            current = candidate
            self._run.accept(number, target, judged, current)
            if number < self._options.max_iterations:
                summary = self._run.profile(current)
        if self._outcome.accepted:
            self._run.write(original, current.state)
        return self._run.end(stop)

    def _why_it_stops(self, summary: ProfileSummary) -> str:
        """Why the run ends after an iteration that accepted nothing."""
        if self._options.dry_run:
            return "a dry run judges nothing"
        if self._budget.used:
            return str(self._budget)
        if not summary.targets:
            return f"no kernel left that could gain {self._options.min_improvement * 100:g} % or more"
        return "no proposal was kept for any kernel that could still gain"

    def _iteration(self, source: Source, summary: ProfileSummary) -> tuple[Target, JudgedCandidate, Source] | None:
        """The best accepted change for the first kernel that has one; kernels that have none are skipped from then on."""
        wanted = [target for target in summary.targets if target.demangled not in self._exhausted]
        for target in wanted[:_MAX_KERNELS]:
            if self._budget.used:
                return None
            self._note(f"kernel {target.demangled}: {target.reason}")
            ranked_proposals, refusals = self._ranked_proposals(source, target)
            best, judged, obstacle = self._search(source, target, ranked_proposals)
            if best:
                return target, best, self._backend.read(best.state)
            self._exhausted.add(target.demangled)
            self._outcome.refused += [refusal for refusal in refusals if refusal not in self._outcome.refused]
            self._run.skip(target, obstacle or self._why_nothing_kept(judged, refusals))
        return None

    def _ranked_proposals(self, source: Source, target: Target) -> tuple[list[PredictedProposal], list[Refusal]]:
        """The proposals, with the largest predicted gain first, and the refusals."""
        kernel = source.kernel(target.kernel)
        used = {name: self._transformations[name] for name in self._options.transforms}
        answers = [answer for propose in used.values() for answer in propose(source, kernel, self._options.factors)]
        proposals = [answer for answer in answers if isinstance(answer, Proposal)]
        proposals += with_enabled_changes(source, kernel, proposals, used, self._options.factors, self._backend.read)
        ordered = order_by_waits(proposals, kernel, target.waited_cycles, source.text)
        ranked_proposals = [
            PredictedProposal(proposal, predict_gain(proposal, kernel, target.stack, target.share, source.text))
            for proposal in ordered
        ]
        return (
            sorted(ranked_proposals, key=lambda ranked_proposal: ranked_proposal.rank),
            [answer for answer in answers if isinstance(answer, Refusal)],
        )

    def _search(
        self, source: Source, target: Target, ranked_proposals: Sequence[PredictedProposal]
    ) -> tuple[JudgedCandidate | None, list[JudgedCandidate], str]:
        """The proposal to keep, all verdicts, and the reason why other proposals were not judged."""
        if self._options.dry_run:
            self._outcome.candidates += [
                self._run.candidate(source, ranked_proposal.proposal, ranked_proposal.prediction)
                for ranked_proposal in ranked_proposals
            ]
            return None, [], f"a dry run: {len(ranked_proposals)} proposals were not judged" if ranked_proposals else ""
        alone = self._outcome.timing == "measured"
        with LockedGate(lambda: self._backend.gate(source, target), alone) as gate:
            rejections = self._rejections_of(source, target)
            search = Search(self._run, source, target, gate, self._options, self._note, self._budget, rejections)
            best = search.best(ranked_proposals)
        self._outcome.candidates += [*search.judged, *search.passed_over]
        return (
            best,
            search.judged,
            search.obstacle or ("" if search.judged or not ranked_proposals else self._why_unjudged(search, ranked_proposals)),
        )

    def _why_unjudged(self, search: Search, ranked_proposals: Sequence[PredictedProposal]) -> str:
        if self._budget.used:
            return str(self._budget)
        if search.rejected_before == len(ranked_proposals):
            return f"earlier runs rejected all {len(ranked_proposals)} proposals, for the reasons under `passed_over`"
        how = "by experiments and by their time on the captured inputs" if search.timed_only else "by experiments"
        return f"none of {len(ranked_proposals)} proposals can gain the required {self._options.min_improvement:.1%}, {how}"

    def _rejections_of(self, source: Source, target: Target) -> KernelRejections:
        """Earlier runs' rejections of proposals for this kernel."""
        kernel, fingerprint = source.kernel(target.kernel), self._backend.fingerprint(source, target)
        return KernelRejections(self._rejections, kernel, fingerprint)

    def _why_nothing_kept(self, judged: Sequence[JudgedCandidate], refusals: Sequence[Refusal]) -> str:
        if judged:
            undecided = {candidate.judged.digest for candidate in self._outcome.undecided}
            reasons = [
                f"{candidate.proposal.description}: {candidate.rejection or _why_not_kept(candidate.digest in undecided)}"
                for candidate in judged
            ]
            return f"none of {len(judged)} proposals is kept; {'; '.join(reasons)}"
        if refusals:
            return "nothing can be changed safely: " + "; ".join(
                dict.fromkeys(f"line {refusal.line}: {refusal.reason}" for refusal in refusals)
            )
        return "its body has nothing that the transformations could change; functions that it calls are not examined"


def _why_not_kept(undecided: bool) -> str:
    """Why a change that the gate accepted is not kept."""
    return "for a GPU to decide" if undecided else "the user declined it"
