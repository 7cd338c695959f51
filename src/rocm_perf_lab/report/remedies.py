"""Puts into words what the experiments suggest trying: the change, where to make it, and its predicted gain."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_perf_lab.analysis.time_stack_verdict import Remedy
from rocm_perf_lab.report.schema import RemedySection
from rocm_perf_lab.text.quantities import percent

NO_LINE = "no source line stands out, or lines are not known: compile with -g"
NO_PATH = "the critical path is not known"
NO_ERROR = "it was modelled with timing parameters other than those whose error is known"


def remedy_section(remedy: Remedy) -> RemedySection:
    reasons = {}
    if remedy.line is None:
        reasons["line"] = NO_LINE
    if remedy.program_gain is None:
        reasons["program_gain"] = NO_PATH
    if remedy.then_dominant is None:
        reasons["then_dominant"] = NO_PATH if remedy.program_gain is None else "no kernel of the program is on the path then"
    if remedy.gain_at_least is None:
        reasons |= {"gain_at_least": NO_ERROR, "gain_at_most": NO_ERROR}
    return RemedySection(
        cause=remedy.cause,
        change=remedy.change,
        line=remedy.line,
        gain=remedy.gain,
        gain_at_least=remedy.gain_at_least,
        gain_at_most=remedy.gain_at_most,
        program_gain=remedy.program_gain,
        then_dominant=remedy.then_dominant,
        reasons=reasons,
    )


def in_words(remedy: RemedySection) -> str:
    """The advice in one sentence, without a full stop."""
    where = f", mostly at {remedy.line}" if remedy.line else ""
    error = ""
    if remedy.gain_at_least is not None and remedy.gain_at_most is not None:
        error = f" (in 4 of 5 cases {percent(remedy.gain_at_least)} to {percent(remedy.gain_at_most)})"
    program = f", {percent(remedy.program_gain)} less for the program" if remedy.program_gain is not None else ""
    return f"{remedy.change}: without {remedy.cause}{where}, {percent(remedy.gain)} less time by the model{error}{program}"


def in_words_all(remedies: Iterable[RemedySection]) -> list[str]:
    return [in_words(remedy) for remedy in remedies]
