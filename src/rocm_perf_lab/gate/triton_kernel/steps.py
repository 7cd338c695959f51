"""Builds the steps of a verdict from the findings."""

from __future__ import annotations

from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.triton_kernel.rejection import LAUNCH, STEPS, JudgementRecord, RejectedError
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


class VerdictBuilder:
    """request: the user's request. record: the findings, which are read when a verdict is built."""

    def __init__(self, request: TritonGateRequest, record: JudgementRecord):
        self._request, self._record = request, record

    def of_statuses(self, baseline: int, candidate: int) -> Verdict:
        """The verdict if all launches were judged and the scripts ended with these exit statuses."""
        return Verdict(
            (
                self._launch_step(),
                self._equivalence_step(),
                self._measurement_step(),
                *self._application_step(baseline, candidate),
            )
        )

    def of_rejection(self, why: RejectedError) -> Verdict:
        return Verdict(tuple(self._step(step, why) for step in STEPS))

    def _step(self, step: str, why: RejectedError) -> StepVerdict:
        rejected_index, index = STEPS.index(why.step), STEPS.index(step)
        if index > rejected_index:
            return skipped(step)
        if index == rejected_index:
            evidence = self._evidence(why.difference, why.case) if step == EQUIVALENCE else None
            return rejected(step, why.reason, evidence)
        return {LAUNCH: self._launch_step, EQUIVALENCE: self._equivalence_step, MEASUREMENT: self._measurement_step}[step]()

    def _launch_step(self) -> StepVerdict:
        return passed(LAUNCH, f"launched as the baseline is; launches with different numbers: {len(self._record.launches)}")

    def _equivalence_step(self) -> StepVerdict:
        results = [result for launch in self._record.launches for result in launch.cases.values()]
        equal, dropped = results.count("equal"), sum(result.startswith("dropped") for result in results)
        words = "the same results" if not self._request.ulps else f"results within {self._request.ulps} ULP"
        also = f"; {dropped} further cases were dropped" if dropped else ""
        return passed(EQUIVALENCE, f"{words} in {equal} cases, and no race{also}", self._evidence(None, None))

    def _evidence(self, difference: DifferenceSection | None, case: str | None) -> EquivalenceEvidence:
        return EquivalenceEvidence(
            level="full", seed=self._request.seed, ulps=self._request.ulps, captures=self._record.launches,
            race_seeds=list(seeds.orders(self._request.seed)), difference=difference, case=case,
        )  # fmt: skip

    def _measurement_step(self) -> StepVerdict:
        before, after = (sum(times) for times in zip(*self._record.ms, strict=True))
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

    def _application_step(self, before: int, after: int) -> tuple[StepVerdict, ...]:
        evidence = ApplicationEvidence(timing="modelled", timing_parameters=self._record.parameters)
        if before != after:
            return (rejected(APPLICATION, f"its script ends with status {after}, but the baseline's with {before}", evidence),)
        return (passed(APPLICATION, f"its script ends with status {after}, as the baseline's does", evidence),)
