"""Judges the proposals for one kernel, the most promising first, until none of those left can be the fastest.

Two bounds rule proposals out. Experiments with the profiled dispatch show what a proposal would save if everything that it can
change took no time: if that is less than the smallest gain that the gate accepts, the proposal is not even built. The other
bound exists on the software device; it comes from running a candidate once on the captured inputs, which takes a small fraction
of the time that judging it takes: a verdict reports the result for the least favourable inputs, and the captured ones are among
those tried. A candidate that saves less on the captured inputs than the gate accepts, or less than an accepted candidate saves,
is not judged. As long as the experiments are reliable, the result is therefore the same as if all proposals were judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

from rocm_perf_lab.optimize.backend import CANNOT_JUDGE, Gate
from rocm_perf_lab.optimize.passed_over_reasons import group_by_reason
from rocm_perf_lab.optimize.prediction import PredictedProposal
from rocm_perf_lab.optimize.rejections import KernelRejections
from rocm_perf_lab.optimize.result import Candidate, JudgedCandidate
from rocm_perf_lab.optimize.run_state import RunState
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.optimize.time_budget import TimeBudget
from rocm_perf_lab.process.side_by_side import mapped

_UNKNOWN = 0.0  # faster than any candidate, so that candidates with unknown times are judged first


class SearchLimits(Protocol):
    """workers: number of candidates that are timed or judged at a time. min_improvement: the smallest gain that counts."""

    @property
    def workers(self) -> int: ...

    @property
    def min_improvement(self) -> float: ...


class Search:
    """The search over the proposals for one kernel.

    judged: verdicts so far. passed_over: candidates that were not judged, or whose verdicts were not needed. obstacle: what
    prevents the gate from judging; "" if nothing does. rejected_before: number of proposals that earlier runs rejected.
    timed_only: number of candidates that were timed but not judged.
    """

    def __init__(
        self,
        run: RunState,
        source: Source,
        target: Target,
        gate: Gate,
        limits: SearchLimits,
        note: Callable[[str], None],
        budget: TimeBudget,
        rejections: KernelRejections,
    ):
        self._run, self._source, self._target, self._gate = run, source, target, gate
        self._workers, self._min_improvement, self._note = limits.workers, limits.min_improvement, note
        self._budget, self._rejections = budget, rejections
        self._waiting: list[tuple[float, PredictedProposal]] = []
        self.judged: list[JudgedCandidate] = []
        self.passed_over: list[Candidate] = []
        self._not_judged: list[tuple[str, str]] = []
        self.obstacle = ""
        self.rejected_before = 0
        self.timed_only = 0

    def best(self, proposals: Sequence[PredictedProposal]) -> JudgedCandidate | None:
        """The fastest proposal that the gate accepts and the user keeps."""
        self._waiting = self._sorted_by_bound(
            [ranked for ranked in proposals if not (self._is_hopeless(ranked) or self._was_rejected_before(ranked))]
        )
        best = None
        while best is None and not self.obstacle:
            self._judge_until_decided()
            best = self._run.best(self._target, self.judged)
            if not self._waiting or self._budget.used or self._is_too_slow(self._waiting[0][0]):
                break
        self._pass_over()
        for why, descriptions in group_by_reason(self._not_judged):
            self._note(f"  not judged ({why}): {descriptions}")
        return best

    def _is_hopeless(self, ranked: PredictedProposal) -> bool:
        prediction = ranked.prediction
        if prediction is None or prediction.kernel >= self._min_improvement:
            return False
        self._record_not_judged(ranked, f"{prediction.in_words}, less than {self._min_improvement:.1%}", None)
        return True

    def _was_rejected_before(self, ranked: PredictedProposal) -> bool:
        rejection = self._rejections.of(ranked.proposal)
        if rejection is None:
            return False
        self.rejected_before += 1
        self._record_not_judged(ranked, f"{rejection.in_words}; --judge-again judges it again", None)
        return True

    def _sorted_by_bound(self, proposals: Sequence[PredictedProposal]) -> list[tuple[float, PredictedProposal]]:
        """The proposals and their bounds, most promising first."""
        bounds = []
        for bound in mapped(self._workers, self._bound, proposals):
            if isinstance(bound, str):
                self.obstacle = bound
                return []
            bounds.append(bound)
        order = sorted(range(len(bounds)), key=lambda i: bounds[i])
        return [(bounds[i], proposals[i]) for i in order]

    def _bound(self, ranked: PredictedProposal) -> float | str:
        if self._budget.used:
            return math.inf
        try:
            ratio = self._run.ratio_on_captured_inputs(self._source, ranked.proposal, self._gate)
        except CANNOT_JUDGE as error:
            return f"it cannot be judged: {error.problem}"
        return _UNKNOWN if ratio is None else ratio

    def _judge_until_decided(self) -> None:
        """Judge until the fastest candidate is known or none is left.

        A candidate judged at the same time as the fastest one stays in the queue (if its judgement had already ended, its
        verdict is in the journal), so that the result is the same for any number of workers.
        """
        while self._waiting and not self.obstacle and not self._budget.used and not self._is_beaten(self._waiting[0][0]):
            batch = [ranked for _, ranked in self._waiting[: self._workers]]
            for judged in mapped(self._workers, self._verdict_on, batch):
                if isinstance(judged, str):
                    self.obstacle = judged
                    return
                if self._is_beaten(self._waiting[0][0]):
                    break
                self._waiting.pop(0)
                self.judged.append(judged)
                if judged.verdict.rejection is not None and self._rejections.of(judged.proposal) is None:
                    self._rejections.keep(judged.proposal, judged.verdict.rejection)
                self._note(f"  {judged.proposal.description}: {judged.in_words}")

    def _is_beaten(self, bound: float) -> bool:
        """Whether a candidate with this bound cannot be the fastest or cannot be accepted."""
        return self._is_too_slow(bound) or any(
            bound >= candidate.ratio for candidate in self.judged if self._run.may_keep(candidate)
        )

    def _is_too_slow(self, bound: float) -> bool:
        return not math.isinf(bound) and 1 - bound < self._min_improvement

    def _verdict_on(self, ranked: PredictedProposal) -> JudgedCandidate | str:
        try:
            return self._run.judge(self._source, self._target, ranked.proposal, lambda: self._gate, ranked.prediction)
        except CANNOT_JUDGE as error:
            return f"it cannot be judged: {error.problem}"

    def _pass_over(self) -> None:
        for ratio, ranked in self._waiting:
            measured = None if ratio in (_UNKNOWN, math.inf) else 1 - ratio
            if self.obstacle or (self._budget.used and not self._is_beaten(ratio)):
                self._record_not_judged(ranked, self.obstacle or str(self._budget), measured)
                continue
            saved = f"{1 - ratio:.1%} saved" if ratio <= 1 else f"{ratio - 1:.1%} slower"
            self.timed_only += 1
            why = f"less than {self._min_improvement:.1%}" if self._is_too_slow(ratio) else "another change saves more"
            self._record_not_judged(ranked, f"{saved} on the captured inputs; {why}", measured)

    def _record_not_judged(self, ranked: PredictedProposal, why: str, measured: float | None) -> None:
        """Record that the proposal is not judged. measured: the share of the kernel's time that it saves on the captured
        inputs; None if not measured.
        """
        candidate = self._run.candidate(self._source, ranked.proposal, ranked.prediction)
        self.passed_over.append(candidate)
        self._run.pass_over(self._target, candidate, why, measured)
        self._not_judged.append((ranked.proposal.description, why))
