"""The first lines of a report, word for word, on both sides of each condition."""

from __future__ import annotations

import types

import pytest

from rocm_perf_lab.report.dag_schema import DagDocument, IdleSection
from rocm_perf_lab.report.schema import (
    BottleneckSection,
    FindingSection,
    HeadroomSection,
    KernelAnalysis,
    ModelErrorSection,
    SamplingSection,
)
from rocm_perf_lab.report.terminal_answer import answer, kernel_of_interest
from rocm_perf_lab.report.thread_trace_schema import LineGain, StackPart, ThreadTraceSection, TimeStackSection
from rocm_perf_lab.text.names import KernelNames


def cause(name="latency-bound", by="counters", certainty="high", score=0.9, **others) -> BottleneckSection:
    given = dict(factors=[], undecided={}, why="it waits", advice=["a", "b", "c"], on_full_device=None) | others
    given["factors"] = [FindingSection.model_construct(name=one) for one in given["factors"]]
    return BottleneckSection.model_construct(name=name, by=by, certainty=certainty, score=score, **given)


def headroom(program_speedup=None, binding=None, by="counters", reason=None) -> HeadroomSection:
    reasons = {"program_speedup": reason} if reason else {}
    return HeadroomSection.model_construct(program_speedup=program_speedup, binding=binding, by=by, reasons=reasons)


def kernel(**changed) -> KernelAnalysis:
    given = dict(kernel="void sum<float>(float*)", critical_path_score=0.25, bottleneck=cause(), headroom=headroom())
    given |= dict(thread_trace=None, model_error=None, sampling=None)
    return KernelAnalysis.model_construct(**(given | changed))


def dag(**changed) -> DagDocument:
    return DagDocument.model_construct(**(dict(critical_path_ns=2_000_000, speedup_ceiling=None, idle=[]) | changed))


