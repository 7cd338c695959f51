"""Step 5: the candidate is faster, surely, on every capture together, and not faster than it can be."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replay import ReplayResult, replay

from .checked_replay import is_modelled, write_check
from .least_time import Work, least_milliseconds
from .statistics import Ratio, ratio_of_medians
from .verdict import MEASUREMENT, StepVerdict, passed, rejected

STEP = MEASUREMENT
OUTWEIGHS = 0.10
"""The part of a kernel's time that a candidate has to save for its scratch, spills or lost occupancy not to count."""


@dataclass(frozen=True)
class MeasurementOptions:
    """min_improvement: the part of the baseline's time that must be saved at the slow end of the interval.

    rounds: how often baseline and candidate take turns, each with `iterations` runs from fresh memory and cold caches. The
    software device gives the same time each time: two rounds show that. view: of the cage that all replays run in.
    """

    min_improvement: float = 0.02
    rounds: int = 7
    iterations: int = 10
    confidence: float = 0.95
    seed: int = 0
    timeout: int = 120
    device: str = devices.AUTO
    view: View = View()


def check_measurement(
    captures: Sequence[Capture],
    candidate: Path,
    changed_bytes: Sequence[int],
    options: MeasurementOptions = MeasurementOptions(),
    concern: str | None = None,
) -> StepVerdict:
    """candidate: its code object. changed_bytes: what the kernel writes in each capture, for the least time it can take.
    concern: what its gain has to outweigh, None for nothing; see code_object_check.concern_of()."""
    times: dict[str, list[float]] = {"baseline": [], "candidate": []}
    counted: list[dict | None] = []  # of the candidate's runs, a capture each
    modelled = all(map(is_modelled, captures))
    rounds, iterations = (2, 1) if modelled else (options.rounds, options.iterations)
    source = "modelled" if modelled else "measured"
    try:
        for _ in range(rounds):
            for name, code in (("baseline", None), ("candidate", candidate)):
                results = [_run(capture, code, iterations, options) for capture in captures]
                counted = [result.counted for result in results]
                times[name].append(sum(statistics.median(result.gpu_ms) for result in results))
    except ReplayFailedError as error:
        return rejected(STEP, f"it fails when it is measured: {error.what}", timing=source)
    ratio = ratio_of_medians(times["baseline"], times["candidate"], options.confidence, options.seed)
    evidence = {
        "timing": source,
        "baseline_ms": times["baseline"],
        "candidate_ms": times["candidate"],
        "ratio": ratio.value,
        "ratio_interval": [ratio.low, ratio.high],
        "confidence": options.confidence,
        "cold_caches": True,
    }
    least = sum(
        least_milliseconds(capture.target, Work.of(capture.dispatch["packet"], size, counts))
        for capture, size, counts in zip(captures, changed_bytes, counted, strict=True)
    )
    if min(times["candidate"]) < least:
        reason = f"{min(times['candidate']):.6f} ms is less than its work takes on any such device ({least:.6f} ms)"
        return rejected(STEP, reason, least_ms=least, **evidence)
    change = f"{in_words(ratio)}, {source}"
    if ratio.sure_improvement < options.min_improvement:
        return rejected(STEP, f"{change}: less than the {options.min_improvement:.1%} asked for", least_ms=least, **evidence)
    if concern is not None and ratio.sure_improvement < OUTWEIGHS:
        reason = f"{change}, and {concern}: that needs {OUTWEIGHS:.0%} of the time saved to outweigh it"
        return rejected(STEP, reason, least_ms=least, **evidence)
    return passed(STEP, change, least_ms=least, **evidence)


def in_words(ratio: Ratio) -> str:
    """What is saved or lost, with its interval where that is more than a point."""
    saved = ratio.improvement >= 0
    ends = sorted(abs(1 - end) for end in (ratio.low, ratio.high))
    text = f"{abs(ratio.improvement):.2%} of the kernel's time saved" if saved else f"{-ratio.improvement:.2%} slower"
    if ratio.low == ratio.high:
        return text
    if ratio.low < 1 < ratio.high:
        return f"{text} (from {1 - ratio.low:.2%} saved to {ratio.high - 1:.2%} slower)"
    return f"{text} ({ends[0]:.2%} to {ends[1]:.2%})"


def _run(capture: Capture, code: Path | None, iterations: int, options: MeasurementOptions) -> ReplayResult:
    return replay(
        capture,
        hsaco=code,
        iterations=iterations,
        flush_cache=True,
        timeout=options.timeout,
        device=options.device,
        view=options.view,
        device_options=write_check(capture),
    )
