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

_PACKAGE = "rocm_perf_lab.autotune"
_MODELLED = "MODELLED: no GPU ran this. Every time comes from the software device's timing model."


def page(result: TuningResult) -> str:
    """The text of the file."""
    tuning = document(result)
    best = best_of(result.evaluated)
    kind = best.outcome.kind if best else "measured"
    names = list(tuning.evaluations[0].configuration) if tuning.evaluations else []
    data = {
        "title": f"Tuning on {result.device}",
        "modelled": _MODELLED if best is not None and best.outcome.modelled else None,
        "best": _best(tuning),
        "best_ms": tuning.best.ms if tuning.best else None,
        "answer": [list(line) for line in _head(tuning, kind)],
        "progress": f"Time ({kind}) by order of evaluation",
        "names": names,
        "importance_note": _importance_note(tuning),
        "effects": _effects(tuning, names),
        "so_far": best_so_far(result.evaluated),
        "evaluations": [_evaluation(number, evaluation) for number, evaluation in enumerate(tuning.evaluations, start=1)],
        "made": f"Made by rocm-perf-lab {__version__}.",
    }
    data = texts(data)
    return assemble(data["title"], file_text("page.html", _PACKAGE), data, [file_text("page.js", _PACKAGE)], with_d3=True)


def _best(tuning: AutotuneDocument) -> str:
    if tuning.best is None or tuning.best.ms is None:
        return "No configuration ran"
    return f"{tuning.best.ms:.4g} ms with {_words(tuning.best)}"


def _words(evaluation: EvaluationSection) -> str:
    return " ".join(f"{name}={value}" for name, value in evaluation.configuration.items())


def _head(tuning: AutotuneDocument, kind: str) -> Iterator[tuple[str, str]]:
    of = "" if tuning.total is None else f" of {tuning.total:,}"
    yield (
        "Evaluated",
        (
            f"{tuning.evaluated:,}{of} configurations: {tuning.reused} reused, {tuning.failed} failed, "
            f"{tuning.unstable} unstable"
        ),
    )
    yield "Times", kind
    yield "Search", f"{tuning.strategy}, seed {tuning.seed}, at most {tuning.budget:,} evaluations"
    if tuning.speedup_over_default is not None:
        yield "Gain", f"{tuning.speedup_over_default:.2f}x faster than the defaults"
    if (sure := tuning.confidence) is not None:
        ahead = {True: "ahead of the next", False: "not distinguishable from the next", None: "no other ran"}
        yield (
            "Certain",
            (f"mean of its runs {sure.low_ms:.4g} to {sure.high_ms:.4g} ms with 95 % confidence; {ahead[sure.ahead_of_next]}"),
        )
    if (profile := tuning.profile) is not None:
        yield "Profile", f"{profile.kernel} is {profile.bottleneck}; see {profile.run_directory}"
    if tuning.fixed:
        yield "Fixed", " ".join(f"{name}={value}" for name, value in tuning.fixed.items())
    if tuning.model is not None and tuning.model.r2 is not None:
        yield "Model", f"R2 {tuning.model.r2:.2f} for configurations that it had not seen"
    if tuning.model is not None and tuning.model.warning:
        yield "Model", tuning.model.warning


def _importance_note(tuning: AutotuneDocument) -> str:
    if tuning.importance is None:
        return f"How much each parameter matters is not known: {tuning.reasons['importance']}."
    return (
        "Shares: how much worse decision trees predict the times if the parameter's values are shuffled. Bars: the median of "
        "the configurations with the value; the search did not sample them evenly."
    )


def _effects(tuning: AutotuneDocument, names: Sequence[str]) -> list[dict[str, Any]]:
    """For each parameter (most important first), the times measured with each of its values."""
    shares = tuning.importance or {}
    effects = [_effect(name, shares.get(name), tuning.evaluations) for name in names]
    return sorted((effect for effect in effects if len(effect["values"]) > 1), key=lambda effect: -effect["share"])


def _effect(name: str, share: float | None, evaluations: Sequence[EvaluationSection]) -> dict[str, Any]:
    times: dict[Any, list[float]] = defaultdict(list)
    for evaluation in evaluations:
        times[evaluation.configuration[name]] += [evaluation.ms] if evaluation.ms is not None else []
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
        "most": max((entry["median"] for entry in values if entry["median"]), default=1.0),
        "values": values,
    }


def _evaluation(number: int, evaluation: EvaluationSection) -> dict[str, Any]:
    return {
        "number": number,
        "values": evaluation.configuration,
        "ms": evaluation.ms,
        "cv": evaluation.cv,
        "status": evaluation.status,
        "unstable": evaluation.unstable,
        "reason": evaluation.reason or "",
    }
