"""What a verdict says about its steps, and that its document says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rocm_perf_lab.gate.equivalence.mismatch import Mismatch
from rocm_perf_lab.gate.verdict import StepOutcome, StepVerdict, Verdict, passed, rejected, skipped
from rocm_perf_lab.gate.verdict_document import (
    ApplicationEvidence,
    CodeObjectEvidence,
    DifferenceSection,
    EquivalenceEvidence,
    MeasurementEvidence,
    SourceEvidence,
    StepEvidence,
    StepSection,
    VerdictDocument,
)
from rocm_perf_lab.hip_source.source_state import join_state
from rocm_perf_lab.json_model import json_text

SOURCE = passed("source", "taken", SourceEvidence(kernel="k", added=["f"]))
BUILD = passed("build", "it compiles")
CODE = passed("code object", "the same", CodeObjectEvidence(symbol="_Z1kv", vgprs=(8, 9), agprs=(0, 0), code_bytes=(64, 32)))
EQUAL = passed("equivalence", "equal", EquivalenceEvidence(level="full", captures=[], unproven=["`n`"]))
FASTER = passed("measurement", "faster", MeasurementEvidence(ratio=0.75, ratio_on_captured_inputs=0.5, timing="measured"))
PROGRAM = passed(
    "application",
    "as before",
    ApplicationEvidence(
        timing="measured",
        timing_parameters=None,
        runtime_ms=(3.0, 2.0),
        kernel_ms=(2.0, 1.0),
        counters={"_Z1kv": {"SQ_WAVES": (4.0, 2.0)}, "other": {"SQ_WAVES": (1.0, 2.0)}},
        unmoved_counters={"_Z1kv": ["SQ_INSTS"], "other": []},
    ),
)
ALL = (SOURCE, BUILD, CODE, EQUAL, FASTER, PROGRAM)


@pytest.mark.parametrize(
    "steps, accepted, rejection",
    [
        ((), False, None),
        ((skipped("build"),), False, None),
        ((BUILD,), True, None),
        ((skipped("source"), BUILD), True, None),
        ((BUILD, rejected("code object", "no"), rejected("equivalence", "no")), False, "code object"),
        ((rejected("source", "no"), skipped("build")), False, "source"),
    ],
)
def test_a_candidate_that_passed_a_step_and_was_not_rejected_is_accepted(steps, accepted, rejection):
    verdict = Verdict(steps)
    assert verdict.accepted == accepted and (verdict.rejection.step if verdict.rejection else None) == rejection


def test_figures_come_from_the_step_that_has_them():
    verdict = Verdict(ALL)
    assert (verdict.ratio, verdict.ratio_on_captured_inputs) == (0.75, 0.5)
    assert (verdict.runtime_ms, verdict.kernel_ms, verdict.program_timing) == ((3.0, 2.0), (2.0, 1.0), ("measured", None))
    assert verdict.symbol == "_Z1kv" and verdict.counters == ({"SQ_WAVES": (4.0, 2.0)}, ["SQ_INSTS"])
    assert verdict.resources == {"vgprs": (8, 9), "agprs": (0, 0), "code_bytes": (64, 32)}
    assert verdict.unproven == ("`n`",) and verdict.undecided is None


def test_without_these_steps_there_are_no_figures():
    verdict = Verdict((SOURCE, BUILD))
    found = (
        verdict.ratio,
        verdict.ratio_on_captured_inputs,
        verdict.runtime_ms,
        verdict.kernel_ms,
        verdict.program_timing,
        verdict.symbol,
    )
    assert set(found) == {None} and verdict.counters == ({}, ()) and verdict.resources == {} and verdict.unproven == ()
    assert Verdict((SOURCE, PROGRAM)).counters == ({}, ())  # the kernel's symbol is not known


@pytest.mark.parametrize(
    "unproven, reason, whole",
    [
        (["`n`"], "equal, the pool, the table", ["`n`", "the pool", "the table"]),
        (None, "equal; unproven: the pool, the table", ["the pool", "the table"]),
        ([], "equal; unproven: the pool, the table", ["the pool", "the table"]),
    ],
)
def test_more_assumptions_may_turn_out_to_be_unproven(unproven, reason, whole):
    step = passed("equivalence", "equal", EquivalenceEvidence(level="full", unproven=unproven))
    verdict = Verdict((BUILD, step, FASTER), b"text")
    more = verdict.with_unproven(["the pool", "the table"])
    assert more.steps[0] is BUILD and more.steps[2] is FASTER and more.adopted == b"text"
    assert (more.steps[1].reason, more.steps[1].evidence.unproven, more.steps[1].evidence.level) == (reason, whole, "full")
    assert step.evidence.unproven == unproven and verdict.with_unproven([]) is verdict


def test_a_step_that_rejected_lists_nothing_as_unproven():
    step = rejected("equivalence", "differs", EquivalenceEvidence(level="full"))
    assert Verdict((step,)).with_unproven(["the pool"]).steps == (step,)


@pytest.mark.parametrize("adopted", [None, b"int x; \xff", join_state(b"own", {Path("/b.h"): b"b \xfe", Path("/a.h"): b"a"})])
def test_a_document_holds_everything_in_the_verdict(adopted):
    verdict = Verdict((*ALL, rejected("later", "no")), adopted)
    document = verdict.document()
    assert [(one.step, one.outcome) for one in document.steps][:2] == [("source", "passed"), ("build", "passed")]
    assert document.accepted is False and Verdict(ALL).document().accepted and document.undecided is None
    again = VerdictDocument.model_validate(json.loads(json_text(document)))
    assert Verdict.from_document(again) == Verdict.from_document(document) == verdict
    assert [type(one.evidence) for one in again.steps] == [type(one.evidence) for one in verdict.steps]
    others = [(one.file, one.text) for one in document.adopted_elsewhere]
    assert others == ([("/a.h", "a"), ("/b.h", "b \udcfe")] if adopted and adopted.startswith(b"own") else [])
    assert document.adopted == {None: None, b"int x; \xff": "int x; \udcff"}.get(adopted, "own")


@pytest.mark.parametrize(
    "step, kind",
    [
        ("source", SourceEvidence),
        ("code object", CodeObjectEvidence),
        ("equivalence", EquivalenceEvidence),
        ("measurement", MeasurementEvidence),
        ("application", ApplicationEvidence),
        ("build", StepEvidence),
        ("launch", StepEvidence),
    ],
)
def test_evidence_is_read_as_that_of_its_step(step, kind):
    section = StepSection.model_validate({"step": step, "outcome": "passed", "reason": "", "evidence": {}})
    assert type(section.evidence) is kind
    kept = kind()
    assert StepSection(step=step, outcome="passed", reason="", evidence=kept).evidence is kept
    assert StepSection.model_validate({"step": step, "outcome": "skipped", "reason": ""}).evidence == StepEvidence()


@pytest.mark.parametrize(
    "verdict, outcome",
    [
        (passed("a", "b\x1b", SOURCE.evidence), StepOutcome.PASSED),
        (rejected("a", "b\x1b", SOURCE.evidence), StepOutcome.REJECTED),
    ],
)
def test_control_characters_from_a_program_cannot_reach_a_terminal(verdict, outcome):
    assert (verdict.step, verdict.outcome, verdict.evidence) == ("a", outcome, SOURCE.evidence)
    assert "\x1b" not in verdict.reason and passed("a", "b\nc").reason == rejected("a", "b\nc").reason == "b\nc"


def test_a_step_without_evidence_has_an_empty_one():
    for verdict in (passed("a", "b"), rejected("a", "b"), skipped("a", "b"), StepVerdict("a", StepOutcome.PASSED, "b")):
        assert verdict.evidence == StepEvidence() and verdict.reason == "b"
    why = "an earlier step rejected the candidate"
    assert (skipped("a").outcome, skipped("a").reason) == (StepOutcome.SKIPPED, why)
    assert skipped("a", "b", SOURCE.evidence).evidence is SOURCE.evidence


def test_a_mismatch_contains_only_the_evidence_that_it_has():
    where = DifferenceSection(parameter="out", address="0x10", stored_bytes=4, element="out[1]")
    assert Mismatch("no").evidence == {}
    assert Mismatch("no", where, "shuffled").evidence == {"difference": where, "case": "shuffled"}
    assert Mismatch("no", stores=where).evidence == {"parameter": "out", "address": "0x10", "stored_bytes": 4}
    assert Mismatch("no", where, "zeros", where).evidence.keys() == {
        "difference",
        "case",
        "parameter",
        "address",
        "stored_bytes",
    }
