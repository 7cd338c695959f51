"""What the terms in a verdict mean: classes, factors, and the numbers by which they are judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rocm_perf_lab.analysis.bottleneck import CLASSES, SIGNALS_OF
from rocm_perf_lab.analysis.bottleneck_thresholds import Factor, Signal, factors, meanings, signals
from rocm_perf_lab.analysis.thread_trace.time_stack import CauseMeaning
from rocm_perf_lab.analysis.thread_trace.time_stack import meanings as causes


@dataclass(frozen=True)
class Term:
    """kind: 'class', 'factor', 'number' or 'cause' (a part of a time stack). signals: the numbers by which it is judged.
    source: where a factor's threshold, or a cause, comes from.
    """

    name: str
    kind: str
    meaning: str
    applies: str
    advice: tuple[str, ...]
    signals: tuple[Signal, ...] = ()
    source: str | None = None


def terms() -> dict[str, Term]:
    """All terms, by name: classes first, then factors, numbers and causes. A factor can share its name with a cause; the term
    is then both.
    """
    all_terms = [*map(_class, CLASSES), *map(_factor, factors()), *map(_number, signals().values())]
    named = {term.name: term for term in all_terms}
    return named | {
        name: _combine(named[name], meaning) if name in named else _cause(meaning) for name, meaning in causes().items()
    }


def _class(name: str) -> Term:
    judged_by = tuple(signals()[signal] for signal in SIGNALS_OF[name])
    meaning = meanings()[name]
    return Term(
        name,
        "class",
        meaning.meaning,
        meaning.applies,
        _once(line for signal in judged_by for line in signal.advice),
        judged_by,
    )


def _factor(factor: Factor) -> Term:
    sign, limit = ("above", factor.above) if factor.above is not None else ("below", factor.below)
    applies = f"{factor.evidence} is {sign} {limit:g}"
    return Term(factor.name, "factor", factor.why, applies, factor.advice, source=factor.source)


def _number(signal: Signal) -> Term:
    classes = [name for name in CLASSES if signal.name in SIGNALS_OF[name]]
    applies = f"it is {signal.direction} {signal.threshold:g}, which points to {' and '.join(classes)}"
    return Term(signal.name, "number", signal.why, applies, signal.advice, (signal,))


def _cause(meaning: CauseMeaning) -> Term:
    applies = f"the kernel takes less time where {meaning.without}"
    return Term(
        meaning.name, "cause", f"time that is spent on {meaning.spent_on}", applies, (meaning.change,), source=meaning.source
    )


def _combine(factor: Term, meaning: CauseMeaning) -> Term:
    cause = _cause(meaning)
    return replace(
        factor,
        applies=f"{factor.applies}; by experiments, {cause.applies}",
        advice=_once((*factor.advice, *cause.advice)),
        source=f"{factor.source}; {cause.source}",
    )


def _once(advice: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(advice))
