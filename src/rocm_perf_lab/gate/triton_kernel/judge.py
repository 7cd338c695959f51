"""The verdict: both scripts are followed from launch to launch, and each launch is judged on several sizes and inputs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect import triton
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.errors import CaptureError, NoKernelsError, SourceError, UnavailableError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.seeds import USUAL_ORDER
from rocm_perf_lab.gate.triton_kernel.cases import CAPTURED, Size, inputs_for, sizes, with_contents
from rocm_perf_lab.gate.triton_kernel.launching_script import Launched, LaunchingScript, launching
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch, on_memory_of
from rocm_perf_lab.gate.triton_kernel.repeated import Repeated, Repetition
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.results import ResultsDiffer, expect_same
from rocm_perf_lab.gate.verdict import StepVerdict, Verdict, passed, rejected, skipped
from rocm_perf_lab.gate.verdict_document import (
    APPLICATION,
    EQUIVALENCE,
    MEASUREMENT,
    ApplicationEvidence,
    CapturedLaunch,
    DifferenceSection,
    EquivalenceEvidence,
    MeasurementEvidence,
)
from rocm_perf_lab.triton_launches import Died, TookTooLong

LAUNCH = "launch"
STEPS = (LAUNCH, EQUIVALENCE, MEASUREMENT, APPLICATION)
_MOST_LAUNCHES = 4
_PATIENCE, _LEAST_SECONDS = 20, 120.0

Note = Callable[[str], None]


class _Rejected(Exception):
    def __init__(self, step: str, reason: str, difference: DifferenceSection | None = None, case: str | None = None):
        super().__init__(reason)
        self.step, self.reason, self.difference, self.case = step, reason, difference, case


@dataclass
class _Found:
    """What was learnt so far."""

    launches: list[CapturedLaunch] = field(default_factory=list)
    ms: list[tuple[float, float]] = field(default_factory=list)  # (baseline, candidate) of each launch as it was captured
    parameters: str | None = None


def judge(request: TritonGateRequest, note: Note) -> Verdict:
    """Judge the candidate's launches. Errors are those of the baseline and of the machine.

    Raises NoKernelsError, CaptureError if the baseline's launches cannot be repeated, NoCageError, UnavailableError.
    """
    with tempfile.TemporaryDirectory(prefix="rocm-perf-gate-") as name:
        scratch = Path(name)
        device = devices.select(request.device, scratch)
        if device.is_hardware or device.target != triton.TARGET:
            raise UnavailableError(
                f"launches of Triton are only repeated on the software {triton.TARGET}", f"use `--device {triton.TARGET}`"
            )
        return _Judgement(request, device, scratch, note).verdict()


class _Judgement:
    def __init__(self, request: TritonGateRequest, device: Device, scratch: Path, note: Note):
        self._request, self._device, self._scratch, self._note = request, device, scratch, note
        (files := scratch / "files").mkdir()
        self._files = files
        self._random = np.random.default_rng(request.seed)
        self._found = _Found()
        self._repetition = Repetition(request.device, request.view, files, scratch, _LEAST_SECONDS)

    def verdict(self) -> Verdict:
        try:
            status = self._follow()
            return Verdict((self._launched(), self._equivalent(), self._measured(), *self._application(status)))
        except _Rejected as why:
            return Verdict(tuple(self._step(step, why) for step in STEPS))

    def _step(self, step: str, why: _Rejected) -> StepVerdict:
        at, here = STEPS.index(why.step), STEPS.index(step)
        if here > at:
            return skipped(step)
        if here == at:
            evidence = self._evidence(why.difference, why.case) if step == EQUIVALENCE else None
            return rejected(step, why.reason, evidence)
        return {LAUNCH: self._launched, EQUIVALENCE: self._equivalent, MEASUREMENT: self._measured}[step]()

    # --- The two scripts ---------------------------------------------------------------------------------------------

    def _follow(self) -> tuple[int, int]:
        """The exit statuses of both scripts, after all launches have been judged."""
        request, scratch, seconds = self._request, self._scratch, self._request.timeout
        with launching(request.baseline, self._device, scratch, self._files, (), None, seconds) as baseline:
            ours = self._next_of_baseline(baseline)
            if isinstance(ours, int):
                what = f"{request.baseline.script} launches no kernel called {request.baseline.kernel} (status {ours})"
                raise NoKernelsError(what, "check the name, and that the script runs with `rocm-perf run`")
            key = tuple(ours.key)
            view = request.view
            with launching(request.candidate, self._device, scratch, self._files, key, view, seconds) as candidate:
                return self._follow_both(ours, baseline, candidate)

    def _follow_both(self, ours: Launched | int, baseline: LaunchingScript, candidate: LaunchingScript) -> tuple[int, int]:
        count = 0
        while not isinstance(ours, int):
            theirs = self._next_of_candidate(candidate, count)
            if isinstance(theirs, int):
                raise _Rejected(LAUNCH, f"it ends with status {theirs} and does not launch the kernel with {_words(ours.key)}")
            if theirs.key != ours.key:
                raise _Rejected(LAUNCH, f"it is launched with {_words(theirs.key)}, and the baseline with {_words(ours.key)}")
            if (name := _other_type(ours, theirs)) is not None:
                raise _Rejected(LAUNCH, f"{name} is {theirs.types[name]}, and {ours.types[name]} in the baseline")
            count += 1
            if count <= _MOST_LAUNCHES:
                self._judge_launch(ours, theirs, baseline, candidate)
            baseline.go_on()
            candidate.go_on()
            ours = self._next_of_baseline(baseline)
        theirs = self._next_of_candidate(candidate, count)
        if not isinstance(theirs, int):
            raise _Rejected(LAUNCH, f"it launches the kernel with {_words(theirs.key)}, which the baseline does not")
        return ours, theirs

    def _next_of_baseline(self, script: LaunchingScript) -> Launched | int:
        try:
            return script.next()
        except (Died, TookTooLong) as error:
            raise CaptureError(f"the baseline {error}", "make it run to its end with `rocm-perf run` first") from error

    def _next_of_candidate(self, script: LaunchingScript, count: int) -> Launched | int:
        try:
            return script.next()
        except (Died, TookTooLong, SourceError) as error:
            raise _Rejected(APPLICATION if count else LAUNCH, f"it {error}") from error

    # --- One launch --------------------------------------------------------------------------------------------------

    def _judge_launch(self, ours: Launched, theirs: Launched, baseline: LaunchingScript, candidate: LaunchingScript) -> None:
        numbers = {name: value for name, value in ours.numbers.items() if theirs.numbers.get(name) == value}
        self._note(f"judging {_words(ours.key)}")
        captured = self._recorded(baseline, Size("as launched", {}))
        section = CapturedLaunch(
            arguments=_words(ours.key), dispatch=len(self._found.launches), grid=_work_items(captured),
            workgroup=[captured.threads, 1, 1], cases={},
        )  # fmt: skip
        self._found.launches.append(section)
        for size in sizes(numbers, self._random):
            try:
                reference = self._recorded(baseline, size)
            except CaptureError:
                if not size.numbers:
                    raise
                section.cases[size.name] = "dropped: the baseline does not compile for it"
                continue
            self._judge_size(size, reference, self._from_candidate(candidate, size, reference), ours.types, section.cases)

    def _recorded(self, baseline: LaunchingScript, size: Size) -> RecordedLaunch:
        try:
            return baseline.record(size.numbers)
        except (Died, TookTooLong, SourceError) as error:
            raise CaptureError(f"the baseline's launch cannot be recorded: {error}", "run it with `rocm-perf run`") from error

    def _from_candidate(self, candidate: LaunchingScript, size: Size, reference: RecordedLaunch) -> RecordedLaunch:
        try:
            launch = on_memory_of(candidate.record(size.numbers), reference)
        except (Died, TookTooLong, SourceError) as error:
            raise _Rejected(LAUNCH, f"{size.name}: {error}") from error
        if isinstance(launch, str):
            raise _Rejected(LAUNCH, launch)
        return launch

    def _judge_size(
        self, size: Size, ours: RecordedLaunch, theirs: RecordedLaunch, types: dict[str, str], cases: dict[str, str]
    ) -> None:
        names = [f"{size.name}, {name}" for name in inputs_for(size)]
        filled = [with_contents(ours, make, types, self._files, self._random) for make in inputs_for(size).values()]
        candidates = [theirs.model_copy(update={"memories": one.memories}) for one in filled]
        expected = self._repetition.run(filled)
        if expected.failure is not None:
            if not size.numbers:
                raise CaptureError(f"the baseline itself fails when it is repeated: {expected.failure}", "mend it first")
            cases |= dict.fromkeys(names, f"dropped: the baseline itself fails: {expected.failure}")
            return
        found = self._repetition.run(candidates)
        self._compare(names, expected, found, ours, types, cases)
        self._look_for_races(names, filled, candidates, expected, ours, types, cases)
        if not size.numbers:
            at = list(inputs_for(size)).index(CAPTURED)
            self._found.ms.append((expected.ms[at], found.ms[at]))
            self._found.parameters = expected.parameters
        self._repetition.forget(expected)
        self._repetition.forget(found)

    def _compare(
        self, names: list[str], expected: Repeated, found: Repeated, ours: RecordedLaunch, types: dict[str, str],
        cases: dict[str, str],
    ) -> None:  # fmt: skip
        for number, name in enumerate(names):
            if number >= len(found.ms) or (found.failure is not None and number == len(names) - 1):
                cases[name] = "failed"
                raise _Rejected(EQUIVALENCE, f"{name}: {found.failure}", case=name)
            try:
                expect_same(expected.folder, found.folder, ours.memories, types, self._request.ulps, (number, number))
            except ResultsDiffer as apart:
                cases[name] = "differs"
                raise _Rejected(EQUIVALENCE, f"{name}: {apart.reason}", apart.section, name) from apart
            cases[name] = "equal"

    def _look_for_races(
        self, names: list[str], ours: list[RecordedLaunch], theirs: list[RecordedLaunch], expected: Repeated,
        reference: RecordedLaunch, types: dict[str, str], cases: dict[str, str],
    ) -> None:  # fmt: skip
        """Runs of the candidate in other orders, with other contents of registers and LDS, on the first and the last inputs."""
        chosen = sorted({0, len(names) - 1})
        orders = [seed for seed in seeds.orders(self._request.seed) if seed != USUAL_ORDER]
        values = seeds.initial_values(self._request.seed, len(orders))
        for order, initial in zip(orders, values, strict=True):
            options = (f"race-check={order}", f"{devices.INITIAL_VALUES}={initial}")
            found = self._repetition.run([theirs[at] for at in chosen], options)
            if found.races:
                before = self._repetition.run([ours[at] for at in chosen], options)
                if before.races:
                    continue  # nothing can be held against the candidate
                cases[names[0]] = "race"
                raise _Rejected(EQUIVALENCE, f"{names[0]}: {found.races[0]}", case=names[0])
            if found.failure is not None:
                raise _Rejected(EQUIVALENCE, f"{names[0]}, in another order: {found.failure}", case=names[0])
            for place, at in enumerate(chosen):
                try:
                    ulps = self._request.ulps
                    expect_same(expected.folder, found.folder, reference.memories, types, ulps, (at, place))
                except ResultsDiffer as apart:
                    cases[names[at]] = "differs"
                    reason = f"{names[at]}, in another order of waves: {apart.reason}"
                    raise _Rejected(EQUIVALENCE, reason, apart.section, names[at]) from apart
            self._repetition.forget(found)

    # --- Steps -------------------------------------------------------------------------------------------------------

    def _launched(self) -> StepVerdict:
        return passed(LAUNCH, f"launched as the baseline is, {len(self._found.launches)} times on different numbers")

    def _equivalent(self) -> StepVerdict:
        results = [result for one in self._found.launches for result in one.cases.values()]
        equal, dropped = results.count("equal"), sum(result.startswith("dropped") for result in results)
        words = "the same results" if not self._request.ulps else f"results within {self._request.ulps} ULP"
        also = f"; {dropped} further cases were dropped" if dropped else ""
        return passed(EQUIVALENCE, f"{words} in {equal} cases, and no race{also}", self._evidence(None, None))

    def _evidence(self, difference: DifferenceSection | None, case: str | None) -> EquivalenceEvidence:
        return EquivalenceEvidence(
            level="full", seed=self._request.seed, ulps=self._request.ulps, captures=self._found.launches,
            race_seeds=list(seeds.orders(self._request.seed)), difference=difference, case=case,
        )  # fmt: skip

    def _measured(self) -> StepVerdict:
        before, after = (sum(times) for times in zip(*self._found.ms, strict=True))
        ratio = after / before
        evidence = MeasurementEvidence(
            timing="modelled", baseline_ms=[before], candidate_ms=[after], ratio=ratio, ratio_on_captured_inputs=ratio,
            cold_caches=True,
        )  # fmt: skip
        saved = f"{1 - ratio:.2%} of the kernel's time saved" if ratio <= 1 else f"{ratio - 1:.2%} slower"
        if 1 - ratio < self._request.min_improvement:
            reason = f"{saved}, modelled: less than the required {self._request.min_improvement:.1%}"
            return rejected(MEASUREMENT, reason, evidence)
        return passed(MEASUREMENT, f"{saved}, modelled", evidence)

    def _application(self, statuses: tuple[int, int]) -> tuple[StepVerdict, ...]:
        before, after = statuses
        evidence = ApplicationEvidence(timing="modelled", timing_parameters=self._found.parameters)
        if before != after:
            return (rejected(APPLICATION, f"its script ends with status {after}, and the baseline's with {before}", evidence),)
        return (passed(APPLICATION, f"its script ends with status {after}, as the baseline's does", evidence),)


def _words(key: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in key.items()) or "its only arguments"


def _other_type(ours: Launched, theirs: Launched) -> str | None:
    """An array of both whose numbers have another type in the candidate."""
    return next((name for name, kind in ours.types.items() if theirs.types.get(name, kind) != kind), None)


def _work_items(launch: RecordedLaunch) -> list[int]:
    return [launch.grid[0] * launch.threads, *launch.grid[1:]]
