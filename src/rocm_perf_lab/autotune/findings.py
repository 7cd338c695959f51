"""What a search reveals besides the winner: how certain the winner is, and which parameters matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.autotune.autotune_document import Confidence
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration, timed_evaluations
from rocm_perf_lab.extras import absent_modules, how_to_install
from rocm_perf_lab.statistics.student import t_quantile

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Floats

_MIN_CONFIGURATIONS = 10  # configurations that must have run before importance is estimated
_TREES, _SHUFFLES, _SEED = 50, 3, 0
_MIN_TIME = 1e-9


def confidence_of(evaluated: Sequence[EvaluatedConfiguration]) -> tuple[Confidence, None] | tuple[None, str]:
    """(the best configuration's confidence interval, None), or (None, the reason why there is no interval).

    It is Student's t interval for the mean of that configuration's runs.
    """
    good = [evaluation for _, evaluation in sorted(timed_evaluations(evaluated), key=lambda timed: timed[0])]
    if not good:
        return None, "no configuration ran"
    if good[0].outcome.modelled:
        return None, "modelled times do not vary"
    own, next_best = _interval(good[0].outcome.runs), _interval(good[1].outcome.runs) if len(good) > 1 else None
    if own is None:
        return None, "one run does not show how much times vary: see --runs"
    return Confidence(low_ms=own[0], high_ms=own[1], ahead_of_next=own[1] < next_best[0] if next_best else None), None


def importance_of(evaluated: Sequence[EvaluatedConfiguration]) -> tuple[dict[str, float], None] | tuple[None, str]:
    """({parameter: share}, None), or (None, the reason why there are no shares).

    A parameter's share is how much worse an ensemble of trees predicts the logarithm of the time once that parameter's values
    are shuffled (Breiman 2001), as a fraction of the sum over all parameters. It describes only the configurations that ran,
    which do not sample the space evenly.
    """
    good = timed_evaluations(evaluated)
    if len(good) < _MIN_CONFIGURATIONS:
        return None, f"fewer than {_MIN_CONFIGURATIONS} configurations ran"
    names = list(good[0][1].values)
    times = np.log([max(ms, _MIN_TIME) for ms, _ in good])
    columns = [_value_ranks([evaluation.values[name] for _, evaluation in good]) for name in names]
    if np.ptp(times) == 0:
        return None, "all configurations took the same time"
    if absent_modules("autotune"):
        return None, f"finding the parameters that matter requires scikit-learn: {how_to_install('autotune')}"
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.inspection import permutation_importance

    points = np.stack(columns, axis=1)
    trees = ExtraTreesRegressor(_TREES, random_state=_SEED).fit(points, times)
    drops = permutation_importance(trees, points, times, n_repeats=_SHUFFLES, random_state=_SEED).importances_mean
    drops = np.maximum(drops, 0.0)
    total = float(drops.sum())
    if total == 0:
        return None, "no parameter explains the times"
    return {name: float(drop) / total for name, drop in zip(names, drops, strict=True)}, None


def best_so_far(evaluated: Sequence[EvaluatedConfiguration]) -> list[float | None]:
    """The best time in ms after each evaluation; None until a configuration has run."""
    best_times: list[float | None] = []
    for evaluation in evaluated:
        last = best_times[-1] if best_times else None
        times = [time for time in (last, evaluation.outcome.ms) if time is not None]
        best_times.append(min(times, default=None))
    return best_times


def _interval(runs: Sequence[float]) -> tuple[float, float] | None:
    if len(runs) < 2:
        return None
    mean, half = float(np.mean(runs)), float(t_quantile(0.975, len(runs) - 1) * np.std(runs, ddof=1) / len(runs) ** 0.5)
    return mean - half, mean + half


def _value_ranks(values: list[object]) -> Floats:
    """Each value's position among the sorted distinct values; text comes after numbers."""
    order = {
        value: position for position, value in enumerate(sorted(set(values), key=lambda value: (isinstance(value, str), value)))
    }
    return np.array([order[value] for value in values], float)
