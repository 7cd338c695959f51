"""Writes results in the open T4 format, which other tuners read."""

from __future__ import annotations

from datetime import datetime, timezone

from rocm_perf_lab.autotune.evaluation_outcome import BUILD_FAILED, OK, TIMEOUT, WRONG_OUTPUT
from rocm_perf_lab.autotune.recorded import MEASURED, MODELLED
from rocm_perf_lab.autotune.results import TuningResult

_INVALIDITY = {OK: "correct", BUILD_FAILED: "compile", TIMEOUT: "timeout", WRONG_OUTPUT: "correctness"}


def t4(result: TuningResult) -> dict[str, object]:
    """The results in version 1.0.0 of the format (github.com/odgaard/TuningSchema), which Kernel Tuner reads and writes."""
    now = datetime.now(timezone.utc).isoformat()
    timing = MODELLED if any(evaluation.outcome.modelled for evaluation in result.evaluated) else MEASURED
    return {
        "schema_version": "1.0.0",
        "metadata": {"timeunit": "milliseconds", "device": result.device, "timing": timing},
        "results": [
            {
                "timestamp": now,
                "configuration": evaluation.values,
                "times": {"runtimes": evaluation.outcome.runs},
                "invalidity": _INVALIDITY.get(evaluation.outcome.status, "runtime"),
                "correctness": int(evaluation.outcome.status == OK),
                "measurements": [{"name": "time", "value": evaluation.outcome.ms, "unit": "ms"}]
                if evaluation.outcome.ms
                else [],
                "objectives": ["time"],
            }
            for evaluation in result.evaluated
        ],
    }
