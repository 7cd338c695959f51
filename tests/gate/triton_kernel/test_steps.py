"""The steps of a verdict on a Triton kernel, from the findings and from the reason for a rejection."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.cage import View
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.triton_kernel.document import gate_document
from rocm_perf_lab.gate.triton_kernel.rejection import STEPS, JudgementRecord, RejectedError
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.steps import VerdictBuilder
from rocm_perf_lab.gate.verdict_document import CapturedLaunch, DifferenceSection
from rocm_perf_lab.triton_launches import ScriptKernel

OLD, NEW = (ScriptKernel(Path(f"{name}.py"), "softmax", (), Path("python")) for name in ("old", "new"))
CASES = {"a": "equal", "b": "dropped: it fails", "c": "equal", "d": "not interpreted: too large", "e": "dropped: so does it"}


def launched(**cases: str) -> CapturedLaunch:
    return CapturedLaunch(arguments=None, dispatch=0, grid=[1, 1, 1], workgroup=[64, 1, 1], cases=cases)


LAUNCHED = launched(**CASES)


def request(**asked) -> TritonGateRequest:
    return TritonGateRequest(OLD, NEW, "gfx942", seed=5, **asked)


def steps(*ms: tuple[float, float], launches=(LAUNCHED,), **asked) -> VerdictBuilder:
    return VerdictBuilder(request(**asked), JudgementRecord(list(launches), list(ms), "f00d"))


def told(verdict) -> dict[str, tuple[str, str]]:
    return {one.step: (one.outcome.value, one.reason) for one in verdict.steps}


def test_each_step_reports_its_findings():
    verdict = steps((3.0, 1.5), (1.0, 1.5), launches=(launched(a="equal"), launched(b="equal"))).of_statuses(0, 0)
    assert verdict.accepted and told(verdict) == {
        "launch": ("passed", "launched as the baseline is; launches with different numbers: 2"),
        "equivalence": ("passed", "the same results in 2 cases, and no race"),
        "measurement": ("passed", "25.00% of the kernel's time saved, modelled"),
        "application": ("passed", "its script ends with status 0, as the baseline's does"),
    }
    _, equivalence, measurement, application = (one.evidence for one in verdict.steps)
    assert (equivalence.level, equivalence.seed, equivalence.ulps) == ("full", 5, 0) and len(equivalence.captures) == 2
    assert equivalence.race_seeds == [*seeds.orders(5)] and equivalence.difference is None and equivalence.case is None
    assert (measurement.baseline_ms, measurement.candidate_ms) == ([4.0], [3.0]) and measurement.cold_caches
    assert measurement.ratio == measurement.ratio_on_captured_inputs == 0.75 and measurement.timing == "modelled"
    assert (application.timing, application.timing_parameters) == ("modelled", "f00d")


def test_dropped_cases_and_the_tolerance_are_named():
    verdict = steps((2.0, 1.0), ulps=4).of_statuses(1, 1)
    reason = "results within 4 ULP in 2 cases, and no race; 2 further cases were dropped"
    assert told(verdict)["equivalence"] == ("passed", reason) and verdict.steps[1].evidence.ulps == 4


@pytest.mark.parametrize(
    "ms, asked, expected",
    [
        ((1.0, 0.98), {"min_improvement": 0.015625}, ("passed", "2.00% of the kernel's time saved, modelled")),
        ((1.0, 0.5), {"min_improvement": 0.5}, ("passed", "50.00% of the kernel's time saved, modelled")),
        (
            (1.0, 0.5),
            {"min_improvement": 0.501},
            ("rejected", "50.00% of the kernel's time saved, modelled: less than the required 50.1%"),
        ),
        ((1.0, 0.99), {}, ("rejected", "1.00% of the kernel's time saved, modelled: less than the required 2.0%")),
        ((1.0, 1.0), {}, ("rejected", "0.00% of the kernel's time saved, modelled: less than the required 2.0%")),
        ((1.0, 1.0), {"min_improvement": 0.0}, ("passed", "0.00% of the kernel's time saved, modelled")),
        ((2.0, 2.5), {}, ("rejected", "25.00% slower, modelled: less than the required 2.0%")),
    ],
)
def test_the_time_decides(ms, asked, expected):
    verdict = steps(ms, **asked).of_statuses(0, 0)
    assert told(verdict)["measurement"] == expected and verdict.ratio == ms[1] / ms[0]


@pytest.mark.parametrize("before, after, outcome", [(300, int("300"), "passed"), (0, 1, "rejected"), (2, 1, "rejected")])
def test_both_scripts_must_end_alike(before, after, outcome):
    step = steps((2.0, 1.0)).of_statuses(before, after).steps[-1]
    said = ", as the baseline's does" if outcome == "passed" else f", but the baseline's with {before}"
    assert (step.outcome.value, step.reason) == (outcome, f"its script ends with status {after}{said}")


@pytest.mark.parametrize("at", range(4))
def test_a_rejection_keeps_the_steps_before_it_and_skips_those_after_it(at):
    apart = DifferenceSection(element="y[0]")
    verdict = steps((2.0, 1.0)).of_rejection(RejectedError(STEPS[at], "no", apart, "as launched"))
    assert [one.step for one in verdict.steps] == [*STEPS] == ["launch", "equivalence", "measurement", "application"]
    assert [one.outcome.value for one in verdict.steps] == ["passed"] * at + ["rejected"] + ["skipped"] * (3 - at)
    step = verdict.steps[at]
    assert step.reason == "no" and getattr(step.evidence, "difference", None) == (apart if at == 1 else None)
    assert getattr(step.evidence, "case", None) == ("as launched" if at == 1 else None)
    if at > 1:
        assert verdict.steps[1].evidence.difference is None


def test_the_document_names_both_scripts_and_the_kernel():
    verdict = steps((2.0, 1.0)).of_statuses(0, 0)
    made = gate_document(request(ulps=3), verdict)
    assert (made.baseline, made.candidate, made.kernel) == ("old.py", "new.py", "softmax") and made.ulps == 3
    assert (made.device, made.timing, made.timing_parameters) == ("software gfx942", "modelled", "f00d")
    assert made.accepted and made.undecided == verdict.undecided is not None and made.equivalence == "full"
    assert [one.step for one in made.steps] == [*STEPS] and made.adopted is None
    rejected = gate_document(request(), steps((2.0, 1.0)).of_rejection(RejectedError("launch", "no")))
    assert not rejected.accepted and rejected.timing_parameters is None and rejected.undecided is None


def test_by_default_results_are_exact_and_answers_have_two_minutes():
    made = TritonGateRequest(OLD, NEW, "gfx942")
    assert (made.ulps, made.min_improvement, made.timeout, made.view) == (0, 0.02, 120.0, View())
    assert made.seed != TritonGateRequest(OLD, NEW, "gfx942").seed
    shorter = made.with_timeout(7.0)
    assert shorter.timeout == 7.0 and shorter.seed == made.seed
