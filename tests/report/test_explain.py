"""The explanation of a verdict, word for word."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rocm_perf_lab.analysis.explanation import terms
from rocm_perf_lab.analysis.thread_trace.time_stack import meanings
from rocm_perf_lab.report.explain import kernel_explanation, render_kernel
from rocm_perf_lab.report.schema import (
    BottleneckSection,
    ClassSection,
    EvidenceItem,
    FindingSection,
    KernelAnalysis,
    SignalSection,
)

LATENCY, OCCUPIED = "latency-bound", "under-occupied"


def signal(name: str, value: float | None, direction: str = "at least", threshold: float = 0.3) -> SignalSection:
    missing = {} if value is not None else {"value": "not collected", "holds": "not collected"}
    return SignalSection(
        name=name, value=value, unit="fraction", threshold=threshold, direction=direction, rationale="measured", counters=[],
        holds=None if value is None else True, reasons=missing,
    )  # fmt: skip


def one_class(name: str, score: float | None, *signals: SignalSection) -> ClassSection:
    return ClassSection.model_construct(name=name, score=score, signals=[*signals])


def verdict(name: str = LATENCY, by: str = "counters", certainty: str = "high", **others) -> BottleneckSection:
    given = dict(evidence=[], factors=[], advice=[], classes=[], undecided={}, why="it waits") | others
    return BottleneckSection.model_construct(name=name, by=by, certainty=certainty, **given)


def explained(found: BottleneckSection):
    return kernel_explanation(KernelAnalysis.model_construct(kernel="sum()", bottleneck=found, thread_trace=None))


def printed(found: BottleneckSection, **changed) -> list[str]:
    out = io.StringIO()
    render_kernel(explained(found).model_copy(update=changed), "sum()", Console(file=out, width=400))
    return [" ".join(line.split()) for line in out.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize(
    "name, by, meaning",
    [
        (LATENCY, "counters", terms()[LATENCY].meaning),
        ("memory-latency", "experiments", f"time that is spent on {meanings()['memory-latency'].spent_on}"),
        ("unknown", "counters", None),
        ("unknown", "experiments", None),
    ],
)
def test_what_a_cause_means(name, by, meaning):
    found = explained(verdict(name, by))
    assert (found.kernel, found.cause, found.by, found.meaning) == ("sum()", name, by, meaning)
    assert (f"Meaning {meaning}" in printed(verdict(name, by))) == (meaning is not None)


@pytest.mark.parametrize(
    "certainty, by, said",
    [("high", "counters", "certain"), ("medium", "experiments", "likely, by experiment"), ("low", "counters", "uncertain")],
)
def test_how_certain_it_is(certainty, by, said):
    assert printed(verdict(by=by, certainty=certainty))[0] == f"sum(): {LATENCY} ({said})"


def test_the_numbers_behind_it_and_the_evidence_for_other_causes():
    signals = [signal(f"number_{index}", index / 10) for index in range(5)]
    classes = [
        one_class(LATENCY, 0.9),
        one_class(OCCUPIED, 0.25, signals[0], signal("not known", None), *signals[1:]),
        one_class("divergence-limited", None, signals[1]),
        one_class("compute-throughput-limited", 0.0),
    ]
    waves = EvidenceItem.model_construct(name="waves", value=12.0, unit="waves")
    found = verdict(
        evidence=[signal("wait_fraction", 0.515), signal("busy_fraction", None, "at most", 0.25)],
        factors=[FindingSection(name="small-grid", why="it is small", evidence=[waves])],
        classes=classes,
        undecided={"divergence-limited": "SQ_INSTS_VALU is not collected"},
        advice=["more waves", "fewer waits"],
    )  # fmt: skip
    assert printed(found)[2:] == [
        "Because it waits",
        "wait fraction 51.5 % >= 0.3 (measured)",
        "busy fraction ? <= 0.25 (measured)",
        "Factor small-grid: it is small (waves 12)",
        f"Not {OCCUPIED}: score 0.25 of 0.50 (number 0 0.0 %, number 1 10.0 %, number 2 20.0 %)",
        "Not divergence-limited: could not be ruled out, SQ_INSTS_VALU is not collected",
        "Not compute-throughput-limited: score 0.00 of 0.50",
        "Try more waves",
        "Try fewer waits",
    ]
    assert explained(verdict("memory-latency", "experiments", classes=classes)).others == []
    assert [one.name for one in explained(found).others] == [one.name for one in classes[1:]]


def test_a_line_that_is_waited_for_is_named_without_experiments():
    assert "Line a.hip:7: waves wait longest for its accesses" in printed(verdict(), waits_for_line="a.hip:7")
    assert not any(line.startswith("Line") for line in printed(verdict()))
