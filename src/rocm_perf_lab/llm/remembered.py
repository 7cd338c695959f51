"""A memory before the loop's world: what the journal knows is not asked again, and nothing secret gets into it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from rocm_perf_lab.errors import CaptureError, JournalDiffersError, RocmPerfError
from rocm_perf_lab.gate.promises import NONE, Promises
from rocm_perf_lab.gate.verdict import StepVerdict, Verdict
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.json_model import with_texts_changed
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.targets import LeftAlone, Target
from rocm_perf_lab.optimize.workbench import Gate, Survey

from .memory import Memory
from .redact import Redactor
from .workbench import ModelWorkbench


class RememberedBench:
    """world: whom to ask for what the memory does not know; None where it must know everything.

    read: reads a text as the source. redactor: for all that enters the memory.
    """

    def __init__(self, world: ModelWorkbench | None, read: Callable[[bytes], HipSource], memory: Memory, redactor: Redactor):
        self._world, self.read, self._memory, self._redactor = world, read, memory, redactor
        self._surveys: dict[bytes, Survey] = {}

    def survey(self, source: HipSource) -> Survey:
        asked = {"source": digest(source.text)}
        return _survey(self._memory.recall("survey", asked, lambda: _as_json(self._surveyed(source))))

    def context(self, source: HipSource, target: Target, round_: int) -> str:
        asked = _place(source, target) | {"round": round_}

        def ask() -> str:
            return self._redactor.secrets(self._asked.context(source, self._surveyed(source), target))

        words: str = self._memory.recall("context", asked, ask)
        return words

    def complaint(self, source: HipSource) -> str | None:
        def ask() -> str | None:
            words = self._asked.complaint(source)
            if words is None or "error:" not in words:
                return words  # ours, on how the compiler ended
            return self._redactor.compiler_words(words, source.path.name)

        told: str | None = self._memory.recall("syntax", {"source": digest(source.text)}, ask)
        return told

    @contextlib.contextmanager
    def gate(self, source: HipSource, target: Target) -> Iterator[Gate]:
        if self._world is None:
            raise self._obstacle(source, target)
        with self._world.gate(source, target) as gate:
            yield _RedactedGate(gate, self._redactor)

    def remember_obstacle(self, source: HipSource, target: Target, error: RocmPerfError) -> None:
        """Why nothing can be judged of a kernel: for a replay, which must meet it, too."""
        self._memory.recall("obstacle", _place(source, target), lambda: self._redactor.text(error.what))

    def _obstacle(self, source: HipSource, target: Target) -> RocmPerfError:
        if self._memory.knows("obstacle", _place(source, target)):
            return CaptureError(self._memory.recall("obstacle", _place(source, target), str))
        return JournalDiffersError("the journal has no verdict on a candidate", "its run, or this version, differs")

    def redacted(self, text: str) -> str:
        return self._redactor.text(text)

    def _surveyed(self, source: HipSource) -> Survey:
        if source.text not in self._surveys:
            self._surveys[source.text] = self._asked.survey(source)
        return self._surveys[source.text]

    @property
    def _asked(self) -> ModelWorkbench:
        """The world, where there is one: a memory that must know everything asks nobody."""
        if self._world is None:
            raise JournalDiffersError("the journal does not have all that was asked", "its run, or this version, differs")
        return self._world


def _place(source: HipSource, target: Target) -> dict[str, str]:
    return {"source": digest(source.text), "kernel": target.demangled}


class _RedactedGate:
    def __init__(self, gate: Gate, redactor: Redactor):
        self._gate, self._redactor = gate, redactor

    def judge(self, candidate: bytes, promises: Promises = NONE) -> Verdict:
        verdict = self._gate.judge(candidate, promises)
        return replace(verdict, steps=tuple(map(self._shown, verdict.steps)))

    def _shown(self, step: StepVerdict) -> StepVerdict:
        reason, evidence = self._redactor.text(step.reason), with_texts_changed(step.evidence, self._redactor.text)
        return replace(step, reason=reason, evidence=evidence)


def _as_json(survey: Survey) -> dict[str, Any]:
    value = asdict(replace(survey, documents=None))
    value["targets"] = [_target_as_json(target) for target in survey.targets]
    return value


def _target_as_json(target: Target) -> dict[str, Any]:
    value = asdict(target)
    value["waited_cycles"] = [list(pair) for pair in target.waited_cycles.items()]
    value["siblings"] = [_target_as_json(sibling) for sibling in target.siblings]
    return value


def _survey(value: dict[str, Any]) -> Survey:
    left = [LeftAlone(**one) for one in value["left"]]
    return Survey(**(value | {"targets": [_target(one) for one in value["targets"]], "left": left}))


def _target(value: dict[str, Any]) -> Target:
    waited = {line: cycles for line, cycles in value["waited_cycles"]}
    siblings: Sequence[Target] = tuple(_target(one) for one in value["siblings"])
    return Target(**(value | {"waited_cycles": waited, "siblings": siblings}))
