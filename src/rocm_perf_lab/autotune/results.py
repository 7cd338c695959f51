"""The result of a search, and its JSON document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocm_perf_lab.autotune.autotune_document import AutotuneDocument, BestProfile, EvaluationSection, ModelSection
from rocm_perf_lab.autotune.evaluation_outcome import OK
from rocm_perf_lab.autotune.findings import confidence_of, importance_of
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration, best_of

if TYPE_CHECKING:
    from rocm_perf_lab.autotune.strategies import ModelQuality


@dataclass(frozen=True)
class TuningResult:
    """total: the number of valid configurations, None if they were not counted. model: from Strategy.model().

    unlaunchable: how many more satisfy the constraints but cannot be launched; None if they were not counted.
    profile: the profile of the best configuration, as summarised by best_profile(); None if not requested.
    """

    strategy: str
    seed: int
    budget: int
    device: str
    total: int | None
    evaluated: list[EvaluatedConfiguration]
    model: ModelQuality
    fixed: Mapping[str, object]
    defaults: Mapping[str, object] | None = None
    unlaunchable: int | None = None
    profile: BestProfile | None = None


def document(result: TuningResult) -> AutotuneDocument:
    """The result as a document. Times are in ms. Missing values are null and explained in `reasons`."""
    best = best_of(result.evaluated)
    reasons = {}
    if result.total is None:
        reasons["total"] = "too many configurations to count"
    default = next((evaluation for evaluation in result.evaluated if evaluation.values == result.defaults), None)
    speedup = _speedup(default, best)
    if speedup is None:
        reasons["speedup_over_default"] = "the configuration with all defaults was not measured"
    importance = importance_of(result.evaluated)
    if importance[0] is None:
        reasons["importance"] = importance[1]
    confidence = confidence_of(result.evaluated)
    if confidence[0] is None:
        reasons["confidence"] = confidence[1]
    if result.profile is None:
        reasons["profile"] = "not requested: see --profile"
    if result.unlaunchable is None:
        reasons["unlaunchable"] = "not counted"
    if not result.model:
        reasons["model"] = f"the strategy {result.strategy} has no model, or had no data to fit one"
    return AutotuneDocument(
        strategy=result.strategy,
        seed=result.seed,
        budget=result.budget,
        device=result.device,
        evaluated=len(result.evaluated),
        reused=sum(evaluation.reused for evaluation in result.evaluated),
        failed=sum(evaluation.outcome.status != OK for evaluation in result.evaluated),
        unstable=sum(evaluation.outcome.unstable for evaluation in result.evaluated),
        total=result.total,
        unlaunchable=result.unlaunchable,
        best=_evaluation(best) if best else None,
        confidence=confidence[0],
        profile=result.profile,
        speedup_over_default=speedup,
        model=ModelSection.model_validate(result.model) if result.model else None,
        importance=importance[0],
        fixed=dict(result.fixed),
        evaluations=[_evaluation(evaluation) for evaluation in result.evaluated],
        reasons=reasons,
    )


def _speedup(default: EvaluatedConfiguration | None, best: EvaluatedConfiguration | None) -> float | None:
    if default is None or best is None or default.outcome.ms is None or best.outcome.ms is None:
        return None
    return default.outcome.ms / best.outcome.ms


def _evaluation(evaluation: EvaluatedConfiguration) -> EvaluationSection:
    outcome = evaluation.outcome
    return EvaluationSection(
        configuration=evaluation.values,
        status=outcome.status,
        reason=outcome.reason,
        ms=outcome.ms,
        cv=outcome.cv,
        runs=outcome.runs,
        measure=outcome.measure,
        modelled=outcome.modelled,
        unstable=outcome.unstable,
        resources=outcome.resources or None,
        reused=evaluation.reused,
    )
