"""What a search found, and the JSON document of it."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.autotune.findings import confidence_of, importance_of
from rocm_perf_lab.autotune.outcome import OK
from rocm_perf_lab.autotune.tune import Evaluated, best_of


@dataclass(frozen=True)
class Result:
    """total: valid configurations, None where they were not counted. model: Strategy.model().

    unlaunchable: what fulfils the constraints, but could not be launched and is not in `total`; None where not counted.
    profile: of the best, as best_profile() summarises it; None where none was asked for.
    """

    strategy: str
    seed: int
    budget: int
    device: str
    total: int | None
    evaluated: list[Evaluated]
    model: dict[str, object]
    fixed: dict[str, object]
    defaults: dict[str, object] | None = None
    unlaunchable: int | None = None
    profile: dict[str, object] | None = None


def document(result: Result) -> dict[str, object]:
    """Times in ms. Whatever is missing is null and named in `reasons`."""
    best = best_of(result.evaluated)
    reasons = {}
    if result.total is None:
        reasons["total"] = "too many configurations to count"
    default = next((one for one in result.evaluated if one.values == result.defaults), None)
    speedup = None
    if default is None or best is None or default.outcome.ms is None:
        reasons["speedup_over_default"] = "the configuration of all defaults was not measured"
    else:
        speedup = default.outcome.ms / best.outcome.ms
    importance, why_not = importance_of(result.evaluated)
    if importance is None:
        reasons["importance"] = why_not
    confidence, why_not = confidence_of(result.evaluated)
    if confidence is None:
        reasons["confidence"] = why_not
    if result.profile is None:
        reasons["profile"] = "not asked for: see --profile"
    if result.unlaunchable is None:
        reasons["unlaunchable"] = "not counted"
    if not result.model:
        reasons["model"] = f"the strategy {result.strategy} has none, or had nothing to fit it to"
    return {
        "strategy": result.strategy,
        "seed": result.seed,
        "budget": result.budget,
        "device": result.device,
        "evaluated": len(result.evaluated),
        "reused": sum(one.reused for one in result.evaluated),
        "failed": sum(one.outcome.status != OK for one in result.evaluated),
        "unstable": sum(one.outcome.unstable for one in result.evaluated),
        "total": result.total,
        "unlaunchable": result.unlaunchable,
        "best": _row(best) if best else None,
        "confidence": confidence,
        "profile": result.profile,
        "speedup_over_default": speedup,
        "model": result.model or None,
        "importance": importance,
        "fixed": result.fixed,
        "evaluations": [_row(one) for one in result.evaluated],
        "reasons": reasons,
    }


def _row(one: Evaluated) -> dict[str, object]:
    outcome = one.outcome
    return {
        "configuration": one.values,
        "status": outcome.status,
        "reason": outcome.reason,
        "ms": outcome.ms,
        "cv": outcome.cv,
        "runs": outcome.runs,
        "measure": outcome.measure,
        "modelled": outcome.modelled,
        "unstable": outcome.unstable,
        "resources": outcome.resources or None,
        "reused": one.reused,
    }
