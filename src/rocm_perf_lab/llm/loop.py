"""The loop: choose a kernel, ask for candidates, have the gate judge each, keep the fastest, and profile again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rocm_perf_lab.errors import RocmPerfError
from rocm_perf_lab.llm.ask import Asker
from rocm_perf_lab.llm.budget import Budget, UnsentError
from rocm_perf_lab.llm.cached_backend import CachedBackend
from rocm_perf_lab.llm.candidate import Attempt, CandidateRound
from rocm_perf_lab.llm.journal_lines import StopLine
from rocm_perf_lab.llm.kernel_scheduler import KernelScheduler, StopReason
from rocm_perf_lab.llm.language_protocol import Language
from rocm_perf_lab.llm.result import LlmOptimizeResult
from rocm_perf_lab.optimize.backend import CANNOT_JUDGE, ProfileSummary
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.locked_gate import LockedGate
from rocm_perf_lab.optimize.result import JudgedCandidate
from rocm_perf_lab.optimize.run_state import RunState
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.process.side_by_side import mapped

_CandidateEnd = tuple[list[Attempt], Exception | None]
"""A candidate's answers, and the exception that ended it early, or None."""


@dataclass(frozen=True)
class LlmLoopOptions:
    """Settings of the loop.

    max_iterations: maximum number of rounds, each for one kernel. candidates: number per round. workers: candidates in
    parallel. chosen: whether the user named the kernels. ulps: the gate's tolerance, for the feedback to models.
    """

    max_iterations: int = 3
    candidates: int = 1
    workers: int = 1
    chosen: bool = False
    ulps: int = 0


class LlmLoop:
    """The loop of one run. Raises any error from the backend, LanguageModelError and JournalDiffersError; changes accepted
    before an error have already been written.
    """

    def __init__(
        self,
        run: RunState,
        backend: CachedBackend,
        asker: Asker,
        budget: Budget,
        journal: Journal,
        options: LlmLoopOptions,
        note: Callable[[str], None],
        language: Language,
    ):
        self._language = language
        self._run, self._backend, self._asker, self._journal = run, backend, asker, journal
        self._options, self._note = options, note
        self._scheduler = KernelScheduler(options.chosen)
        self.outcome = LlmOptimizeResult(run.outcome, budget)

    def optimize(self) -> LlmOptimizeResult:
        original = self._run.original()
        current = self._backend.read(original)
        summary = self._run.profile(current)
        number = 0
        while True:
            target = self._next_target(number, summary)
            if isinstance(target, StopReason):
                return self._end(target)
            number += 1
            self._note(f"iteration {number}: kernel {target.demangled}: {target.reason}")
            changed, error = self._run_round(number, current, summary, target)
            if changed is not None:
                current = changed
                self._run.write(original, current.state)
            if isinstance(error, UnsentError):
                return self._end(StopReason(error.reason, error.detail))
            if error is not None:
                raise error
            if changed is not None and number < self._options.max_iterations:
                summary = self._run.profile(current)

    def _next_target(self, number: int, summary: ProfileSummary) -> Target | StopReason:
        if number == self._options.max_iterations:
            return StopReason("iterations", f"all {number} iterations are used up")
        return self._scheduler.next(summary)

    def _end(self, stop: StopReason) -> LlmOptimizeResult:
        self._note(f"stopped: {stop.detail}")
        self._journal.append(StopLine(reason=stop.reason, detail=stop.detail))
        self.outcome.stop = stop
        self._run.end(stop.detail)
        return self.outcome

    def _run_round(
        self, number: int, source: Source, summary: ProfileSummary, target: Target
    ) -> tuple[Source | None, Exception | None]:
        """The source with the best accepted change (None if there is none), and any exception that ended the round early."""
        accepted, errors = self._run_candidates(number, source, summary, target)
        obstacle = next((error.problem for error in errors if isinstance(error, CANNOT_JUDGE)), "")
        error = next((error for error in errors if not isinstance(error, CANNOT_JUDGE)), None)
        best = self._run.best(target, accepted)
        if best is not None:
            changed = self._backend.read(best.state)
            self._run.accept(number, target, best, changed)
            self._scheduler.record_kept(target)
            return changed, error
        if error is None:
            self._scheduler.record_failure(target, for_good=bool(obstacle))
            if self._scheduler.is_exhausted(target):
                self._run.skip(target, f"it cannot be judged: {obstacle}" if obstacle else self._why_nothing_kept(target))
        return None, error

    def _run_candidates(
        self, number: int, source: Source, summary: ProfileSummary, target: Target
    ) -> tuple[list[JudgedCandidate], list[Exception]]:
        """The candidates that the gate accepts, and the exceptions that ended candidates early."""
        context = self._backend.context(source, target, self._scheduler.rounds[target.demangled])
        alone = summary.timing == "measured"
        with LockedGate(lambda: self._backend.gate(source, target), alone) as gate:
            shared = (self._run, self._backend, self._asker, self._journal, source, target)
            candidate_round = CandidateRound(*shared, lambda: gate, self._options.ulps, self._language)
            ends = list(self._candidate_ends(lambda which: self._run_candidate(candidate_round, number, which, context)))
        attempts = [attempt for attempts, _ in ends for attempt in attempts]
        self.outcome.attempts += attempts
        judged = [attempt.judged for attempt in attempts if attempt.judged is not None]
        self.outcome.optimized.candidates += judged
        return [candidate for candidate in judged if candidate.accepted], [error for _, error in ends if error is not None]

    def _candidate_ends(self, candidate: Callable[[int], _CandidateEnd]) -> Iterator[_CandidateEnd]:
        """How the candidates ended. With one worker, an error ends the round; with several, the other candidates still
        finish, so that their answers are not lost.
        """
        for end in mapped(self._options.workers, candidate, range(1, self._options.candidates + 1)):
            yield end
            if end[1] is not None and self._options.workers == 1:
                return

    def _run_candidate(self, candidate_round: CandidateRound, number: int, which: int, context: str) -> _CandidateEnd:
        """Run one candidate; exceptions are returned rather than raised, so that other candidates' answers are not lost."""
        attempts: list[Attempt] = []
        try:
            for attempt in candidate_round.candidate_attempts(number, which, context):
                attempts.append(attempt)
                self._note(f"  candidate {which}, answer {attempt.number}: {_in_words(attempt)}")
        except (UnsentError, RocmPerfError) as error:
            return attempts, error
        return attempts, None

    def _why_nothing_kept(self, target: Target) -> str:
        attempts = [attempt for attempt in self.outcome.attempts if attempt.kernel == target.demangled]
        return (
            f"none of {len(attempts)} answers is kept; the last: {_in_words(attempts[-1])}" if attempts else "nothing was asked"
        )


def _in_words(attempt: Attempt) -> str:
    if attempt.judged is not None:
        return attempt.judged.in_words
    return f"not used ({attempt.step}: {attempt.reason})"
