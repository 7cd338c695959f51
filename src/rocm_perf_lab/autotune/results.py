"""What a search found: as a JSON document, a table, the T4 results format and a file with the winner."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from rocm_perf_lab.autotune.destinations import write_text
from rocm_perf_lab.autotune.findings import confidence_of, importance_of
from rocm_perf_lab.autotune.outcome import BUILD_FAILED, OK, TIMEOUT, WRONG_OUTPUT
from rocm_perf_lab.autotune.tune import Evaluated, best_of

_SHOWN_ROWS = 10
_INVALIDITY = {OK: "correct", BUILD_FAILED: "compile", TIMEOUT: "timeout", WRONG_OUTPUT: "correctness"}


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


def t4(result: Result) -> dict[str, object]:
    """The open autotuning results format 1.0.0 (github.com/odgaard/TuningSchema), which Kernel Tuner reads and writes."""
    now = datetime.now(timezone.utc).isoformat()
    return {
        "schema_version": "1.0.0",
        "metadata": {"timeunit": "milliseconds", "device": result.device},
        "results": [
            {
                "timestamp": now,
                "configuration": one.values,
                "times": {"runtimes": one.outcome.runs},
                "invalidity": _INVALIDITY.get(one.outcome.status, "runtime"),
                "correctness": int(one.outcome.status == OK),
                "measurements": [{"name": "time", "value": one.outcome.ms, "unit": "ms"}] if one.outcome.ms else [],
                "objectives": ["time"],
            }
            for one in result.evaluated
        ],
    }


def table(result: Result) -> list[str]:
    """Lines for people."""
    found = document(result)
    evaluated, best = result.evaluated, best_of(result.evaluated)
    of = "" if result.total is None else f" of {result.total}"
    lines = [f"{len(evaluated)}{of} configurations evaluated on {result.device}: {found['reused']} reused, "
             f"{found['failed']} failed, {found['unstable']} unstable; {result.strategy}, seed {result.seed}"]  # fmt: skip
    failures = Counter(one.outcome.status for one in evaluated if one.outcome.status != OK)
    lines += [f"  {count} {status}" for status, count in failures.most_common()]
    if best is not None:
        kind = "modelled" if best.outcome.modelled else f"measured, {best.outcome.measure} time"
        lines.append(f"best: {best.outcome.ms:.4g} ms ({kind}{_spread(best)}): {_words(best.values)}")
    if found["speedup_over_default"] is not None:
        lines.append(f"  {found['speedup_over_default']:.2f}x faster than the defaults")
    if (sure := found["confidence"]) is not None:
        lines.append(f"  mean of its runs, 95 % interval: {sure['low_ms']:.4g} to {sure['high_ms']:.4g} ms; {_lead(sure)}")
    if (profile := result.profile) is not None:
        lines.append(f"  profile: {profile['kernel']} is {profile['bottleneck']}; see {profile['run_directory']}")
    if (r2 := result.model.get("r2")) is not None:
        lines.append(f"model: R2 {r2:.2f}, residual {result.model['residual']:.3g}, of predictions for configurations unseen")
    if warning := result.model.get("warning"):
        lines.append(f"  {warning}")
    if found["importance"]:
        ranked = sorted(found["importance"].items(), key=lambda item: -item[1])
        lines.append("importance: " + ", ".join(f"{name} {share:.0%}" for name, share in ranked))
    good = sorted((one for one in evaluated if one.outcome.status == OK), key=lambda one: one.outcome.ms)
    lines += ["        ms  configuration"] if good else []
    return lines + [f"{one.outcome.ms:10.4g}  {_words(one.values)}{_spread(one)}" for one in good[:_SHOWN_ROWS]]


def _lead(confidence: dict[str, object]) -> str:
    if confidence["ahead_of_next"] is None:
        return "no other ran"
    return "ahead of the next" if confidence["ahead_of_next"] else "not distinguishable from the next"


def _words(values: dict[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _spread(one: Evaluated) -> str:
    cv = one.outcome.cv
    return "" if not cv else f", CV {cv:.1%}" + (", UNSTABLE" if one.outcome.unstable else "")


def write_json(path: Path, content: object) -> None:
    """Whole or not at all. Raises OutputError."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")
