"""Judges one launch of both scripts: unchanged, and with different memory contents and numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import CaptureError, SourceError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.triton_kernel.cases import CAPTURED, RANDOM, ProblemSize, inputs_for, sizes, with_contents
from rocm_perf_lab.gate.triton_kernel.interpreted import difference_from_interpreter
from rocm_perf_lab.gate.triton_kernel.launching_script import LaunchDescription, LaunchingScript
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedLaunch, on_memory_of
from rocm_perf_lab.gate.triton_kernel.rejection import LAUNCH, JudgementRecord, RejectedError
from rocm_perf_lab.gate.triton_kernel.repeated_launches import Repetition, RepetitionResult
from rocm_perf_lab.gate.triton_kernel.request import TritonGateRequest
from rocm_perf_lab.gate.triton_kernel.results import ResultsDifferError, expect_same
from rocm_perf_lab.gate.verdict_document import EQUIVALENCE, CapturedLaunch
from rocm_perf_lab.triton_launches import ScriptExitedError, ScriptTimeoutError

Note = Callable[[str], None]


class LaunchJudgement:
    """Judges launches one by one. files: the folder with code and memory contents. record: receives the findings."""

    def __init__(self, request: TritonGateRequest, repetition: Repetition, files: Path, record: JudgementRecord, note: Note):
        self._request, self._repetition, self._files, self._record, self._note = request, repetition, files, record, note
        self._random = np.random.default_rng(request.seed)

    def judge(
        self,
        baseline_launch: LaunchDescription,
        candidate_launch: LaunchDescription,
        baseline: LaunchingScript,
        candidate: LaunchingScript,
    ) -> None:
        numbers = {
            name: value for name, value in baseline_launch.numbers.items() if candidate_launch.numbers.get(name) == value
        }
        self._note(f"judging {words_of(baseline_launch.key)}")
        captured = self._record_baseline(baseline, ProblemSize("as launched", {}))
        section = CapturedLaunch(
            arguments=words_of(baseline_launch.key), dispatch=len(self._record.launches), grid=_work_items(captured),
            workgroup=[captured.threads, 1, 1], cases={},
        )  # fmt: skip
        self._record.launches.append(section)
        for size in sizes(numbers, self._random):
            try:
                reference = self._record_baseline(baseline, size)
            except CaptureError:
                if not size.numbers:
                    raise
                section.cases[size.name] = "dropped: the baseline does not compile for it"
                continue
            scripts = (baseline, candidate) if size.interpreted else None
            candidate_recorded = self._record_candidate(candidate, size, reference)
            self._judge_size(size, reference, candidate_recorded, baseline_launch.types, section.cases, scripts)

    def _record_baseline(self, baseline: LaunchingScript, size: ProblemSize) -> RecordedLaunch:
        try:
            return baseline.record(size.numbers)
        except (ScriptExitedError, ScriptTimeoutError, SourceError) as error:
            raise CaptureError(f"the baseline's launch cannot be recorded: {error}", "run it with `rocm-perf run`") from error

    def _record_candidate(self, candidate: LaunchingScript, size: ProblemSize, reference: RecordedLaunch) -> RecordedLaunch:
        try:
            launch = on_memory_of(candidate.record(size.numbers), reference)
        except (ScriptExitedError, ScriptTimeoutError, SourceError) as error:
            raise RejectedError(LAUNCH, f"{size.name}: {error}") from error
        if isinstance(launch, str):
            raise RejectedError(LAUNCH, launch)
        return launch

    def _judge_size(
        self, size: ProblemSize, baseline_launch: RecordedLaunch, candidate_launch: RecordedLaunch, types: dict[str, str],
        cases: dict[str, str], interpreting: tuple[LaunchingScript, LaunchingScript] | None,
    ) -> None:  # fmt: skip
        names = [f"{size.name}, {name}" for name in inputs_for(size)]
        filled = [with_contents(baseline_launch, make, types, self._files, self._random) for make in inputs_for(size).values()]
        candidates = [candidate_launch.model_copy(update={"buffers": launch.buffers}) for launch in filled]
        expected = self._repetition.run(filled)
        if expected.failure is not None:
            if not size.numbers:
                raise CaptureError(f"the baseline itself fails when it is repeated: {expected.failure}", "fix it first")
            cases |= dict.fromkeys(names, f"dropped: the baseline itself fails: {expected.failure}")
            return
        actual = self._repetition.run(candidates)
        self._compare_results(names, expected, actual, filled, types, cases)
        self._look_for_races(names, filled, candidates, expected, types, cases)
        if interpreting is not None:
            number = list(inputs_for(size)).index(RANDOM)
            self._ask_interpreter(size, number, filled[number], (expected, actual), types, cases, interpreting)
        if not size.numbers:
            index = list(inputs_for(size)).index(CAPTURED)
            self._record.ms.append((expected.ms[index], actual.ms[index]))
            self._record.parameters = expected.parameters
        self._repetition.forget(expected)
        self._repetition.forget(actual)

    def _ask_interpreter(
        self, size: ProblemSize, number: int, launch: RecordedLaunch, left: tuple[RepetitionResult, RepetitionResult],
        types: dict[str, str], cases: dict[str, str], scripts: tuple[LaunchingScript, LaunchingScript],
    ) -> None:  # fmt: skip
        """Run the interpreter. A difference between a candidate's code and source counts only if the baseline shows none."""
        name = f"{size.name}, interpreter"
        (baseline, candidate), (expected, actual) = scripts, left
        try:
            baseline_result = difference_from_interpreter(
                baseline, launch, self._files, size.numbers, expected.folder, number, types
            )
        except (ScriptExitedError, ScriptTimeoutError, SourceError) as error:
            raise CaptureError(f"the baseline's launch cannot be interpreted: {error}", "judge it again") from error
        try:
            candidate_result = difference_from_interpreter(
                candidate, launch, self._files, size.numbers, actual.folder, number, types
            )
        except (ScriptExitedError, ScriptTimeoutError, SourceError) as error:
            raise RejectedError(EQUIVALENCE, f"{name}: it cannot be run: {error}", case=name) from error
        if not isinstance(candidate_result, ResultsDifferError):
            cases[name] = "equal" if candidate_result is None else f"not interpreted: {candidate_result}"
        elif baseline_result is None:
            cases[name] = "differs"
            reason = f"{name}: its code does not compute what its source says: {candidate_result.reason}"
            raise RejectedError(EQUIVALENCE, reason, candidate_result.section, name)
        else:
            why = baseline_result.reason if isinstance(baseline_result, ResultsDifferError) else baseline_result
            cases[name] = f"not interpreted: {why}, in the baseline"

    def _compare_results(
        self, names: list[str], expected: RepetitionResult, actual: RepetitionResult, launches: list[RecordedLaunch],
        types: dict[str, str], cases: dict[str, str],
    ) -> None:  # fmt: skip
        for number, name in enumerate(names):
            if number >= len(actual.ms) or (actual.failure is not None and number == len(names) - 1):
                cases[name] = "failed"
                raise RejectedError(EQUIVALENCE, f"{name}: {actual.failure}", case=name)
            try:
                buffers, ulps = launches[number].buffers, self._request.ulps
                expect_same(expected.folder, actual.folder, buffers, self._files, types, ulps, (number, number))
            except ResultsDifferError as difference:
                cases[name] = "differs"
                raise RejectedError(EQUIVALENCE, f"{name}: {difference.reason}", difference.section, name) from difference
            cases[name] = "equal"

    def _look_for_races(
        self, names: list[str], baseline_launches: list[RecordedLaunch], candidate_launches: list[RecordedLaunch],
        expected: RepetitionResult, types: dict[str, str], cases: dict[str, str],
    ) -> None:  # fmt: skip
        """Run the candidate on the first and last inputs in different orders, with different contents in registers and LDS."""
        chosen = sorted({0, len(names) - 1})
        orders = seeds.orders(self._request.seed)
        values = seeds.initial_values(self._request.seed, len(orders))
        for order, initial in zip(orders, values, strict=True):
            options = (f"race-check={order}", f"{devices.INITIAL_VALUES}={initial}")
            actual = self._repetition.run([candidate_launches[index] for index in chosen], options)
            if actual.races:
                before = self._repetition.run([baseline_launches[index] for index in chosen], options)
                if before.races:
                    continue  # this cannot be held against the candidate
                cases[names[0]] = "race"
                raise RejectedError(EQUIVALENCE, f"{names[0]}: {actual.races[0]}", case=names[0])
            if actual.failure is not None:
                raise RejectedError(EQUIVALENCE, f"{names[0]}, in a different order: {actual.failure}", case=names[0])
            for position, index in enumerate(chosen):
                try:
                    buffers, ulps = baseline_launches[index].buffers, self._request.ulps
                    expect_same(expected.folder, actual.folder, buffers, self._files, types, ulps, (index, position))
                except ResultsDifferError as difference:
                    cases[names[index]] = "differs"
                    reason = f"{names[index]}, in a different order of waves: {difference.reason}"
                    raise RejectedError(EQUIVALENCE, reason, difference.section, names[index]) from difference
            self._repetition.forget(actual)


def words_of(key: dict[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in key.items()) or "its only arguments"


def _work_items(launch: RecordedLaunch) -> list[int]:
    return [launch.grid[0] * launch.threads, *launch.grid[1:]]
