"""Step 5: the candidate is faster over all captures together, by the confidence interval, and not faster than possible.

It must be faster on inputs other than the captured ones too; otherwise it could recognise these and know their results.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab.cage import View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.gate.checked_replay import is_modelled, write_check
from rocm_perf_lab.gate.least_time import Work, least_milliseconds
from rocm_perf_lab.gate.statistics import Ratio, ratio_of_medians
from rocm_perf_lab.gate.verdict import StepVerdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import MEASUREMENT, MeasurementEvidence, OtherInputsSection, Timing
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replay import ReplayResult, replay
from rocm_perf_lab.replay.replay_document import CountedSection

STEP = MEASUREMENT
OUTWEIGHS = 0.10
"""The fraction of the kernel's time that a candidate must save to outweigh scratch, spills or lost occupancy."""


@dataclass(frozen=True)
class MeasurementOptions:
    """Settings of the measurement.

    min_improvement: the fraction of the baseline's time that must be saved at the slow end of the interval. rounds: number of
    turns that baseline and candidate take on a GPU, each with `iterations` runs from fresh memory and cold caches. view: what
    the cage shows to all replays.
    """

    min_improvement: float = 0.02
    rounds: int = 7
    iterations: int = 10
    confidence: float = 0.95
    seed: int = 0
    timeout: int = 120
    device: str = devices.AUTO
    view: View = View()


@dataclass(frozen=True)
class OtherInputs:
    """Inputs other than the captured ones.

    name: the name of the case. overlays: (address, content) each, written over the captured memory.
    """

    name: str
    overlays: tuple[tuple[int, bytes], ...]


def check_measurement(
    captures: Sequence[Capture],
    candidate: Path,
    changed_bytes: Sequence[int],
    options: MeasurementOptions = MeasurementOptions(),
    concern: str | None = None,
    others: OtherInputs | None = None,
    known: Known | None = None,
) -> StepVerdict:
    """Measure a candidate against the baseline.

    candidate: path of its code object. changed_bytes: number of bytes that the kernel changes in each capture, for the least
    time that it can take. concern: what its gain has to outweigh, None for nothing; see code_object_check.concern_of(). others:
    inputs for the first capture on which the baseline works, None if there are none; the smaller of the two gains counts.
    known: the baseline's modelled times from earlier candidates; new ones are added.
    """
    source: Timing = "modelled" if all(map(is_modelled, captures)) else "measured"
    cus = _timed_cus(options.seed) if source == "modelled" else ((),)
    try:
        known = {} if known is None else known
        taken = [_times(captures, candidate, options, cu, known) for cu in cus]
        if others is not None:
            taken.append(_times(captures[:1], candidate, options, cus[0], known, others))
    except ReplayFailedError as error:
        return rejected(STEP, f"it fails when it is measured: {error.what}", MeasurementEvidence(timing=source))
    ratios = [ratio_of_medians(one.baseline, one.candidate, options.confidence, options.seed) for one in taken]
    elsewhere = ratios.pop(1) if len(cus) > 1 else None
    ratio = min(ratios, key=lambda one: one.sure_improvement)
    least = sum(
        least_milliseconds(capture.target, Work.of(capture.dispatch["packet"], size, counts))
        for capture, size, counts in zip(captures, changed_bytes, taken[0].counted, strict=True)
    )
    evidence = MeasurementEvidence(
        least_ms=least,
        timing=source,
        baseline_ms=taken[0].baseline,
        candidate_ms=taken[0].candidate,
        ratio=ratio.value,
        ratio_interval=(ratio.low, ratio.high),
        ratio_on_captured_inputs=ratios[0].value,
        ratio_on_another_cu=elsewhere.value if elsewhere else None,
        other_inputs=None if others is None else _other_inputs(others, ratios[-1], taken[-1]),
        confidence=options.confidence,
        cold_caches=True,
    )
    if min(taken[0].candidate) < least:
        reason = f"{min(taken[0].candidate):.6f} ms is less than its work takes on any such device ({least:.6f} ms)"
        return rejected(STEP, reason, evidence)
    where = ""
    if others is not None and ratio is ratios[-1] and ratio.value != ratios[0].value:
        where = f" on other inputs ({others.name}; {in_words(ratios[0])} on the captured ones)"
    change = f"{in_words(ratio)}{where}, {source}"
    if elsewhere is not None and elsewhere.sure_improvement < 0:
        reason = f"{in_words(elsewhere)} on another compute unit than the first ({change} there)"
        return rejected(STEP, reason, evidence)
    if ratio.sure_improvement < options.min_improvement:
        return rejected(STEP, f"{change}: less than the {options.min_improvement:.1%} asked for", evidence)
    if concern is not None and ratio.sure_improvement < OUTWEIGHS:
        reason = f"{change}, and {concern}: that needs {OUTWEIGHS:.0%} of the time saved to outweigh it"
        return rejected(STEP, reason, evidence)
    return passed(STEP, change, evidence)


def _other_inputs(others: OtherInputs, ratio: Ratio, times: _Times) -> OtherInputsSection:
    return OtherInputsSection(
        case=others.name, ratio=ratio.value, baseline=times.baseline, candidate=times.candidate, counted=times.counted
    )


Known = dict[tuple[tuple[str, ...], str | None], list[ReplayResult]]
"""(device options, name of the inputs or None for the captured ones) -> one result per capture."""


@dataclass
class _Times:
    """Milliseconds of each round, summed over all dispatches. counted: for each dispatch, the counts of the candidate's last
    run.
    """

    baseline: list[float]
    candidate: list[float]
    counted: list[CountedSection | None]


def _timed_cus(seed: int) -> tuple[tuple[str, ...], ...]:
    """Device options for the timed runs. The timing model times one compute unit and adds the work of the others. A unit with
    few waves says less about the gain, but the candidate must not be slower there.
    """
    return (), (f"timed-cu={random.Random(seed).randrange(1, 1 << 16)}",)


def _times(
    captures: Sequence[Capture],
    candidate: Path,
    options: MeasurementOptions,
    device_options: tuple[str, ...],
    known: Known,
    others: OtherInputs | None = None,
) -> _Times:
    """Measure baseline and candidate. On the software device every run takes the same time, so one round of one run is enough,
    and the baseline is run once for all candidates.
    """
    modelled = all(map(is_modelled, captures))
    rounds, iterations = (1, 1) if modelled else (options.rounds, options.iterations)
    overlays = others.overlays if others is not None else ()

    def run(code: Path | None) -> list[ReplayResult]:
        return [_run(capture, code, iterations, options, overlays, device_options) for capture in captures]

    times = _Times([], [], [])
    for _ in range(rounds):
        inputs = (device_options, others.name if others else None)
        before = known[inputs] = known[inputs] if modelled and inputs in known else run(None)
        after = run(candidate)
        times.counted = [result.counted for result in after]
        times.baseline.append(sum(statistics.median(result.gpu_ms) for result in before))
        times.candidate.append(sum(statistics.median(result.gpu_ms) for result in after))
    return times


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


def _run(
    capture: Capture,
    code: Path | None,
    iterations: int,
    options: MeasurementOptions,
    overlays: Sequence[tuple[int, bytes]],
    device_options: tuple[str, ...],
) -> ReplayResult:
    return replay(
        capture,
        hsaco=code,
        overlays=overlays,
        iterations=iterations,
        flush_cache=True,
        timeout=options.timeout,
        device=options.device,
        view=options.view,
        device_options=(*device_options, *write_check(capture)),
    )