def said(one: KernelAnalysis, of: DagDocument | None = None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for label, text in answer(of or dag(), one, KernelNames([one.kernel])):
        found.setdefault(label, []).append(text)
    return found


def test_the_lines_that_every_report_has():
    assert said(kernel()) == {
        "Kernel": ["sum<float>, 25.0 % of the critical path of 2 ms"],
        "Cause": ["latency-bound (certain)"],
        "Gain": ["not known: the path is not known"],
        "Try": ["a", "b"],
    }
    for of, score in ((dag(critical_path_ns=None), 0.25), (dag(), None)):
        assert said(kernel(critical_path_score=score), of)["Kernel"] == ["sum<float>"]


@pytest.mark.parametrize(
    "found, words",
    [
        (cause(certainty="medium", factors=["small-grid", "scratch"]), "latency-bound (likely); small-grid, scratch"),
        (cause("unknown", certainty="low", score=None), "unknown (it waits)"),
        (cause("unknown", score=None, undecided={"a": "no X", "b": "no X", "c": "no Y"}), "unknown (no X; no Y)"),
        (cause("unknown", score=None, why="x" * 101), f"unknown ({'x' * 97}...)"),
        (cause("barriers", "experiments", "low"), "barriers (uncertain, by experiment)"),
        (
            cause(
                "small-grid", "experiments", on_full_device="uncoalesced",
                factors=["small-grid", "uncoalesced-access", "scratch", "partial-waves"],
            ),
            "small-grid (certain, by experiment); uncoalesced on a grid that fills the device; scratch, partial-waves",
        ),
        (cause("bank-conflicts", "experiments", factors=["lds-bank-conflicts"]), "bank-conflicts (certain, by experiment)"),
    ],
)  # fmt: skip
def test_the_cause(found, words):
    assert said(kernel(bottleneck=found))["Cause"] == [words]


@pytest.mark.parametrize(
    "found, of, words",
    [
        (headroom(1.5, "HBM"), dag(), "at most 1.50x for the GPU's span, with this kernel at its ceiling (HBM)"),
        (
            headroom(1.5, "launch", "experiments"), dag(),
            "at most 1.50x for the GPU's span, without this kernel's losses (launch remains)",
        ),
        (headroom(), dag(speedup_ceiling=1.25), "at most 1.25x for the GPU's span, if this kernel took no time"),
        (headroom(reason="no counters"), dag(), "not known: no counters"),
    ],
)  # fmt: skip
def test_the_gain(found, of, words):
    assert said(kernel(headroom=found), of)["Gain"] == [words]


def trace(stack: TimeStackSection | None = None, waited: str | None = None) -> ThreadTraceSection:
    line = types.SimpleNamespace(source=waited) if waited else None
    return ThreadTraceSection.model_construct(time_stack=stack, waited_for=line)


def stack(parts=(), lines=()) -> TimeStackSection:
    return TimeStackSection.model_construct(duration_ns=1000, parts=[*parts], lines=[*lines])


def test_the_line_and_what_time_is_spent_on():
    lines = [LineGain(source="a.hip:7", gain_ns=250, by_cause_ns={}), LineGain(source="a.hip:9", gain_ns=200, by_cause_ns={})]
    parts = [StackPart(name="a", spent_on="waiting", ns=500.0, share=0.5, first_ns=1, last_ns=1)]
    found = said(kernel(thread_trace=trace(stack(parts, lines), "b.hip:1")))
    assert found["Line"] == ["a.hip:7: without it 25.0 % less time"] and found["Spent"] == ["50.0 % on waiting"]
    for without in (trace(stack(), "b.hip:1"), trace(None, "b.hip:1")):
        found = said(kernel(thread_trace=without))
        assert found["Line"] == ["b.hip:1: waves wait longest for its accesses"] and "Spent" not in found
    assert "Line" not in said(kernel(thread_trace=trace()))


def idle(agent: int, fraction: float, **by_cause: int) -> IdleSection:
    return IdleSection.model_construct(agent=agent, fraction=fraction, by_cause_ns=by_cause)


@pytest.mark.parametrize(
    "gpus, words",
    [
        ([idle(1, 0.49, host=5)], None),
        (
            [idle(1, 0.5, host=1_000, copy=3_000)],
            "the GPU ran no kernel for 50.0 % of its span: 3 us of it waiting for copies",
        ),
        (
            [idle(1, 0.5, host=1_000), idle(2, 0.75, host=2_000), idle(3, 0.1, host=1)],
            "GPU agent 2 ran no kernel for 75.0 % of its span: 2 us of it waiting for the host to launch; "
            "1 other GPU mostly waited as well",
        ),
        (
            [idle(1, 0.9, latency=1_000), idle(2, 0.75, host=2_000), idle(3, 0.6, host=1)],
            "GPU agent 1 ran no kernel for 90.0 % of its span: 1 us of it waiting for launch and start-up; "
            "2 other GPUs mostly waited as well",
        ),
    ],
)
def test_a_gpu_that_mostly_waits(gpus, words):
    assert said(kernel(), dag(idle=gpus)).get("But") == ([words] if words else None)


def test_how_far_the_time_may_be_off():
    found = said(
        kernel(
            model_error=ModelErrorSection(limit="latency", within=0.2, times=9, programs=3),
            sampling=SamplingSection(dispatches=1, time_error=0.03, counter_errors={"a": 0.1, "b": 0.1}),
        )
    )
    assert found["Time"] == ["modelled; measured times of such kernels were within ±20.0 % (4 of 5)"]
    assert found["Sample"] == [
        "observed only in part: its time is within ±3.0 % of what full observation would give; "
        "2 counters are estimates, with errors in analysis.json"
    ]


def test_the_kernel_of_interest_is_the_programs_own_with_most_time_on_the_path():
    def symbol(name: str, ns: int, kind: str = "kernel"):
        return types.SimpleNamespace(kernel=name, kind=kind, critical_path_ns=ns)

    def chosen(*symbols) -> str:
        analysis = types.SimpleNamespace(kernels=[kernel(kernel=name) for name in ("first", "second")])
        profile = types.SimpleNamespace(kernel=types.SimpleNamespace(name="first"))
        documents = types.SimpleNamespace(analysis=analysis, dag=types.SimpleNamespace(symbols=symbols), profile=profile)
        return kernel_of_interest(documents).kernel

    assert chosen(symbol("copy", 9, "copy"), symbol("second", 5), symbol("first", 3)) == "second"
    assert chosen(symbol("not reported", 9), symbol("second", 5)) == "second"
    assert chosen(symbol("second", 0), symbol("first", 3)) == "first"
    assert chosen() == chosen(symbol("second", 0)) == chosen(symbol("second", 9, "copy")) == "first"
