"""Times baseline and candidate on the same dispatches, in several settings."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.cage import View
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.gate.software_device_options import is_modelled, memory_check
from rocm_perf_lab.hip_source.integer_expression import NoValueError
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import Case, CaseOutcome, LaunchConfiguration, replay, replay_cases
from rocm_perf_lab.replaying.replay_document import CountedSection


@dataclass(frozen=True)
class OtherInputs:
    """Inputs other than the captured ones.

    name: the name of the case. overlays: (address, content) pairs, which are written over the captured memory.
    """

    name: str
    overlays: tuple[tuple[int, bytes], ...]


@dataclass(frozen=True)
class TimingSetting:
    """How dispatches are timed.

    dispatches: how many of the captured dispatches are timed, starting with the first. device_options: options for the software
    device. other_inputs: the inputs to use instead; None for the captured inputs.
    """

    dispatches: int
    device_options: tuple[str, ...] = ()
    other_inputs: OtherInputs | None = None

    @property
    def overlays(self) -> tuple[tuple[int, bytes], ...]:
        return () if self.other_inputs is None else self.other_inputs.overlays


@dataclass(frozen=True)
class ReplayOptions:
    """How replays are run.

    rounds: how many times baseline and candidate take turns on a GPU, each turn consisting of `iterations` runs. timeout:
    seconds for one dispatch. view: what the cage shows.
    """

    rounds: int
    iterations: int
    timeout: int
    device: str
    view: View


@dataclass(frozen=True)
class DispatchTime:
    """The timing of one dispatch. ms: median of the turn. counted: the software device's counts for the last run."""

    ms: float
    counted: CountedSection | None


KnownTimes = dict[TimingSetting, list[DispatchTime]]
"""Modelled times of one code: for each setting, one entry per dispatch."""


@dataclass(frozen=True)
class CodePair:
    """The two pieces of code that are timed against each other. known_baseline, known_candidate: their modelled times from
    earlier calls; new times are added. The baseline's times are reused for all candidates.
    """

    baseline: ReplayableCode
    candidate: ReplayableCode
    known_baseline: KnownTimes = field(default_factory=dict)
    known_candidate: KnownTimes = field(default_factory=dict)


@dataclass
class ReplayTimes:
    """The time of each round in milliseconds, summed over all dispatches. counted: for each dispatch, the counts of the
    candidate's last run.
    """

    baseline: list[float] = field(default_factory=list)
    candidate: list[float] = field(default_factory=list)
    counted: list[CountedSection | None] = field(default_factory=list)


def times(
    captures: Sequence[Capture], codes: CodePair, settings: Sequence[TimingSetting], replays: ReplayOptions
) -> list[ReplayTimes]:
    """Time baseline and candidate alternately; one result per setting.

    On the software device every run takes the same time, so one round of one run is enough, and no run is needed if the time is
    already known. Raises ReplayFailedError.
    """
    modelled = all(map(is_modelled, captures))
    timings = [ReplayTimes() for _ in settings]
    for _ in range(1 if modelled else replays.rounds):
        before = _times_of(codes.baseline, codes.known_baseline if modelled else {}, captures, settings, replays)
        after = _times_of(codes.candidate, codes.known_candidate if modelled else {}, captures, settings, replays)
        for timing, setting in zip(timings, settings, strict=True):
            timing.baseline.append(sum(dispatch.ms for dispatch in before[setting]))
            timing.candidate.append(sum(dispatch.ms for dispatch in after[setting]))
            timing.counted = [dispatch.counted for dispatch in after[setting]]
    return timings


def _times_of(
    code: ReplayableCode,
    known: KnownTimes,
    captures: Sequence[Capture],
    settings: Sequence[TimingSetting],
    replays: ReplayOptions,
) -> KnownTimes:
    missing = [setting for setting in settings if setting not in known]
    if missing:
        known.update(zip(missing, _time_round(captures, code, missing, replays), strict=True))
    return known


def _time_round(
    captures: Sequence[Capture], code: ReplayableCode, settings: Sequence[TimingSetting], replays: ReplayOptions
) -> list[list[DispatchTime]]:
    """For each setting, the time that each dispatch takes with this code."""
    by_setting: list[list[DispatchTime]] = [[] for _ in settings]
    for number, capture in enumerate(captures):
        used = [index for index, setting in enumerate(settings) if number < setting.dispatches]
        run = _modelled_times if is_modelled(capture) else _measured_times
        for index, timed in zip(used, run(capture, code, [settings[index] for index in used], replays), strict=True):
            by_setting[index].append(timed)
    return by_setting


def _modelled_times(
    capture: Capture, code: ReplayableCode, settings: Sequence[TimingSetting], replays: ReplayOptions
) -> list[DispatchTime]:
    cases = [
        Case(setting.overlays, device_options=setting.device_options, flush_cache=True, dump=False) for setting in settings
    ]
    with tempfile.TemporaryDirectory(prefix="rocm-perf-gate-") as folder:

        def run(runnable: Sequence[Case]) -> list[CaseOutcome]:
            return replay_cases(
                capture,
                runnable,
                Path(folder),
                hsaco=code.file,
                timeout=replays.timeout,
                device=replays.device,
                device_options=memory_check(capture),
                view=replays.view,
            )

        outcomes = code.replay(capture, cases, run, Path(folder))
    return [_dispatch_time(capture, outcome.gpu_ms, outcome.counted, outcome.failure) for outcome in outcomes]


def _dispatch_time(capture: Capture, ms: float | None, counted: CountedSection | None, failure: str | None) -> DispatchTime:
    if ms is None:
        reason = (failure or "it was not timed").removeprefix(f"{capture.path}: ")
        raise ReplayFailedError(reason, "see docs/REPLAY.md")
    return DispatchTime(ms, counted)


def _measured_times(
    capture: Capture, code: ReplayableCode, settings: Sequence[TimingSetting], replays: ReplayOptions
) -> list[DispatchTime]:
    """Each setting is timed in a process of its own, over `iterations` runs with fresh memory and cold caches."""
    results = [
        replay(
            capture,
            hsaco=code.file,
            launch=_launch(code, capture, setting),
            overlays=setting.overlays,
            iterations=replays.iterations,
            flush_cache=True,
            timeout=replays.timeout,
            device=replays.device,
            view=replays.view,
        )
        for setting in settings
    ]
    return [DispatchTime(statistics.median(result.gpu_ms), result.counted) for result in results]


def _launch(code: ReplayableCode, capture: Capture, setting: TimingSetting) -> LaunchConfiguration | None:
    try:
        return code.launch(capture, setting.overlays)
    except NoValueError as error:
        raise ReplayFailedError(f"it cannot be launched: {error}", "see docs/REPLAY.md") from error
