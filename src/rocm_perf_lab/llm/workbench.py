"""The loop's world: the optimiser's workbench, which also says what a proposer should know, and what a compiler says.

`RememberedBench` puts a memory before any such world: what the journal knows is not asked again.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from rocm_perf_lab.errors import CaptureError, JournalDiffersError, RocmPerfError
from rocm_perf_lab.gate.promises import NONE, Promises
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.optimize import compile as builds
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.targets import LeftAlone, Target
from rocm_perf_lab.optimize.workbench import Gate, HipWorkbench, Survey, Workbench

from .memory import Memory
from .redact import Redactor


class ModelWorkbench(Workbench, Protocol):
    def context(self, source: HipSource, survey: Survey, target: Target) -> str:
        """What a proposer should know of the target: the first question."""

    def complaint(self, source: HipSource) -> str | None:
        """The compiler's words on a source that it rejects; None where it does not."""


class HipModelWorkbench(HipWorkbench):
    """The real one. runs: the folder of earlier runs, whose proposals are told. full_source: tell the whole file."""

    def __init__(self, *arguments: Any, runs: Path, full_source: bool = False):
        super().__init__(*arguments)
        self._runs, self._full_source = runs, full_source

    def context(self, source: HipSource, survey: Survey, target: Target) -> str:
        from rocm_perf_lab.prompt import AnswerRules, build_context, tried_in

        options = self._options
        tried = tried_in(self._runs, target.demangled, digest(source.text))
        rules = AnswerRules.asked_for(options)
        return build_context(survey.documents, source, target, tried, rules).text(self._full_source)

    def complaint(self, source: HipSource) -> str | None:
        return builds.complaint(source, self._target, self._limits)


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
            return self._redactor.secrets(self._world.context(source, self._surveyed(source), target))

        return self._memory.recall("context", asked, ask)

    def complaint(self, source: HipSource) -> str | None:
        def ask() -> str | None:
            words = self._world.complaint(source)
            if words is None or "error:" not in words:
                return words  # ours, on how the compiler ended
            return self._redactor.compiler_words(words, source.path.name)

        return self._memory.recall("syntax", {"source": digest(source.text)}, ask)

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
            self._surveys[source.text] = self._world.survey(source)
        return self._surveys[source.text]


def _place(source: HipSource, target: Target) -> dict[str, str]:
    return {"source": digest(source.text), "kernel": target.demangled}


class _RedactedGate:
    def __init__(self, gate: Gate, redactor: Redactor):
        self._gate, self._redactor = gate, redactor

    def judge(self, candidate: HipSource, promises: Promises = NONE) -> dict[str, Any]:
        return self._redactor.document(self._gate.judge(candidate, promises))


class SharedGate:
    """A gate for several threads, which the first one opens. alone: only one at a time is let in.

    Measurements on a GPU must not meet; the software device's times are the same however busy the machine is.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[Gate]], alone: bool):
        self._opened, self._alone = opened, alone
        self._stack, self._lock = contextlib.ExitStack(), threading.Lock()
        self._gate: Gate | None = None

    def __enter__(self) -> SharedGate:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def judge(self, candidate: HipSource, promises: Promises = NONE) -> dict[str, Any]:
        with self._lock:
            if self._gate is None:
                self._gate = self._stack.enter_context(self._opened())
            if self._alone:
                return self._gate.judge(candidate, promises)
        return self._gate.judge(candidate, promises)


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
