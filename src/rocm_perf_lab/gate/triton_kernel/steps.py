"""Builds the steps of a verdict from the findings."""

from __future__ import annotations

from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.triton_kernel.rejection import LAUNCH, STEPS, JudgementRecord, Rejected
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.verdict import StepVerdict, Verdict, passed, rejected, skipped
from rocm_perf_lab.gate.verdict_document import (
    APPLICATION,
    EQUIVALENCE,
    MEASUREMENT,
    ApplicationEvidence,
    DifferenceSection,
    EquivalenceEvidence,
    MeasurementEvidence,
)


class Steps:
    """request: the user's request. found: the findings, which are read when a verdict is built."""

    def __init__(self, request: TritonGateRequest, found: JudgementRecord):
        self._request, self._found = request, found

    def of_statuses(self, baseline: int, candidate: int) -> Verdict:
        """The verdict if all launches were judged and the scripts ended with these exit statuses."""
        return Verdict((self._launched(), self._equivalent(), self._measured(), *self._application(baseline, candidate)))

    def of_rejection(self, why: Rejected) -> Verdict:
        return Verdict(tuple(self._step(step, why) for step in STEPS))

    def _step(self, step: str, why: Rejected) -> StepVerdict:
        at, here = STEPS.index(why.step), STEPS.index(step)
        if here > at:
            return skipped(step)
        if here == at:
            evidence = self._evidence(why.difference, why.case) if step == EQUIVALENCE else None
            return rejected(step, why.reason, evidence)
        return {LAUNCH: self._launched, EQUIVALENCE: self._equivalent, MEASUREMENT: self._measured}[step]()

    def _launched(self) -> StepVerdict:
        return passed(LAUNCH, f"launched as the baseline is; launches with different numbers: {len(self._found.launches)}")

    def _equivalent(self) -> StepVerdict:
        results = [result for one in self._found.launches for result in one.cases.values()]
        equal, dropped = results.count("equal"), sum(result.startswith("dropped") for result in results)
        words = "the same results" if not self._request.ulps else f"results within {self._request.ulps} ULP"
        also = f"; {dropped} further cases were dropped" if dropped else ""
        return passed(EQUIVALENCE, f"{words} in {equal} cases, and no race{also}", self._evidence(None, None))

    def _evidence(self, difference: DifferenceSection | None, case: str | None) -> EquivalenceEvidence:
        return EquivalenceEvidence(
            level="full", seed=self._request.seed, ulps=self._request.ulps, captures=self._found.launches,
            race_seeds=list(seeds.orders(self._request.seed)), difference=difference, case=case,
        )  # fmt: skip

    def _measured(self) -> StepVerdict:
        before, after = (sum(times) for times in zip(*self._found.ms, strict=True))
        ratio = after / before
        evidence = MeasurementEvidence(
            timing="modelled", baseline_ms=[before], candidate_ms=[after], ratio=ratio, ratio_on_captured_inputs=ratio,
            cold_caches=True,
        )  # fmt: skip
        saved = f"{1 - ratio:.2%} of the kernel's time saved" if ratio <= 1 else f"{ratio - 1:.2%} slower"
        if 1 - ratio < self._request.min_improvement:
            reason = f"{saved}, modelled: less than the required {self._request.min_improvement:.1%}"
            return rejected(MEASUREMENT, reason, evidence)
        return passed(MEASUREMENT, f"{saved}, modelled", evidence)

    def _application(self, before: int, after: int) -> tuple[StepVerdict, ...]:
        evidence = ApplicationEvidence(timing="modelled", timing_parameters=self._found.parameters)
        if before != after:
            return (rejected(APPLICATION, f"its script ends with status {after}, but the baseline's with {before}", evidence),)
        return (passed(APPLICATION, f"its script ends with status {after}, as the baseline's does", evidence),)
