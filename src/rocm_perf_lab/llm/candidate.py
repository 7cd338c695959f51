"""One candidate: ask, extract the code from the answer, splice it, compile it and have it judged; up to two repairs with
feedback.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.hip_source import Edit, HipSource
from rocm_perf_lab.hip_source.program_launches import by_file
from rocm_perf_lab.llm.answer import Unusable, code_of, launch_of
from rocm_perf_lab.llm.ask import Asker, Reply
from rocm_perf_lab.llm.cached_backend import CachedBackend
from rocm_perf_lab.llm.feedback import feedback
from rocm_perf_lab.llm.journal_lines import AttemptLine, Question
from rocm_perf_lab.llm.launch import launch_edits
from rocm_perf_lab.llm.providers import Message
from rocm_perf_lab.llm.splice import splice
from rocm_perf_lab.llm.system_prompt import SYSTEM
from rocm_perf_lab.optimize.backend import CANNOT_JUDGE, Gate
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.result import Judged
from rocm_perf_lab.optimize.run_state import RunState
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.targets import Target
from rocm_perf_lab.optimize.transforms import Proposal

MOST_REPAIRS = 2

ANSWER, COMPILE = "answer", "compile"
"""The steps before the gate's: the form of the answer, and compilation."""


@dataclass(frozen=True)
class Attempt:
    """One answer. number: index within its candidate, from 1. step, reason: where and why it was rejected, empty if accepted.

    compiler: the compiler's message. judged: None if the gate was not reached.
    """

    iteration: int
    kernel: str
    candidate: int
    number: int
    step: str = ""
    reason: str = ""
    compiler: str = ""
    judged: Judged | None = None


class CandidateChain:
    """What all candidates of a round share. gate: opens the gate for the first candidate that reaches it. ulps: the gate's
    tolerance.
    """

    def __init__(
        self,
        run: RunState,
        backend: CachedBackend,
        asker: Asker,
        journal: Journal,
        source: HipSource,
        target: Target,
        gate: Callable[[], Gate],
        ulps: int,
    ):
        self._ulps = ulps
        self._run, self._backend, self._asker, self._journal = run, backend, asker, journal
        self._source, self._target, self._gate = source, target, gate
        self._kernel = source.kernel(target.kernel)

    def attempts(self, iteration: int, candidate: int, context: str) -> Iterator[Attempt]:
        """The attempts, up to the first that the gate accepts. Errors: those of asking and of the gate's baseline."""
        messages = [Message("system", SYSTEM), Message("user", context)]
        for number in range(1, MOST_REPAIRS + 2):
            asked = Question(
                iteration=iteration,
                source=digest(self._source.state),
                kernel=self._target.demangled,
                candidate=candidate,
                answer=number,
            )
            reply = self._asker.ask(asked, messages)
            attempt = self._examined(reply, Attempt(iteration, self._target.demangled, candidate, number))
            self._journal.append(AttemptLine(question=asked, step=attempt.step, reason=attempt.reason))
            yield attempt
            if not attempt.step or not reply.text:
                return
            messages += [Message("assistant", reply.text)]
            figures = attempt.judged.verdict.resources if attempt.judged is not None else {}
            words = feedback(attempt.step, attempt.reason, attempt.compiler, figures, self._ulps)
            messages += [Message("user", words)]

    def _examined(self, reply: Reply, attempt: Attempt) -> Attempt:
        if reply.complaint:
            return replace(attempt, step=ANSWER, reason=reply.complaint)
        code = code_of(reply.text)
        if isinstance(code, Unusable):
            return replace(attempt, step=ANSWER, reason=code.reason)
        launch = launch_of(reply.text)
        launches = launch_edits(self._source, self._kernel, launch) if isinstance(launch, str) else launch or []
        if isinstance(launches, Unusable):
            return replace(attempt, step=ANSWER, reason=launches.reason)
        mine, others = by_file(self._source, launches)
        edits = (splice(self._kernel, code), *mine)
        changed = self._backend.read(self._source.edited(edits, others).state)
        if words := self._backend.complaint(changed):
            reason = f"it does not compile: {_first_error(words)}"
            return replace(attempt, step=COMPILE, reason=reason, compiler=words)
        return self._judged(edits, tuple(others), attempt)

    def _judged(self, edits: tuple[Edit, ...], elsewhere: tuple[tuple[Path, Edit], ...], attempt: Attempt) -> Attempt:
        proposal = Proposal(
            transformation="model",
            kernel=self._kernel.name,
            line=self._kernel.span.line,
            description=f"the model's rewrite of {self._kernel.name} (candidate {attempt.candidate}, answer {attempt.number})",
            edits=edits,
            elsewhere=elsewhere,
            parameters={"candidate": attempt.candidate, "answer": attempt.number},
        )
        try:
            judged = self._run.judged(self._source, self._target, proposal, self._gate)
        except CANNOT_JUDGE as error:
            self._backend.remember_obstacle(self._source, self._target, error)
            raise
        rejection = judged.verdict.rejection
        step, reason = (rejection.step, rejection.reason) if rejection is not None else ("", "")
        return replace(attempt, step=step, reason=reason, judged=judged)


def _first_error(words: str) -> str:
    lines = words.splitlines()
    return next((line for line in lines if "error:" in line), lines[-1])
