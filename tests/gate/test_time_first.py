"""Candidates that are timed before they are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gate_judge import judge_of
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.judge import GateOptions
from rocm_perf_lab.gate.verdict import StepOutcome

SOURCE = Path(__file__).with_name("program.hip").read_text()
LINE = "    sum += x * x;\n"
SLOWER = SOURCE.replace(LINE, LINE + '    asm volatile("s_nop 7");\n' * 8)
FASTER = SOURCE.replace("    if (found < 0 && x > 0) found = i;\n", "").replace("found = -1", "found = 0")  # and it is wrong

EQUIVALENCE = EquivalenceOptions(device="gfx942", instruction_limit=1_000_000, seed=1, race_seeds=(2,))


@pytest.fixture(scope="module")
def timing_judge(program):
    baseline, captures = program
    with judge_of(baseline, "rows", captures, GateOptions(equivalence=EQUIVALENCE, time_first=True)) as judge:
        yield judge


def test_a_slower_candidate_is_not_compared_whether_it_is_right_or_wrong(timing_judge):
    for text in (SLOWER, SLOWER.replace("sum * weight", "sum + weight")):
        verdict = timing_judge.judge(text.encode())
        assert verdict.rejection is not None and verdict.rejection.step == "measurement"
        assert "slower, modelled: less than the required 2.0%" in verdict.rejection.reason
        outcomes = {one.step: one.outcome for one in verdict.steps}
        assert outcomes["equivalence"] is outcomes["application"] is StepOutcome.SKIPPED
        assert verdict.ratio is not None and verdict.ratio > 1


def test_a_faster_candidate_is_still_compared(timing_judge):
    verdict = timing_judge.judge(FASTER.encode())
    assert verdict.rejection is not None and verdict.rejection.step == "equivalence"
    assert "first" in verdict.rejection.reason


def test_the_time_equals_that_of_a_full_judgement(program, timing_judge):
    baseline, captures = program
    first, options = timing_judge.judge(SLOWER.encode()), GateOptions(equivalence=replace(EQUIVALENCE, level="sampled"))
    with judge_of(baseline, "rows", captures, options) as judge:
        fully = judge.judge(SLOWER.encode())
    evidence = [next(step.evidence for step in one.steps if step.step == "measurement") for one in (fully, first)]
    assert evidence[0].ratio_on_captured_inputs == evidence[1].ratio == evidence[1].ratio_on_captured_inputs > 1
    assert evidence[0].candidate_ms == evidence[1].candidate_ms
