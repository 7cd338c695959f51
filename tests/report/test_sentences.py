"""Single sentences of the terminal report, word for word, on both sides of each condition."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rocm_perf_lab.report.dag_schema import DagDocument, IdleSection
from rocm_perf_lab.report.html.colors import kinds_of
from rocm_perf_lab.report.remedies import in_words
from rocm_perf_lab.report.schema import BottleneckSection, KernelAnalysis, ProfileDocument, RemedySection, StabilitySection
from rocm_perf_lab.report.terminal import _spread
from rocm_perf_lab.report.terminal_graph import render_idle
from rocm_perf_lab.report.terminal_next import first_advice, render_next
from rocm_perf_lab.report.terminal_short import _time

NOTHING = "no number stands out: make a thread trace to see where its waves spend their time"


def stability(runs: int, cv: float | None, kind: str | None) -> StabilitySection:
    return StabilitySection.model_construct(runs=runs, mean_ms=1.0, stddev_ms=cv, cv=cv, classification=kind)


def printed(render, *given) -> str:
    out = io.StringIO()
    render(*given, Console(file=out, width=400))
    return out.getvalue()


@pytest.mark.parametrize(
    "found, timing, words",
    [
        ((1, None, None), "modelled", " (one run, and modelled time is the same in every run)"),
        ((1, None, None), "measured", " (one run, so the spread is not known)"),
        ((3, 0.0, "stable"), "modelled", " (the same in all 3 runs, as modelled time should be)"),
        ((3, 0.0, "stable"), "measured", ", the median of 3 runs (spread 0.0 % of the mean: stable)"),
        ((3, 0.03, "stable"), "modelled", ", the median of 3 runs (spread 3.0 % of the mean: stable)"),
        ((9, 0.07, "moderate"), "measured", ", the median of 9 runs (spread 7.0 % of the mean: moderate)"),
        (
            (9, 0.2, "unstable"),
            "measured",
            ", the median of 9 runs (spread 20.0 % of the mean: unstable; unstable: do not compare with it)",
        ),
    ],
)
def test_how_much_runs_vary(found, timing, words):
    assert _spread(stability(*found), timing) == words


@pytest.mark.parametrize(
    "runtime, cv, words",
    [
        (None, None, ": the time in kernels is not known (no times)"),
        (2.5, None, ", 2.5 ms in kernels"),
        (2.5, 0.0, ", 2.5 ms in kernels"),
        (2.5, 0.07, ", 2.5 ms in kernels (moderate: ± 7.0 % in 9 runs)"),
    ],
)
def test_the_time_in_kernels(runtime, cv, words):
    profile = ProfileDocument.model_construct(
        runtime_ms=runtime, reasons={"runtime_ms": "no times"}, stability=stability(9, cv, "moderate" if cv else None)
    )
    assert _time(profile) == words


def idle(agent: int, ns: int, **causes: int) -> IdleSection:
    return IdleSection(agent=agent, span_ns=1000, idle_ns=ns, fraction=ns / 1000, gaps=1, by_cause_ns=causes, longest=[])


def test_when_a_gpu_ran_no_kernel():
    busy = idle(1, 0, host=0)
    one = DagDocument.model_construct(idle=[idle(0, 250, host=50, copy=200, latency=0)])
    (line,) = printed(render_idle, one).splitlines()
    assert line.strip().startswith("The GPU ran no kernel for 250 ns (25.0 %), waiting 200 ns ") and line.count(" ns ") == 3
    assert printed(render_idle, DagDocument.model_construct(idle=[busy])) == ""
    two = DagDocument.model_construct(idle=[busy, idle(2, 500)])
    assert printed(render_idle, two).strip() == "GPU agent 2 ran no kernel for 500 ns (50.0 %)."


def kernel(advice: list[str], undecided: dict[str, str]) -> KernelAnalysis:
    bottleneck = BottleneckSection.model_construct(advice=advice, undecided=undecided)
    return KernelAnalysis.model_construct(bottleneck=bottleneck)


@pytest.mark.parametrize(
    "advice, undecided, first, every",
    [
        (["a", "b", "c"], {}, ["a", "b"], ["a", "b", "c"]),
        (["a"], {"memory-bound": "counters"}, ["a"], ["a"]),
        ([], {}, [NOTHING], [NOTHING]),
        (
            [],
            {"memory-bound": "counters"},
            ["collect the missing counters: the end of the full report says how"],
            ["collect the missing counters: without them, no cause can be identified (profile without --no-roofline)"],
        ),
    ],
)
def test_what_to_try_next(advice, undecided, first, every):
    found, profile = kernel(advice, undecided), ProfileDocument.model_construct(timing="modelled")
    assert first_advice(found, 2) == first
    assert [line.strip() for line in printed(render_next, profile, found).splitlines() if "- " in line] == [
        f"- {line}" for line in every
    ]


def test_colours_are_the_same_in_every_run_and_different_within_one():
    names = [f"kernel_{number}" for number in range(40)]
    kinds = kinds_of(names)
    assert len(set(kinds[name] for name in sorted(names)[:35])) == 35 == len(set(kinds.values()))
    assert sorted(kinds[name] for name in sorted(names)[:7]) == list(range(7))  # plain ones are used first
    for name in names:
        # crc32 modulo 7, as long as no other name has that colour.
        alone = kinds_of([name])
        assert alone == kinds_of([name, name]) and alone[name] < 7
    assert kinds_of(["a"]) == {"a": 0xE8B7BE43 % 7} and kinds_of(reversed(names)) == kinds


@pytest.mark.parametrize(
    "line, low, high, program, rest",
    [
        (None, None, None, None, ", 30.0 % less time by the model"),
        ("a.hip:7", None, None, 0.25, ", mostly at a.hip:7, 30.0 % less time by the model, 25.0 % less for the program"),
        (None, 0.1, 0.5, None, ", 30.0 % less time by the model (in 4 of 5 cases 10.0 % to 50.0 %)"),
        (None, -0.05, -0.0001, None, ", 30.0 % less time by the model (in 4 of 5 cases -5.0 % to 0.0 %)"),
    ],
)
def test_what_a_change_would_gain(line, low, high, program, rest):
    one = RemedySection.model_construct(
        change="pad",
        cause="bank conflicts",
        gain=0.3,
        line=line,
        gain_at_least=low,
        gain_at_most=high,
        program_gain=program,
    )
    assert in_words(one) == f"pad: without bank conflicts{rest}"
