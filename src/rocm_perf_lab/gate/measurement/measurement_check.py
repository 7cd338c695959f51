"""Step 5: checks that the candidate is faster over all captures combined, even at the slow end of the confidence interval, but
not impossibly fast.

It must also be faster on inputs other than the captured ones; otherwise it could recognise the captured inputs and return
results that it already knows.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.gate.measurement.minimum_time import DispatchWork, min_milliseconds
from rocm_perf_lab.gate.measurement.speedup_interval import Ratio, ratio_of_medians
from rocm_perf_lab.gate.measurement.timed_replays import CodePair, OtherInputs, ReplayOptions, ReplayTimes, TimingSetting, times
from rocm_perf_lab.gate.software_device_options import is_modelled
from rocm_perf_lab.gate.verdict import StepVerdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import MEASUREMENT, MeasurementEvidence, OtherInputsSection, Timing
from rocm_perf_lab.isolate import Capture

STEP = MEASUREMENT
OUTWEIGHING_GAIN = 0.10
"""The fraction of the kernel's time that a candidate must save to outweigh scratch, spills or lost occupancy."""


@dataclass(frozen=True)
class MeasurementOptions:
    """Settings of the measurement.

    min_improvement: the fraction of the baseline's time that must be saved at the slow end of the interval. rounds: how many
    times baseline and candidate take turns on a GPU, each turn consisting of `iterations` runs with fresh memory and cold
    caches. view: what the cage shows to all replays.
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
    codes: CodePair,
    changed_bytes: Sequence[int],
    options: MeasurementOptions = MeasurementOptions(),
    concern: str | None = None,
    others: Sequence[OtherInputs] = (),
) -> StepVerdict:
    """Measure a candidate against the baseline.

    changed_bytes: number of bytes that the kernel changes in each capture, for the lower bound on its time. concern: a
    disadvantage that its gain has to outweigh, or None; see code_object_check.concern_of(). others: further inputs for the
    first capture, all of which the baseline can handle; the smallest of all gains decides.
    """
    source: Timing = "modelled" if all(map(is_modelled, captures)) else "measured"
    cus = _timed_cus(options.seed) if source == "modelled" else ((),)
    settings = [TimingSetting(len(captures), cu) for cu in cus] + [TimingSetting(1, cus[0], other) for other in others]
    try:
        timings = times(captures, codes, settings, _replays(options))
    except ReplayFailedError as error:
        return rejected(STEP, f"it fails while it is measured: {error.problem}", MeasurementEvidence(timing=source))
    ratios = [ratio_of_medians(timing.baseline, timing.candidate, options.confidence, options.seed) for timing in timings]
    elsewhere = ratios.pop(1) if len(cus) > 1 else None
    ratio = min(ratios, key=lambda measured: measured.sure_improvement)
    of_others = list(zip(others, ratios[1:], timings[len(cus) :], strict=True))
    worst = min(of_others, key=lambda measured: measured[1].sure_improvement, default=None)
    min_ms = sum(
        min_milliseconds(capture.target, DispatchWork.of(codes.candidate.packet(capture), size, counts))
        for capture, size, counts in zip(captures, changed_bytes, timings[0].counted, strict=True)
    )
    evidence = MeasurementEvidence(
        least_ms=min_ms,
        timing=source,
        baseline_ms=timings[0].baseline,
        candidate_ms=timings[0].candidate,
        ratio=ratio.value,
        ratio_interval=(ratio.low, ratio.high),
        ratio_on_captured_inputs=ratios[0].value,
        ratio_on_another_cu=elsewhere.value if elsewhere else None,
        other_inputs=None if worst is None else _other_inputs(*worst),
        confidence=options.confidence,
        cold_caches=True,
    )
    if min(timings[0].candidate) < min_ms:
        reason = f"{min(timings[0].candidate):.6f} ms is less than its work takes on any such device ({min_ms:.6f} ms)"
        return rejected(STEP, reason, evidence)
    where = ""
    if worst is not None and ratio is worst[1] and ratio.value != ratios[0].value:
        where = f" on other inputs ({worst[0].name}; {in_words(ratios[0])} on the captured ones)"
    change = f"{in_words(ratio)}{where}, {source}"
    if elsewhere is not None and elsewhere.sure_improvement < 0:
        reason = f"{in_words(elsewhere)} on a compute unit other than the first (on the first: {change})"
        return rejected(STEP, reason, evidence)
    if ratio.sure_improvement < options.min_improvement:
        return rejected(STEP, _too_little_saved(change, options), evidence)
    if concern is not None and ratio.sure_improvement < OUTWEIGHING_GAIN:
        reason = f"{change}, and {concern}: at least {OUTWEIGHING_GAIN:.0%} of the time must be saved to make up for it"
        return rejected(STEP, reason, evidence)
    return passed(STEP, change, evidence)


def time_on_captured_inputs(
    captures: Sequence[Capture], codes: CodePair, options: MeasurementOptions
) -> MeasurementEvidence | None:
    """The modelled times for the captured inputs only.

    None on a GPU, where a few runs would be inconclusive, and many would be no cheaper than the whole step; also None for a
    candidate that fails, since the full comparison will report why.
    """
    if not all(map(is_modelled, captures)):
        return None
    try:
        (timing,) = times(captures, codes, [TimingSetting(len(captures))], _replays(options))
    except ReplayFailedError:
        return None
    ratio = ratio_of_medians(timing.baseline, timing.candidate, options.confidence, options.seed)
    return MeasurementEvidence(
        timing="modelled",
        baseline_ms=timing.baseline,
        candidate_ms=timing.candidate,
        ratio=ratio.value,
        ratio_interval=(ratio.low, ratio.high),
        ratio_on_captured_inputs=ratio.value,
        confidence=options.confidence,
        cold_caches=True,
    )


def rejection_if_too_slow(captures: Sequence[Capture], codes: CodePair, options: MeasurementOptions) -> StepVerdict | None:
    """The verdict that rejects a candidate for saving too little time on the captured inputs alone; None otherwise."""
    first = time_on_captured_inputs(captures, codes, options)
    if first is None or first.ratio is None or 1 - first.ratio >= options.min_improvement:
        return None
    ratio = Ratio(first.ratio, *(first.ratio_interval or (first.ratio, first.ratio)), options.confidence)
    return rejected(STEP, _too_little_saved(f"{in_words(ratio)}, modelled", options), first)


def _too_little_saved(change: str, options: MeasurementOptions) -> str:
    return f"{change}: less than the required {options.min_improvement:.1%}"


def _replays(options: MeasurementOptions) -> ReplayOptions:
    return ReplayOptions(options.rounds, options.iterations, options.timeout, options.device, options.view)


def _other_inputs(inputs: OtherInputs, ratio: Ratio, timing: ReplayTimes) -> OtherInputsSection:
    return OtherInputsSection(
        case=inputs.name, ratio=ratio.value, baseline=timing.baseline, candidate=timing.candidate, counted=timing.counted
    )


def _timed_cus(seed: int) -> tuple[tuple[str, ...], ...]:
    """Device options for the timed runs: one set for the first compute unit and one for a random one. The timing model times
    one unit of each XCD and adds the work of the others. A unit with few waves shows less of the gain, but the candidate must
    not be slower there.
    """
    return (), (f"timed-cu={random.Random(seed).randrange(1, 1 << 16)}",)


def in_words(ratio: Ratio) -> str:
    """The time saved or lost, with its interval if that is not a single value."""
    saved = ratio.improvement >= 0
    ends = sorted(abs(1 - end) for end in (ratio.low, ratio.high))
    text = f"{abs(ratio.improvement):.2%} of the kernel's time saved" if saved else f"{-ratio.improvement:.2%} slower"
    if ratio.low == ratio.high:
        return text
    if ratio.low < 1 < ratio.high:
        return f"{text} (from {1 - ratio.low:.2%} saved to {ratio.high - 1:.2%} slower)"
    return f"{text} ({ends[0]:.2%} to {ends[1]:.2%})"
