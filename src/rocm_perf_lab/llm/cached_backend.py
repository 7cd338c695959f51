"""A backend that answers from the journal if possible, and removes secrets from what it records."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace

from rocm_perf_lab.errors import CaptureError, JournalDiffersError, RocmPerfError
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
from rocm_perf_lab.gate.verdict import StepVerdict, Verdict
from rocm_perf_lab.json_model import with_texts_changed
from rocm_perf_lab.llm.backend import ModelBackend
from rocm_perf_lab.llm.journal_lines import (
    ContextLine,
    KernelKey,
    ObstacleLine,
    RememberedProfile,
    RememberedTarget,
    RoundKey,
    SourceKey,
    SurveyLine,
    SyntaxLine,
)
from rocm_perf_lab.llm.redact import Redactor
from rocm_perf_lab.llm.replay_cache import ReplayCache
from rocm_perf_lab.optimize.backend import Gate, ProfileSummary
from rocm_perf_lab.optimize.journal_lines import SkippedKernel
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.source_protocol import Source
from rocm_perf_lab.optimize.targets import SkippedTarget, Target


class CachedBackend:
    """Answers from the cache if possible, else asks `backend`.

    backend: None if the cache must contain every answer. read: parses a source's text.
    redactor: applied to contexts, compiler messages, obstacles and verdicts that enter the cache; profiles are stored as
    they are.
    """

    def __init__(self, backend: ModelBackend | None, read: Callable[[bytes], Source], cache: ReplayCache, redactor: Redactor):
        self._backend, self.read, self._cache, self._redactor = backend, read, cache, redactor
        self._summaries: dict[bytes, ProfileSummary] = {}

    def profile(self, source: Source) -> ProfileSummary:
        asked = SourceKey(source=digest(source.state))
        return _profile_summary(self._cache.recall(SurveyLine, asked, lambda: _remembered_profile(self._profile_once(source))))

    def context(self, source: Source, target: Target, round_: int) -> str:
        asked = RoundKey(source=digest(source.state), kernel=target.demangled, round=round_)

        def ask() -> str:
            return self._redactor.secrets(self._required_backend.context(source, self._profile_once(source), target))

        return self._cache.recall(ContextLine, asked, ask)

    def complaint(self, source: Source) -> str | None:
        def ask() -> str | None:
            words = self._required_backend.complaint(source)
            if words is None or "error:" not in words:
                return words  # our own description of how the compiler terminated
            return self._redactor.compiler_words(words, source.path.name)

        return self._cache.recall(SyntaxLine, SourceKey(source=digest(source.state)), ask)

    @contextlib.contextmanager
    def gate(self, source: Source, target: Target) -> Iterator[Gate]:
        if self._backend is None:
            raise self._obstacle(source, target)
        with self._backend.gate(source, target) as gate:
            yield _RedactedGate(gate, self._redactor)

    def remember_obstacle(self, source: Source, target: Target, error: RocmPerfError) -> None:
        """Record why a kernel cannot be judged, since a replay must report the same reason."""
        self._cache.recall(ObstacleLine, _kernel_key(source, target), lambda: self._redactor.text(error.problem))

    def _obstacle(self, source: Source, target: Target) -> RocmPerfError:
        if self._cache.knows(ObstacleLine, _kernel_key(source, target)):
            return CaptureError(self._cache.recall(ObstacleLine, _kernel_key(source, target), str))
        return JournalDiffersError(
            "the journal has no verdict on a candidate", "the run or the version of rocm-perf was different"
        )

    def redacted(self, text: str) -> str:
        return self._redactor.text(text)

    def _profile_once(self, source: Source) -> ProfileSummary:
        if source.state not in self._summaries:
            self._summaries[source.state] = self._required_backend.profile(source)
        return self._summaries[source.state]

    @property
    def _required_backend(self) -> ModelBackend:
        """The backend. Raises JournalDiffersError in a replay, which has none."""
        if self._backend is None:
            raise JournalDiffersError(
                "the journal does not contain everything that was asked", "the run or the version of rocm-perf was different"
            )
        return self._backend


def _kernel_key(source: Source, target: Target) -> KernelKey:
    return KernelKey(source=digest(source.state), kernel=target.demangled)


class _RedactedGate:
    def __init__(self, gate: Gate, redactor: Redactor):
        self._gate, self._redactor = gate, redactor

    def judge(self, candidate: bytes, promises: Promises = NO_PROMISES) -> Verdict:
        verdict = self._gate.judge(candidate, promises)
        return replace(verdict, steps=tuple(map(self._redacted_step, verdict.steps)))

    def ratio_on_captured_inputs(self, candidate: bytes, promises: Promises = NO_PROMISES) -> float | None:
        return self._gate.ratio_on_captured_inputs(candidate, promises)

    def _redacted_step(self, step: StepVerdict) -> StepVerdict:
        reason, evidence = self._redactor.text(step.reason), with_texts_changed(step.evidence, self._redactor.text)
        return replace(step, reason=reason, evidence=evidence)


def _remembered_profile(summary: ProfileSummary) -> RememberedProfile:
    return RememberedProfile(
        runtime_ms=summary.runtime_ms,
        timing=summary.timing,
        timing_parameters=summary.timing_parameters,
        device=summary.device,
        targets=[_remembered_target(target) for target in summary.targets],
        left=[SkippedKernel(kernel=skipped.kernel, reason=skipped.reason) for skipped in summary.skipped],
        dominant=summary.dominant,
        fraction=summary.fraction,
    )


def _remembered_target(target: Target) -> RememberedTarget:
    return RememberedTarget(
        kernel=target.kernel,
        demangled=target.demangled,
        dispatches=target.dispatches,
        time_ms=target.time_ms,
        share=target.share,
        headroom=target.headroom,
        priority=target.priority,
        bottleneck=target.bottleneck,
        waited_cycles=list(target.waited_cycles.items()),
        siblings=[_remembered_target(sibling) for sibling in target.siblings],
    )


def _profile_summary(remembered: RememberedProfile) -> ProfileSummary:
    fields = dict(remembered)
    fields["skipped"] = [SkippedTarget(skipped.kernel, skipped.reason) for skipped in fields.pop("left")]
    fields["targets"] = [_recalled_target(target) for target in remembered.targets]
    return ProfileSummary(**fields)


def _recalled_target(remembered: RememberedTarget) -> Target:
    siblings = tuple(_recalled_target(sibling) for sibling in remembered.siblings)
    return Target(**(dict(remembered) | {"waited_cycles": dict(remembered.waited_cycles), "siblings": siblings}))
