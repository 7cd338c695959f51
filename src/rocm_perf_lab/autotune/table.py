"""The result of a search as human-readable lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rocm_perf_lab.autotune.evaluation_outcome import OK
from rocm_perf_lab.autotune.results import TuningResult, document
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration, best_of, timed_evaluations

if TYPE_CHECKING:
    from rocm_perf_lab.autotune.autotune_document import Confidence

_SHOWN_ROWS = 10


def table(result: TuningResult) -> list[str]:
    tuning = document(result)
    evaluated, best = result.evaluated, best_of(result.evaluated)
    of = "" if result.total is None else f" of {result.total}"
    lines = [f"{len(evaluated)}{of} configurations evaluated on {result.device}: {tuning.reused} reused, "
             f"{tuning.failed} failed, {tuning.unstable} unstable; {result.strategy}, seed {result.seed}"]  # fmt: skip
    failures = Counter(evaluation.outcome.status for evaluation in evaluated if evaluation.outcome.status != OK)
    lines += [f"  {count} {status}" for status, count in failures.most_common()]
    if best is not None:
        lines.append(f"best: {best.outcome.ms:.4g} ms ({best.outcome.kind}{_spread(best)}): {_words(best.values)}")
    if tuning.speedup_over_default is not None:
        lines.append(f"  {tuning.speedup_over_default:.2f}x faster than the defaults")
    if (sure := tuning.confidence) is not None:
        lines.append(f"  mean of its runs, 95 % interval: {sure.low_ms:.4g} to {sure.high_ms:.4g} ms; {_lead_in_words(sure)}")
    if (profile := result.profile) is not None:
        lines.append(f"  profile: {profile.kernel} is {profile.bottleneck}; see {profile.run_directory}")
    if (r2 := result.model.get("r2")) is not None:
        lines.append(f"model: R2 {r2:.2f}, residual {result.model['residual']:.3g}, for predictions of unseen configurations")
    if warning := result.model.get("warning"):
        lines.append(f"  {warning}")
    if tuning.importance:
        ranked = sorted(tuning.importance.items(), key=lambda item: -item[1])
        lines.append("importance: " + ", ".join(f"{name} {share:.0%}" for name, share in ranked))
    good = sorted(timed_evaluations(evaluated), key=lambda ran: ran[0])
    lines += ["        ms  configuration"] if good else []
    return lines + [f"{ms:10.4g}  {_words(evaluation.values)}{_spread(evaluation)}" for ms, evaluation in good[:_SHOWN_ROWS]]


def _lead_in_words(confidence: Confidence) -> str:
    if confidence.ahead_of_next is None:
        return "no other ran"
    return "ahead of the next" if confidence.ahead_of_next else "not distinguishable from the next"


def _words(values: dict[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _spread(evaluation: EvaluatedConfiguration) -> str:
    cv = evaluation.outcome.cv
    return "" if not cv else f", CV {cv:.1%}" + (", UNSTABLE" if evaluation.outcome.unstable else "")
