"""One candidate: ask, turn the answer into a source change, compile it, have it judged; allow two repairs with feedback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rocm_perf_lab.llm.ask import Asker, Reply
from rocm_perf_lab.llm.cached_backend import CachedBackend
from rocm_perf_lab.llm.feedback import feedback
from rocm_perf_lab.llm.journal_lines import AttemptLine, Question
from rocm_perf_lab.llm.language_protocol import AnsweredChange, Language
from rocm_perf_lab.llm.providers import Message
from rocm_perf_lab.llm.unusable_answer import UnusableAnswer
from rocm_perf_lab.optimize.backend import CANNOT_JUDGE, Gate
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.result import JudgedCandidate
from rocm_perf_lab.optimize.run_state import RunState
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.optimize.transforms import Proposal

MAX_REPAIRS = 2

ANSWER, COMPILE = "answer", "compile"
"""The steps before the gate's: the form of the answer, and compilation."""


@dataclass(frozen=True)
class Attempt:
    """One answer. number: index within its candidate, from 1. step, reason: where and why it was rejected; empty if accepted.

    compiler: the compiler's message. judged: None if the gate was not reached.
    """

    iteration: int
    kernel: str
    candidate: int
    number: int
    step: str = ""
    reason: str = ""
    compiler: str = ""
    judged: JudgedCandidate | None = None


class CandidateRound:
    """What all candidates of a round share. gate: opens the gate for the first candidate that reaches it. ulps: the gate's
    tolerance.
    """

    def __init__(
        self,
        run: RunState,
        backend: CachedBackend,
        asker: Asker,
        journal: Journal,
        source: Source,
        target: Target,
        gate: Callable[[], Gate],
        ulps: int,
        language: Language,
    ):
        self._ulps, self._language = ulps, language
        self._run, self._backend, self._asker, self._journal = run, backend, asker, journal
        self._source, self._target, self._gate = source, target, gate
        self._kernel = source.kernel(target.kernel)

    def candidate_attempts(self, iteration: int, candidate: int, context: str) -> Iterator[Attempt]:
        """Yield at most MAX_REPAIRS + 1 attempts at one candidate; the last is the first that the gate accepts or that has no
        text to repair.

        Raises any error that occurs in asking the model or in the gate's baseline.
        """
        messages = [Message("system", self._language.system), Message("user", context)]
        for number in range(1, MAX_REPAIRS + 2):
            asked = Question(
                iteration=iteration,
                source=digest(self._source.state),
                kernel=self._target.demangled,
                candidate=candidate,
                answer=number,
            )
            reply = self._asker.ask(asked, messages)
            attempt = self._examine(reply, Attempt(iteration, self._target.demangled, candidate, number))
            self._journal.append(AttemptLine(question=asked, step=attempt.step, reason=attempt.reason))
            yield attempt
            if not attempt.step or not reply.text:
                return
            messages += [Message("assistant", reply.text)]
            figures = attempt.judged.verdict.resources if attempt.judged is not None else {}
            words = feedback(attempt.step, attempt.reason, attempt.compiler, figures, self._ulps, self._language)
            messages += [Message("user", words)]

    def _examine(self, reply: Reply, attempt: Attempt) -> Attempt:
        if reply.complaint:
            return replace(attempt, step=ANSWER, reason=reply.complaint)
        change = self._language.change(self._source, self._target.kernel, reply.text)
        if isinstance(change, UnusableAnswer):
            return replace(attempt, step=ANSWER, reason=change.reason)
        changed = self._backend.read(self._source.edited(change.edits, change.other_edits).state)
        if words := self._backend.complaint(changed):
            reason = f"it does not compile: {_first_error(words)}"
            return replace(attempt, step=COMPILE, reason=reason, compiler=words)
        return self._judge(change, attempt)

    def _judge(self, change: AnsweredChange, attempt: Attempt) -> Attempt:
        proposal = Proposal(
            transformation="model",
            kernel=self._kernel.name,
            line=self._kernel.span.line,
            description=f"the model's rewrite of {self._kernel.name} (candidate {attempt.candidate}, answer {attempt.number})",
            edits=change.edits,
            other_edits=change.other_edits,
            parameters={"candidate": attempt.candidate, "answer": attempt.number},
        )
        try:
            judged = self._run.judge(self._source, self._target, proposal, self._gate)
        except CANNOT_JUDGE as error:
            self._backend.remember_obstacle(self._source, self._target, error)
            raise
        rejection = judged.verdict.rejection
        step, reason = (rejection.step, rejection.reason) if rejection is not None else ("", "")
        return replace(attempt, step=step, reason=reason, judged=judged)


def _first_error(words: str) -> str:
    lines = words.splitlines()
    return next((line for line in lines if "error:" in line), lines[-1])
