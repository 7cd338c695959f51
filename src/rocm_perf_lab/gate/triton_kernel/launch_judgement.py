"""Judges one launch of both scripts: unchanged, and with different memory contents and numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import CaptureError, SourceError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.triton_kernel.cases import CAPTURED, RANDOM, Size, inputs_for, sizes, with_contents
from rocm_perf_lab.gate.triton_kernel.interpreted import how_interpreted
from rocm_perf_lab.gate.triton_kernel.launching_script import Launched, LaunchingScript
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch, on_memory_of
from rocm_perf_lab.gate.triton_kernel.rejection import LAUNCH, JudgementRecord, Rejected
from rocm_perf_lab.gate.triton_kernel.repeated_launches import Repeated, Repetition
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.results import ResultsDiffer, expect_same
from rocm_perf_lab.gate.verdict_document import EQUIVALENCE, CapturedLaunch
from rocm_perf_lab.triton_launches import ScriptExited, ScriptTimeout

Note = Callable[[str], None]


class LaunchJudgement:
    """Judges launches one by one. files: the folder with code and memory contents. found: receives the findings."""

    def __init__(self, request: TritonGateRequest, repetition: Repetition, files: Path, found: JudgementRecord, note: Note):
        self._request, self._repetition, self._files, self._found, self._note = request, repetition, files, found, note
        self._random = np.random.default_rng(request.seed)

    def judge(self, ours: Launched, theirs: Launched, baseline: LaunchingScript, candidate: LaunchingScript) -> None:
        numbers = {name: value for name, value in ours.numbers.items() if theirs.numbers.get(name) == value}
        self._note(f"judging {words_of(ours.key)}")
        captured = self._recorded(baseline, Size("as launched", {}))
        section = CapturedLaunch(
            arguments=words_of(ours.key), dispatch=len(self._found.launches), grid=_work_items(captured),
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
            scripts = (baseline, candidate) if size.interpreted else None
            theirs_recorded = self._from_candidate(candidate, size, reference)
            self._judge_size(size, reference, theirs_recorded, ours.types, section.cases, scripts)

    def _recorded(self, baseline: LaunchingScript, size: Size) -> RecordedLaunch:
        try:
            return baseline.record(size.numbers)
        except (ScriptExited, ScriptTimeout, SourceError) as error:
            raise CaptureError(f"the baseline's launch cannot be recorded: {error}", "run it with `rocm-perf run`") from error

    def _from_candidate(self, candidate: LaunchingScript, size: Size, reference: RecordedLaunch) -> RecordedLaunch:
        try:
            launch = on_memory_of(candidate.record(size.numbers), reference)
        except (ScriptExited, ScriptTimeout, SourceError) as error:
            raise Rejected(LAUNCH, f"{size.name}: {error}") from error
        if isinstance(launch, str):
            raise Rejected(LAUNCH, launch)
        return launch

    def _judge_size(
        self, size: Size, ours: RecordedLaunch, theirs: RecordedLaunch, types: dict[str, str], cases: dict[str, str],
        interpreting: tuple[LaunchingScript, LaunchingScript] | None,
    ) -> None:  # fmt: skip
        names = [f"{size.name}, {name}" for name in inputs_for(size)]
        filled = [with_contents(ours, make, types, self._files, self._random) for make in inputs_for(size).values()]
        candidates = [theirs.model_copy(update={"memories": one.memories}) for one in filled]
        expected = self._repetition.run(filled)
        if expected.failure is not None:
            if not size.numbers:
                raise CaptureError(f"the baseline itself fails when it is repeated: {expected.failure}", "fix it first")
            cases |= dict.fromkeys(names, f"dropped: the baseline itself fails: {expected.failure}")
            return
        found = self._repetition.run(candidates)
        self._compare(names, expected, found, filled, types, cases)
        self._look_for_races(names, filled, candidates, expected, types, cases)
        if interpreting is not None:
            number = list(inputs_for(size)).index(RANDOM)
            self._ask_interpreter(size, number, filled[number], (expected, found), types, cases, interpreting)
        if not size.numbers:
            at = list(inputs_for(size)).index(CAPTURED)
            self._found.ms.append((expected.ms[at], found.ms[at]))
            self._found.parameters = expected.parameters
        self._repetition.forget(expected)
        self._repetition.forget(found)

    def _ask_interpreter(
        self, size: Size, number: int, launch: RecordedLaunch, left: tuple[Repeated, Repeated], types: dict[str, str],
        cases: dict[str, str], scripts: tuple[LaunchingScript, LaunchingScript],
    ) -> None:  # fmt: skip
        """Run the interpreter. A difference between a candidate's code and source counts only if the baseline shows none."""
        name = f"{size.name}, interpreter"
        (baseline, candidate), (expected, found) = scripts, left
        try:
            ours = how_interpreted(baseline, launch, self._files, size.numbers, expected.folder, number, types)
        except (ScriptExited, ScriptTimeout, SourceError) as error:
            raise CaptureError(f"the baseline's launch cannot be interpreted: {error}", "judge it again") from error
        try:
            theirs = how_interpreted(candidate, launch, self._files, size.numbers, found.folder, number, types)
        except (ScriptExited, ScriptTimeout, SourceError) as error:
            raise Rejected(EQUIVALENCE, f"{name}: it cannot be run: {error}", case=name) from error
        if not isinstance(theirs, ResultsDiffer):
            cases[name] = "equal" if theirs is None else f"not interpreted: {theirs}"
        elif ours is None:
            cases[name] = "differs"
            reason = f"{name}: its code does not compute what its source says: {theirs.reason}"
            raise Rejected(EQUIVALENCE, reason, theirs.section, name)
        else:
            cases[name] = f"not interpreted: {ours.reason if isinstance(ours, ResultsDiffer) else ours}, in the baseline"

    def _compare(
        self, names: list[str], expected: Repeated, found: Repeated, launches: list[RecordedLaunch], types: dict[str, str],
        cases: dict[str, str],
    ) -> None:  # fmt: skip
        for number, name in enumerate(names):
            if number >= len(found.ms) or (found.failure is not None and number == len(names) - 1):
                cases[name] = "failed"
                raise Rejected(EQUIVALENCE, f"{name}: {found.failure}", case=name)
            try:
                memories, ulps = launches[number].memories, self._request.ulps
                expect_same(expected.folder, found.folder, memories, self._files, types, ulps, (number, number))
            except ResultsDiffer as apart:
                cases[name] = "differs"
                raise Rejected(EQUIVALENCE, f"{name}: {apart.reason}", apart.section, name) from apart
            cases[name] = "equal"

    def _look_for_races(
        self, names: list[str], ours: list[RecordedLaunch], theirs: list[RecordedLaunch], expected: Repeated,
        types: dict[str, str], cases: dict[str, str],
    ) -> None:  # fmt: skip
        """Run the candidate on the first and last inputs in different orders, with different contents in registers and LDS."""
        chosen = sorted({0, len(names) - 1})
        orders = seeds.orders(self._request.seed)
        values = seeds.initial_values(self._request.seed, len(orders))
        for order, initial in zip(orders, values, strict=True):
            options = (f"race-check={order}", f"{devices.INITIAL_VALUES}={initial}")
            found = self._repetition.run([theirs[at] for at in chosen], options)
            if found.races:
                before = self._repetition.run([ours[at] for at in chosen], options)
                if before.races:
                    continue  # this cannot be held against the candidate
                cases[names[0]] = "race"
                raise Rejected(EQUIVALENCE, f"{names[0]}: {found.races[0]}", case=names[0])
            if found.failure is not None:
                raise Rejected(EQUIVALENCE, f"{names[0]}, in a different order: {found.failure}", case=names[0])
            for place, at in enumerate(chosen):
                try:
                    ulps = self._request.ulps
                    expect_same(expected.folder, found.folder, ours[at].memories, self._files, types, ulps, (at, place))
                except ResultsDiffer as apart:
                    cases[names[at]] = "differs"
                    reason = f"{names[at]}, in a different order of waves: {apart.reason}"
                    raise Rejected(EQUIVALENCE, reason, apart.section, names[at]) from apart
            self._repetition.forget(found)


def words_of(key: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in key.items()) or "its only arguments"


def _work_items(launch: RecordedLaunch) -> list[int]:
    return [launch.grid[0] * launch.threads, *launch.grid[1:]]
