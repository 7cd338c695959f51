"""Judges the proposals for one kernel, the most promising first, until none of the rest can be the fastest.

One run of a candidate on the captured inputs takes a small part of the time of a judgement. It gives a bound: the verdict's
time is that on the least favourable inputs, these among them. So the result is that of judging all proposals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.optimize.backend import CANNOT_JUDGE, Gate
from rocm_perf_lab.optimize.result import Candidate, Judged
from rocm_perf_lab.optimize.run_state import RunState
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.optimize.transforms import Proposal
from rocm_perf_lab.process.side_by_side import mapped

_UNKNOWN = 0.0  # no candidate is faster, so that those whose time is not known are judged first


class Search:
    """The search over the proposals for one kernel.

    workers: number of candidates that are timed or judged at a time. judged: verdicts so far. passed_over: candidates that
    cannot be the fastest, and were not judged. obstacle: what keeps the gate from judging; "" if nothing does.
    """

    def __init__(self, run: RunState, source: HipSource, target: Target, gate: Gate, workers: int, note: Callable[[str], None]):
        self._run, self._source, self._target, self._gate = run, source, target, gate
        self._workers, self._note = workers, note
        self._waiting: list[tuple[float, Proposal]] = []
        self.judged: list[Judged] = []
        self.passed_over: list[Candidate] = []
        self.obstacle = ""

    def best(self, proposals: Sequence[Proposal]) -> Judged | None:
        """The fastest proposal that the gate accepts and the user keeps."""
        self._waiting = self._timed(proposals)
        best = None
        while best is None and not self.obstacle:
            self._judge_until_decided()
            best = self._run.best(self._target, self.judged)
            if not self._waiting:
                break
        self._pass_over()
        return best

    def _timed(self, proposals: Sequence[Proposal]) -> list[tuple[float, Proposal]]:
        """The proposals with their bounds, the most promising first."""
        bounds = []
        for bound in mapped(self._workers, self._bound, proposals):
            if isinstance(bound, str):
                self.obstacle = bound
                return []
            bounds.append(bound)
        order = sorted(range(len(bounds)), key=lambda i: bounds[i])
        return [(bounds[i], proposals[i]) for i in order]

    def _bound(self, proposal: Proposal) -> float | str:
        try:
            ratio = self._run.first_ratio(self._source, proposal, self._gate)
        except CANNOT_JUDGE as error:
            return f"it cannot be judged: {error.what}"
        return _UNKNOWN if ratio is None else ratio

    def _judge_until_decided(self) -> None:
        """Judge until the fastest is known or nothing is left.

        What is judged beside a candidate that turns out to be the fastest waits on, with its verdict in the journal: so the
        result is the same for any number of workers.
        """
        while self._waiting and not self.obstacle and not self._is_beaten(self._waiting[0][0]):
            taken = [proposal for _, proposal in self._waiting[: self._workers]]
            for one in mapped(self._workers, self._verdict_on, taken):
                if isinstance(one, str):
                    self.obstacle = one
                    return
                if self._is_beaten(self._waiting[0][0]):
                    break
                self._waiting.pop(0)
                self.judged.append(one)
                self._note(f"  {one.proposal.description}: {one.in_words}")

    def _is_beaten(self, bound: float) -> bool:
        """Whether a candidate with this bound cannot be the fastest."""
        return any(bound >= one.ratio for one in self.judged if self._run.may_keep(one))

    def _verdict_on(self, proposal: Proposal) -> Judged | str:
        try:
            return self._run.judged(self._source, self._target, proposal, lambda: self._gate)
        except CANNOT_JUDGE as error:
            return f"it cannot be judged: {error.what}"

    def _pass_over(self) -> None:
        for ratio, proposal in self._waiting:
            self.passed_over.append(self._run.candidate(self._source, proposal))
            saved = f"{1 - ratio:.1%} saved" if ratio <= 1 else f"{ratio - 1:.1%} slower"
            self._note(f"  {proposal.description}: not judged ({saved} on the captured inputs; another change saves more)")
