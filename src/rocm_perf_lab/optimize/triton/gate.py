"""The gate for candidates based on one state of a file: it runs the gate for Triton functions, and then the whole script."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
from rocm_perf_lab.gate.triton_kernel.judge import judge
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.times_before_judging import FirstTimes
from rocm_perf_lab.gate.verdict import StepVerdict, Verdict
from rocm_perf_lab.gate.verdict_document import APPLICATION
from rocm_perf_lab.triton_launches import ScriptKernel


class TritonGate:
    """request: the gate's settings; its candidate is the baseline. judge_script: judges the whole script with a candidate's
    text.
    """

    def __init__(
        self,
        request: TritonGateRequest,
        times: FirstTimes,
        with_text: Callable[[bytes], ScriptKernel],
        judge_script: Callable[[bytes], StepVerdict],
    ):
        self._request, self._times, self._with_text, self._judge_script = request, times, with_text, judge_script

    def judge(self, candidate: bytes, promises: Promises = NO_PROMISES) -> Verdict:
        """See optimize.backend.Gate. There are no promises here: only changes to HIP sources make any."""
        verdict = judge(replace(self._request, candidate=self._with_text(candidate)), _ignore_note)
        if not verdict.accepted:
            return verdict
        steps = [step for step in verdict.steps if step.step != APPLICATION]
        return Verdict((*steps, self._judge_script(candidate)))

    def ratio_on_captured_inputs(self, candidate: bytes, promises: Promises = NO_PROMISES) -> float | None:
        return self._times.ratio(self._with_text(candidate))


def _ignore_note(_words: str) -> None:
    """Drops the judge's progress lines; the optimizer prints its own."""
