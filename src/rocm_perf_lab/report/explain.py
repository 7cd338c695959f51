"""Explains the terms used in reports, and shows the numbers behind a run's verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console

from rocm_perf_lab.analysis.explanation import Term, terms
from rocm_perf_lab.analysis.thread_trace.time_stack import meanings as causes
from rocm_perf_lab.report.explain_document import JudgedBy, KernelExplanation, OtherCause, TermSection
from rocm_perf_lab.report.schema import BottleneckSection, KernelAnalysis, SignalSection
from rocm_perf_lab.report.terminal_paragraphs import labelled, say
from rocm_perf_lab.report.terminal_time_stack import render_stack
from rocm_perf_lab.text import quantities

_CERTAINTY_WORDS = {"high": "certain", "medium": "likely", "low": "uncertain"}


def term_section(term: Term) -> TermSection:
    judged_by = [
        JudgedBy(
            name=signal.name, direction=signal.direction, threshold=signal.threshold, full=signal.full, why=signal.why,
            source=signal.source, rationale=signal.rationale,
        )
        for signal in term.signals
    ]  # fmt: skip
    return TermSection(
        name=term.name, kind=term.kind, meaning=term.meaning, applies=term.applies, judged_by=judged_by,
        advice=list(term.advice), source=term.source,
    )  # fmt: skip


def kernel_explanation(kernel: KernelAnalysis) -> KernelExplanation:
    bottleneck = kernel.bottleneck
    other_causes = [
        OtherCause(
            name=scored.name, score=scored.score, missing=bottleneck.undecided.get(scored.name), evidence=list(scored.signals)
        )
        for scored in bottleneck.classes
        if scored.name != bottleneck.name and bottleneck.by == "counters"
    ]
    traced = kernel.thread_trace.waited_for if kernel.thread_trace is not None else None
    return KernelExplanation(
        kernel=kernel.kernel,
        cause=bottleneck.name,
        by=bottleneck.by,
        certainty=bottleneck.certainty,
        why=bottleneck.why,
        meaning=_meaning(bottleneck),
        evidence=list(bottleneck.evidence),
        factors=list(bottleneck.factors),
        others=other_causes,
        advice=list(bottleneck.advice),
        time_stack=kernel.thread_trace.time_stack if kernel.thread_trace is not None else None,
        waits_for_line=traced.source if traced is not None else None,
    )


def _meaning(bottleneck: BottleneckSection) -> str | None:
    if bottleneck.by == "experiments" and bottleneck.name in causes():
        return f"time that is spent on {causes()[bottleneck.name].spent_on}"
    return terms()[bottleneck.name].meaning if bottleneck.name in terms() else None


# ---- as text ----


def render_overview(all_terms: Iterable[Term], console: Console) -> None:
    """One line per term."""
    titles = {"class": "Classes", "factor": "Factors that explain a class or contribute to it", "number": "Numbers",
              "cause": "Causes that the software device distinguishes by experiment"}  # fmt: skip
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


def render_kernel(explanation: KernelExplanation, name: str, console: Console) -> None:
    say(console, f"{name}: {explanation.cause} ({_certainty_text(explanation)})", "bold", indent=0)
    if explanation.meaning:
        labelled(console, "Meaning", explanation.meaning)
    labelled(console, "Because", explanation.why)
    for signal in explanation.evidence:
        labelled(console, "", _compared(signal))
    if explanation.waits_for_line and not explanation.time_stack:
        labelled(console, "Line", f"{explanation.waits_for_line}: waves wait longest for its accesses")
    if explanation.time_stack:
        render_stack(explanation.time_stack, console, with_changes=explanation.by != "experiments")
    for factor in explanation.factors:
        numbers = ", ".join(quantities.evidence(item.name, item.value, item.unit) for item in factor.evidence)
        labelled(console, "Factor", f"{factor.name}: {factor.why} ({numbers})")
    for other in explanation.others:
        labelled(console, "Not", _other_cause_text(other))
    _advice(explanation.advice, console)


def _certainty_text(explanation: KernelExplanation) -> str:
    return (
        f"{_CERTAINTY_WORDS[explanation.certainty]}, by experiment"
        if explanation.by == "experiments"
        else _CERTAINTY_WORDS[explanation.certainty]
    )


def _compared(signal: SignalSection) -> str:
    sign = ">=" if signal.direction == "at least" else "<="
    return f"{quantities.evidence(signal.name, signal.value, signal.unit)} {sign} {signal.threshold:g} ({signal.rationale})"


def _other_cause_text(other: OtherCause) -> str:
    if other.missing:
        return f"{other.name}: could not be ruled out, {other.missing}"
    strongest = [item for item in other.evidence if item.value is not None]
    numbers = ", ".join(quantities.evidence(item.name, item.value, item.unit) for item in strongest[:3])
    score = "no score" if other.score is None else f"score {other.score:.2f} of 0.50"
    return f"{other.name}: {score} ({numbers})" if numbers else f"{other.name}: {score}"


def _advice(advice: Sequence[str], console: Console) -> None:
    for suggestion in advice:
        labelled(console, "Try", suggestion)
