"""Puts into words what the experiments suggest trying: the change, where to make it, and its predicted gain."""

from __future__ import annotations

from collections.abc import Iterable

from rocm_perf_lab.analysis.time_stack_verdict import Remedy
from rocm_perf_lab.report.schema import RemedySection
from rocm_perf_lab.text import words

NO_LINE = "no source line stands out, or lines are not known: compile with -g"
NO_PATH = "the critical path is not known"
NO_ERROR = "it was modelled with timing parameters other than those whose error is known"


def remedy_section(one: Remedy) -> RemedySection:
    reasons = {}
    if one.line is None:
        reasons["line"] = NO_LINE
    if one.program is None:
        reasons["program_gain"] = NO_PATH
    if one.then is None:
        reasons["then_dominant"] = NO_PATH if one.program is None else "no kernel of the program is on the path then"
    if one.low is None:
        reasons |= {"gain_at_least": NO_ERROR, "gain_at_most": NO_ERROR}
    return RemedySection(
        cause=one.cause,
        change=one.change,
        line=one.line,
        gain=one.gain,
        gain_at_least=one.low,
        gain_at_most=one.high,
        program_gain=one.program,
        then_dominant=one.then,
        reasons=reasons,
    )


def in_words(one: RemedySection) -> str:
    """The advice in one sentence, without a full stop."""
    place = f", mostly at {one.line}" if one.line else ""
    error = ""
    if one.gain_at_least is not None and one.gain_at_most is not None:
        error = f" (in 4 of 5 cases {words.percent(one.gain_at_least)} to {words.percent(one.gain_at_most)})"
    program = f", {words.percent(one.program_gain)} less for the program" if one.program_gain is not None else ""
    return f"{one.change}: without {one.cause}{place}, {words.percent(one.gain)} less time by the model{error}{program}"


def in_words_all(found: Iterable[RemedySection]) -> list[str]:
    return [in_words(one) for one in found]
