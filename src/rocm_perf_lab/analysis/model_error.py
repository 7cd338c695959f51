"""How far modelled times were from recorded ones, for kernels like a given one and for differences between variants.

The figures are in arch/timing_errors.toml. The errors for each limit come from benchmarks/calibration.py: each recorded program
was modelled with parameters that had been fitted to the others. The errors for differences come from benchmarks/variants.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from rocm_perf_lab.analysis import user_model_errors
from rocm_perf_lab.analysis.thread_trace.time_stack import TimeStack, meanings
from rocm_perf_lab.arch.timing_parameters import UNCALIBRATED_TARGETS, table_hash, timing_parameters
from rocm_perf_lab.toml import tomllib

LAUNCH, LATENCY, BANDWIDTH, EXECUTION = "launch", "latency", "bandwidth", "execution"

_OTHER_PARAMETERS = "it was modelled with timing parameters other than those whose error is known"
UNCALIBRATED = "the timing model of this GPU is not calibrated: none of its parameters was fitted to recorded times"
_MIN_TIMES = 10  # with fewer recorded times, an error is not worth stating
_LAUNCH_SHARE = 0.4  # a fixed overhead of at least this share of a dispatch's time is considered to determine it
_BY_CAUSE = {"memory-bandwidth": BANDWIDTH, "l2-bandwidth": BANDWIDTH, "matrix-issue": EXECUTION, "vector-issue": EXECUTION}
_BY_BOTTLENECK = {"latency-bound": LATENCY, "under-occupied": LATENCY, "memory-bandwidth-bound": BANDWIDTH}


@dataclass(frozen=True)
class TimingDeviation:
    """within: four in five recorded times differed from the model's by at most this fraction. times, programs: how many of each
    were compared.
    """

    limit: str
    within: float
    times: int
    programs: int


def dominant_limit(mean_ns: float, bottleneck: str) -> str:
    """What mostly determines a kernel's time: the fixed cost of a dispatch if large, else what its bottleneck class implies."""
    if timing_parameters()["launch_overhead_ns"]["value"] >= _LAUNCH_SHARE * mean_ns:
        return LAUNCH
    return _BY_BOTTLENECK.get(bottleneck, EXECUTION)


def model_error(mean_ns: float, bottleneck: str, parameters: str | None) -> TimingDeviation | str:
    """The error for kernels with the same dominant limit, or the reason why it is not known. mean_ns: mean per dispatch.
    parameters: the trace's name for its timing parameters (see table_hash).
    """
    return model_error_by_limit(dominant_limit(mean_ns, bottleneck), parameters)


def model_error_by_limit(limit: str, parameters: str | None) -> TimingDeviation | str:
    """Like model_error(), for a known dominant limit."""
    return _why_unknown(parameters) or model_error_of(limit)


def _why_unknown(parameters: str | None) -> str | None:
    if parameters == table_hash():
        return None
    return UNCALIBRATED if parameters in [table_hash(target) for target in UNCALIBRATED_TARGETS] else _OTHER_PARAMETERS


def model_error_of(limit: str) -> TimingDeviation | str:
    """The error for kernels with this dominant limit, modelled with the table's parameters, or why it is not known."""
    entry = _table()["limit"].get(limit)
    if entry is None or entry["times"] < _MIN_TIMES:
        few = "none" if entry is None else f"only {entry['times']}"
        return f"{few} of the recorded times are limited by {limit}: too few to say"
    return TimingDeviation(limit, entry["within"], entry["times"], entry["programs"])


def limit_of_stack(stack: TimeStack) -> str:
    """What mostly determines the time of a dispatch whose time stack is known."""
    if not stack.parts:
        return EXECUTION
    parts = {part.cause: part.ns for part in stack.parts}
    if parts.get("launch", 0) >= _LAUNCH_SHARE * stack.duration_ns:
        return LAUNCH
    return _BY_CAUSE.get(max(parts, key=lambda cause: parts[cause]), EXECUTION if _mostly_work(stack) else LATENCY)


def _mostly_work(stack: TimeStack) -> bool:
    known = meanings()
    work = sum(part.ns for part in stack.parts if part.cause in known and known[part.cause].is_work)
    return 2 * work >= stack.duration_ns


def error_for_differences(parameters: str | None) -> float | str:
    """By what fraction the ratio of two variants' modelled times may be off, or the reason why it is not known. Once there are
    enough measurements from the user's own GPUs, they replace the package's table. Raises OutputError if the user's table is
    damaged.
    """
    own = user_model_errors.error_for(parameters)
    if own is not None:
        return own
    return _why_unknown(parameters) or float(_table()["differences"]["within"])


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    return tomllib.loads(files("rocm_perf_lab.arch").joinpath("timing_errors.toml").read_text(encoding="utf-8"))
