"""The result of a search as one HTML file: the best configuration, times in order of evaluation, parameter effects, a table."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rocm_perf_lab import __version__
from rocm_perf_lab.autotune.autotune_document import AutotuneDocument, EvaluationSection
from rocm_perf_lab.autotune.findings import best_so_far
from rocm_perf_lab.autotune.results import TuningResult, document
from rocm_perf_lab.autotune.search_loop import best_of
from rocm_perf_lab.report.html.page_parts import assemble, file_text, texts

_HERE = "rocm_perf_lab.autotune"
_MODELLED = "MODELLED: no GPU ran this. Every time comes from the software device's timing model."


def page(result: TuningResult) -> str:
    """The text of the file."""
    found = document(result)
    best = best_of(result.evaluated)
    kind = best.outcome.kind if best else "measured"
    names = list(found.evaluations[0].configuration) if found.evaluations else []
    data = {
        "title": f"Tuning on {result.device}",
        "modelled": _MODELLED if best is not None and best.outcome.modelled else None,
        "best": _best(found),
        "best_ms": found.best.ms if found.best else None,
        "answer": [list(one) for one in _head(found, kind)],
        "progress": f"Time ({kind}) by order of evaluation",
        "names": names,
        "importance_note": _importance_note(found),
        "effects": _effects(found, names),
        "so_far": best_so_far(result.evaluated),
        "evaluations": [_evaluation(number, one) for number, one in enumerate(found.evaluations, start=1)],
        "made": f"Made by rocm-perf-lab {__version__}.",
    }
    data = texts(data)
    return assemble(data["title"], file_text("page.html", _HERE), data, [file_text("page.js", _HERE)], with_d3=True)


def _best(found: AutotuneDocument) -> str:
    if found.best is None or found.best.ms is None:
        return "No configuration ran"
    return f"{found.best.ms:.4g} ms with {_words(found.best)}"


def _words(one: EvaluationSection) -> str:
    return " ".join(f"{name}={value}" for name, value in one.configuration.items())


def _head(found: AutotuneDocument, kind: str) -> Iterator[tuple[str, str]]:
    of = "" if found.total is None else f" of {found.total:,}"
    yield (
        "Evaluated",
        (f"{found.evaluated:,}{of} configurations: {found.reused} reused, {found.failed} failed, {found.unstable} unstable"),
    )
    yield "Times", kind
    yield "Search", f"{found.strategy}, seed {found.seed}, at most {found.budget:,} evaluations"
    if found.speedup_over_default is not None:
        yield "Gain", f"{found.speedup_over_default:.2f}x faster than the defaults"
    if (sure := found.confidence) is not None:
        ahead = {True: "ahead of the next", False: "not distinguishable from the next", None: "no other ran"}
        yield (
            "Certain",
            (f"mean of its runs {sure.low_ms:.4g} to {sure.high_ms:.4g} ms with 95 % confidence; {ahead[sure.ahead_of_next]}"),
        )
    if (profile := found.profile) is not None:
        yield "Profile", f"{profile.kernel} is {profile.bottleneck}; see {profile.run_directory}"
    if found.fixed:
        yield "Fixed", " ".join(f"{name}={value}" for name, value in found.fixed.items())
    if found.model is not None and found.model.r2 is not None:
        yield "Model", f"R2 {found.model.r2:.2f} for configurations that it had not seen"
    if found.model is not None and found.model.warning:
        yield "Model", found.model.warning


def _importance_note(found: AutotuneDocument) -> str:
    if found.importance is None:
        return f"How much each parameter matters is not known: {found.reasons['importance']}."
    return (
        "Shares: how much worse decision trees predict the times if the parameter's values are shuffled. Bars: the median of "
        "the configurations with the value; the search did not sample them evenly."
    )


def _effects(found: AutotuneDocument, names: Sequence[str]) -> list[dict[str, Any]]:
    """For each parameter (most important first), the times measured with each of its values."""
    shares = found.importance or {}
    effects = [_effect(name, shares.get(name), found.evaluations) for name in names]
    return sorted((one for one in effects if len(one["values"]) > 1), key=lambda one: -one["share"])


def _effect(name: str, share: float | None, evaluations: Sequence[EvaluationSection]) -> dict[str, Any]:
    times: dict[Any, list[float]] = defaultdict(list)
    for one in evaluations:
        times[one.configuration[name]] += [one.ms] if one.ms is not None else []
    order = sorted(times, key=lambda value: (isinstance(value, str), value))
    values = [
        {
            "value": str(value),
            "count": len(times[value]),
            "best": min(times[value], default=None),
            "median": statistics.median(times[value]) if times[value] else None,
        }
        for value in order
    ]
    return {
        "title": name if share is None else f"{name}: {share:.0%} of what the parameters explain",
        "share": share or 0.0,
        "most": max((one["median"] for one in values if one["median"]), default=1.0),
        "values": values,
    }


def _evaluation(number: int, one: EvaluationSection) -> dict[str, Any]:
    return {
        "number": number,
        "values": one.configuration,
        "ms": one.ms,
        "cv": one.cv,
        "status": one.status,
        "unstable": one.unstable,
        "reason": one.reason or "",
    }
