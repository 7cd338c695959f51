"""Runs that only the software device supports: other orders of workgroups and waves with a check for unordered accesses, and
chosen initial contents of registers, LDS and private memory.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.equivalence.baseline_case import BaselineCase
from rocm_perf_lab.gate.equivalence.baseline_results import DEPENDS_ON_ORDER, BaselineResults, expect_success
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.equivalence.memory_difference import Outputs, difference
from rocm_perf_lab.gate.equivalence.mismatch import Mismatch
from rocm_perf_lab.gate.equivalence.races import new_race, races_of, without_atomics, without_unwritten_reads
from rocm_perf_lab.gate.equivalence.store_ranges import stores_elsewhere, union_of_ranges
from rocm_perf_lab.gate.equivalence.timed_and_race_checked_cases import raced_cases
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.gate.software_device_options import is_modelled
from rocm_perf_lab.replaying import Case, CaseOutcome

_USUAL_ORDER = "the usual order"
_TOLERATED_EXTRA_SPREAD = (
    1.02  # if the baseline's instruction count varies, the candidate's may vary more, by up to this factor
)
_OTHER_VALUES, _HELD_BEFORE = "other values in registers and LDS", "what registers and LDS held before"


@dataclass(frozen=True)
class _DeviceRun:
    """A run on the software device. usual_run: the usual run on the same inputs, with which it is compared."""

    usual_run: BaselineCase
    case: Case

    @property
    def on_captured_inputs(self) -> bool:
        return self.usual_run.perturbation is None


class RaceAndOrderRuns:
    """Judges candidates by additional runs on one capture's inputs. judge() may run in several threads at once."""

    def __init__(self, baseline_results: BaselineResults, options: EquivalenceOptions):
        self._baseline_results, self._options = baseline_results, options
        self._runs: dict[str, _DeviceRun] = {}  # keyed by name
        self._baseline: dict[str, CaseOutcome] = {}  # keyed by the same names
        self._lock = threading.Lock()

    def judge(self, candidate: ReplayableCode, outcomes: dict[str, str]) -> Mismatch | None:
        """What is wrong with a candidate; None if nothing is. outcomes: receives the outcome of each run."""
        if self._options.level != "full" or not is_modelled(self._baseline_results.capture):
            return None
        with self._lock:
            if not self._baseline:
                self._runs = dict(self._choose_runs())
                self._baseline = self._outcomes(self._baseline_results.baseline, ulps=0)
                for name, run in self._runs.items():
                    if run.on_captured_inputs:
                        expect_success(self._baseline[name])
        results = self._outcomes(candidate, self._options.ulps)
        complaints = (self._judge_run(name, results[name], outcomes) for name in self._runs)
        return next((complaint for complaint in complaints if complaint), None) or self._mismatch_from_waiting(results)

    def _mismatch_from_waiting(self, results: Mapping[str, CaseOutcome]) -> Mismatch | None:
        """Reject a kernel whose waves wait for each other in loops: the number of instructions it executes depends on the order
        of waves, and the timing model counts only the instructions executed in the usual order.
        """
        for usual_run in {id(run.usual_run): run.usual_run for run in self._runs.values()}.values():
            names = [
                name for name, run in self._runs.items() if run.usual_run is usual_run and not self._baseline[name].failure
            ]
            before, after = (_instruction_counts([of[name] for name in names]) for of in (self._baseline, results))
            if before and after and _spread(after) > (_spread(before) * _TOLERATED_EXTRA_SPREAD if _spread(before) > 1 else 1):
                return Mismatch(
                    f"how much it executes depends on the order of its waves ({_range(after)} instructions, the baseline "
                    f"{_range(before)}): they wait for each other in loops, or retry, and the time for that is not modelled"
                )
        return None

    def _choose_runs(self) -> Iterator[tuple[str, _DeviceRun]]:
        """The additional runs. A kernel must not be able to hide a race by recognising the order, or by racing only on other
        inputs. With other inputs, LDS starts with different contents, since reads of unwritten LDS are not reported there.
        """
        captured = self._baseline_results.cases[0]
        other_values = f"{devices.INITIAL_VALUES}={seeds.other_values(self._options.seed)}"
        yield _OTHER_VALUES, _run_with_findings(captured, (other_values,))
        yield _USUAL_ORDER, _run_with_findings(captured, races_of(seeds.USUAL_ORDER))
        orders = len(self._options.orders)
        other_cases = raced_cases(list(self._baseline_results.usable_cases()), self._options.seed) if orders else []
        for turn, (order, options) in enumerate(self._baseline_results.runs_in_other_orders(orders + len(other_cases))):
            baseline_case = captured if turn < orders else other_cases[turn - orders]
            if baseline_case is captured:
                yield order, _run_with_findings(baseline_case, options)
            else:
                yield f"{order}, {baseline_case.name}", _run_with_findings(baseline_case, (*options, other_values))

    def _outcomes(self, code: ReplayableCode, ulps: int) -> dict[str, CaseOutcome]:
        """The outcomes, keyed by name; `equal`: whether memory is as after the baseline's usual run with the same inputs."""
        runs = self._runs
        with tempfile.TemporaryDirectory(dir=self._baseline_results.folder) as folder:
            outcomes = self._baseline_results.replay([run.case for run in runs.values()], Path(folder), code)
            return {
                name: outcome
                if outcome.failure
                else replace(outcome, equal=self._has_usual_result(run.usual_run, outcome, ulps))
                for (name, run), outcome in zip(runs.items(), outcomes, strict=True)
            }

    def _has_usual_result(self, usual_run: BaselineCase, outcome: CaseOutcome, ulps: int) -> bool:
        baseline_results, expected = self._baseline_results, Outputs(usual_run.outcome.dump)
        inputs, nans = baseline_results.inputs_on(usual_run), baseline_results.nans_on(usual_run)
        return difference(expected, Outputs(outcome.dump), baseline_results.kernel_inputs.buffers, ulps, inputs, nans) is None

    def _judge_run(self, name: str, result: CaseOutcome, outcomes: dict[str, str]) -> Mismatch | None:
        run, baseline, buffers = self._runs[name], self._baseline[name], self._baseline_results.kernel_inputs.buffers
        if baseline.failure:
            outcomes[name] = "dropped: the baseline itself fails on it"
            return None
        if result.failure:
            outcomes[name] = "failed"
            how = f"with {_OTHER_VALUES}" if name == _OTHER_VALUES else f"when workgroups run in {name}"
            return Mismatch(f"it fails {how}: {result.failure}")
        where = "" if run.on_captured_inputs else f"on {run.usual_run.name}: "
        outcomes[name] = "equal" if run.on_captured_inputs else "no race"
        alike = [
            self._baseline[other_name].races
            for other_name, other_run in self._runs.items()
            if other_run.usual_run is run.usual_run
        ]
        races = self._baseline_results.races_that_matter(result.races)
        races = races if run.on_captured_inputs else without_unwritten_reads(races)
        if race := new_race([line for lines in alike for line in lines], races, self._baseline_results.capture, buffers):
            outcomes[name] = "race"
            return Mismatch(f"{where}it races: {race}")
        # With other inputs, the baseline may omit stores that it performs in the usual run.
        known = union_of_ranges(baseline.written, self._baseline[_USUAL_ORDER].written)
        if elsewhere := stores_elsewhere(known, result.written, buffers):
            outcomes[name] = "stores elsewhere"
            return Mismatch(f"{where}{elsewhere.reason}", stores=elsewhere.where)
        return None if result.equal else self._judge_result(name, outcomes)

    def _judge_result(self, name: str, outcomes: dict[str, str]) -> Mismatch | None:
        """What is wrong with a candidate whose result differs in this run; None if nothing is."""
        run, baseline = self._runs[name], self._baseline[name]
        if name == _OTHER_VALUES and not baseline.equal:
            outcomes[name] = f"dropped: the baseline itself depends on {_HELD_BEFORE}"
            return None
        varies = not baseline.equal or self._baseline_results.inconclusive_reasons.get(run.usual_run.name) is not None
        if varies and (without_atomics(baseline.races) or self._options.ulps or not run.on_captured_inputs):
            outcomes[name] = DEPENDS_ON_ORDER
            return None
        outcomes[name] = "differs"
        if varies:
            return Mismatch(
                "its result depends on the order of workgroups or waves, as the baseline's does: allow a tolerance for sums of "
                "floating-point numbers (--ulps), or let the program's output decide (--equivalence program)"
            )
        where = "" if run.on_captured_inputs else f"on {run.usual_run.name}: "
        order = "" if name == _OTHER_VALUES else "the order of workgroups or waves, or on "
        return Mismatch(f"{where}its result depends on {order}{_HELD_BEFORE}")


def _run_with_findings(usual_run: BaselineCase, options: tuple[str, ...]) -> _DeviceRun:
    return _DeviceRun(usual_run, replace(usual_run.case, device_options=options, compare=False, findings=True))


def _instruction_counts(outcomes: Sequence[CaseOutcome]) -> list[float]:
    """The instruction count of each run that has one."""
    return [outcome.counted.instructions for outcome in outcomes if outcome.counted and outcome.counted.instructions]


def _spread(numbers: Sequence[float]) -> float:
    return max(numbers) / min(numbers)


def _range(numbers: Sequence[float]) -> str:
    return f"{min(numbers):,.0f} to {max(numbers):,.0f}"
