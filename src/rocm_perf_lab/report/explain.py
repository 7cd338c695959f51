"""Explains the terms used in reports, and shows the numbers behind a run's verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from rocm_perf_lab.analysis.explanation import Term, terms
from rocm_perf_lab.analysis.thread_trace.time_stack import meanings as costs
from rocm_perf_lab.report.explain_document import JudgedBy, KernelExplanation, OtherCause, TermSection
from rocm_perf_lab.report.paragraphs import labelled, say
from rocm_perf_lab.report.schema import BottleneckSection, KernelAnalysis, SignalSection
from rocm_perf_lab.report.terminal_time_stack import render_stack
from rocm_perf_lab.text import words

_SURE = {"high": "certain", "medium": "likely", "low": "uncertain"}


def term_section(term: Term) -> TermSection:
    judged_by = [
        JudgedBy(
            name=one.name, direction=one.direction, threshold=one.threshold, full=one.full, why=one.why, source=one.source,
            rationale=one.rationale,
        )
        for one in term.signals
    ]  # fmt: skip
    return TermSection(
        name=term.name, kind=term.kind, meaning=term.meaning, applies=term.applies, judged_by=judged_by,
        advice=list(term.advice), source=term.source,
    )  # fmt: skip


def kernel_explanation(kernel: KernelAnalysis) -> KernelExplanation:
    found = kernel.bottleneck
    others = [
        OtherCause(name=one.name, score=one.score, missing=found.undecided.get(one.name), evidence=list(one.signals))
        for one in found.classes
        if one.name != found.name and found.by == "counters"
    ]
    traced = kernel.thread_trace.waited_for if kernel.thread_trace is not None else None
    return KernelExplanation(
        kernel=kernel.kernel,
        cause=found.name,
        by=found.by,
        certainty=found.certainty,
        why=found.why,
        meaning=_meaning(found),
        evidence=list(found.evidence),
        factors=list(found.factors),
        others=others,
        advice=list(found.advice),
        time_stack=kernel.thread_trace.time_stack if kernel.thread_trace is not None else None,
        waits_for_line=traced.source if traced is not None else None,
    )


def _meaning(found: BottleneckSection) -> str | None:
    if found.by == "experiments" and found.name in costs():
        return f"time that is spent on {costs()[found.name].costs}"
    return terms()[found.name].meaning if found.name in terms() else None


# ---- as text ----


def render_overview(all_terms: Iterable[Term], console: Console) -> None:
    """One line per term."""
    titles = {"cause": "Causes", "factor": "Factors that explain a cause or contribute to it", "number": "Numbers",
              "cost": "Costs that the software device distinguishes by experiment"}  # fmt: skip
    kind = None
    for term in all_terms:
        if term.kind != kind:
            kind = term.kind
            say(console, titles[kind], "bold", indent=0)
        say(console, f"- {term.name}: {term.meaning}")


def render_term(term: TermSection, console: Console) -> None:
    say(console, f"{term.name} ({term.kind})", "bold", indent=0)
    labelled(console, "Meaning", term.meaning)
    labelled(console, "Applies", f"if {term.applies}")
    for number in term.judged_by:
        labelled(console, "Number", f"{number.name} {number.direction} {number.threshold:g}: {number.why}")
        labelled(console, "", f"threshold: {number.source}; {number.rationale}")
    if term.source:
        labelled(console, "Source", term.source)
    _advice(term.advice, console)


def render_kernel(one: KernelExplanation, name: str, console: Console) -> None:
    say(console, f"{name}: {one.cause} ({_how(one)})", "bold", indent=0)
    if one.meaning:
        labelled(console, "Meaning", one.meaning)
    labelled(console, "Because", one.why)
    for signal in one.evidence:
        labelled(console, "", _compared(signal))
    if one.waits_for_line and not one.time_stack:
        labelled(console, "Line", f"{one.waits_for_line}: waves wait longest for its accesses")
    if one.time_stack:
        render_stack(one.time_stack, console, with_changes=one.by != "experiments")
    for factor in one.factors:
        numbers = ", ".join(words.evidence(item.name, item.value, item.unit) for item in factor.evidence)
        labelled(console, "Factor", f"{factor.name}: {factor.why} ({numbers})")
    for other in one.others:
        labelled(console, "Not", _other(other))
    _advice(one.advice, console)


def _how(one: KernelExplanation) -> str:
    return f"{_SURE[one.certainty]}, by experiment" if one.by == "experiments" else _SURE[one.certainty]


def _compared(signal: SignalSection) -> str:
    sign = ">=" if signal.direction == "at least" else "<="
    return f"{words.evidence(signal.name, signal.value, signal.unit)} {sign} {signal.threshold:g} ({signal.rationale})"


def _other(other: OtherCause) -> str:
    if other.missing:
        return f"{other.name}: could not be ruled out, {other.missing}"
    strongest = [item for item in other.evidence if item.value is not None]
    numbers = ", ".join(words.evidence(item.name, item.value, item.unit) for item in strongest[:3])
    score = "no score" if other.score is None else f"score {other.score:.2f} of 0.50"
    return f"{other.name}: {score} ({numbers})" if numbers else f"{other.name}: {score}"


def _advice(advice: Sequence[str], console: Console) -> None:
    for one in advice:
        labelled(console, "Try", one)
