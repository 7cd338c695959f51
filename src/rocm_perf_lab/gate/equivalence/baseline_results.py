"""The baseline's results for one capture, on the captured inputs and on others; computed once and used for all candidates."""

from __future__ import annotations

import contextlib
import functools
import itertools
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rocm_perf_lab.code_object import parse
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.code_object.fences import speaks_to_the_host
from rocm_perf_lab.gate.equivalence.added_literals import perturbations_with_literals
from rocm_perf_lab.gate.equivalence.baseline_case import BaselineCase
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.equivalence.inputs_with_related_numbers import RelatedInputs
from rocm_perf_lab.gate.equivalence.kernel_inputs import KernelInputs, UnvariedInput
from rocm_perf_lab.gate.equivalence.memory_difference import Inputs, Outputs, difference, floats_in, inputs_of, same_outside
from rocm_perf_lab.gate.equivalence.nans import Nans, computes_with_floats
from rocm_perf_lab.gate.equivalence.perturbation import FIRST, Perturbation, Perturber
from rocm_perf_lab.gate.equivalence.races import races_of, without_host
from rocm_perf_lab.gate.equivalence.timed_and_race_checked_cases import is_too_little_work
from rocm_perf_lab.gate.equivalence.unproven_inputs import same_memory_unproven, unproven_in
from rocm_perf_lab.gate.replayable_code import CAPTURED, ReplayableCode
from rocm_perf_lab.gate.software_device_options import is_modelled, memory_check
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import Case, CaseOutcome, replay_cases

# Filled with 0xFF, every double, float, half, bfloat16 and OCP FP8 number is a NaN, but gfx942's FNUZ 8-bit numbers are not.
POISONS = (0xA5, 0xFF)
DEPENDS_ON_ORDER = "dropped: with these inputs, the baseline itself depends on the order of workgroups"
_LARGER_SIZE = "dropped: it fails with a size that is larger than the buffers were made for"
_CAPTURED_INPUTS = "captured inputs"
_MAX_GPU_RERUNS = 2  # additional runs of the baseline on a GPU, to see whether its result is reproducible


class BaselineResults:
    """One capture with the baseline's result for every case. Its methods may be called from several threads at once.

    cases: starting with the captured inputs. inconclusive_reasons: for each case on which a candidate differed, why the
    baseline's own result is not the only correct one; None if it is. seconds: the average wall time per case in the slowest of
    the batches that have run.
    """

    def __init__(
        self,
        capture: Capture,
        kernel_inputs: KernelInputs,
        options: EquivalenceOptions,
        folder: Path,
        baseline: ReplayableCode = CAPTURED,
    ):
        """folder: where the results are kept. baseline: the baseline's code and launches."""
        self.capture, self.kernel_inputs, self.baseline, self.folder = capture, kernel_inputs, baseline, folder
        self.ulps = options.ulps
        self.inconclusive_reasons: dict[str, str | None] = {}
        self.seconds = 0.0
        self._options = options
        self._perturber = Perturber(capture, kernel_inputs, options.seed)
        self._related = RelatedInputs(capture, kernel_inputs, self._perturber.fields, options.seed)
        self._parts_by_case: dict[str, list[BaselineCase]] = {}  # for each dropped case, the cases that replace it
        self._cases_by_numbers: dict[tuple[float, ...], list[BaselineCase]] = {}  # keyed by the numbers that a candidate names
        self._lock = threading.Lock()
        self.cases = self._run_baseline(self._planned_cases())
        for unfit in [
            baseline_case
            for baseline_case in self.cases
            if baseline_case.outcome.failure or is_too_little_work(baseline_case, self.cases[0])
        ]:
            self.cases += self._run_parts(unfit)

    def replay(
        self, cases: Sequence[Case], folder: Path, code: ReplayableCode, seconds: float | None = None
    ) -> list[CaseOutcome]:
        """Replay cases with this step's options. seconds: wall time allowed for all cases together."""
        return replay_with(self._options, self.capture, cases, folder, code, seconds)

    def why_inconclusive(self, baseline_case: BaselineCase, outcome: CaseOutcome) -> str | None:
        """Why a wrong outcome on a case is not held against the candidate; None if it is.

        With indices and sizes that the program never uses, the baseline may read outside its buffers, or several of its
        workgroups may write to the same place; then there is no single correct result. This is checked only if a candidate's
        result differs. A failure counts unless the case passes a larger size than the captured one, or the baseline depends on
        bytes outside its buffers. Captured inputs are never dropped.
        """
        if baseline_case.perturbation is None:
            return None
        if outcome.failure and baseline_case.perturbation.may_leave_buffers and baseline_case.perturbation.numbers:
            return _LARGER_SIZE
        if baseline_case.name not in self.inconclusive_reasons:
            self.inconclusive_reasons[baseline_case.name] = self._reason_inconclusive(baseline_case, baseline_case.perturbation)
        why = self.inconclusive_reasons[baseline_case.name]
        return None if outcome.failure and why == DEPENDS_ON_ORDER else why

    def parts_of(self, dropped: BaselineCase) -> list[BaselineCase]:
        """The cases that replace a case for which why_inconclusive() gave a reason."""
        with self._lock:
            if dropped.name not in self._parts_by_case:
                self._parts_by_case[dropped.name] = self._run_parts(dropped)
        return self._parts_by_case[dropped.name]

    def usable_cases(self) -> Iterator[BaselineCase]:
        """All cases on which the baseline works and, as far as is known, gives the only correct result. The captured inputs
        come first.
        """
        for baseline_case in (*self.cases, *(part for parts in self._parts_by_case.values() for part in parts)):
            if not baseline_case.outcome.failure and self.inconclusive_reasons.get(baseline_case.name) is None:
                yield baseline_case

    def unproven_inputs(self, outcomes: dict[str, str]) -> Iterator[UnvariedInput]:
        baseline_cases = [*self.cases, *(part for parts in self._parts_by_case.values() for part in parts)]
        return unproven_in(self.capture, self.kernel_inputs, self._perturber.fields, baseline_cases, outcomes)

    def cases_with_numbers(self, numbers: tuple[float, ...]) -> list[BaselineCase]:
        """The cases that use the literals added by a candidate; none unless the level is full. On the software device, they run
        under the race check.
        """
        if self._options.level != "full":
            return []
        checked = races_of(seeds.USUAL_ORDER) if is_modelled(self.capture) else ()
        cases: list[tuple[str, Case, Perturbation | None]] = [
            (other.name, replace(_case_for(other, number), device_options=checked, findings=bool(checked)), other)
            for number, other in enumerate(
                perturbations_with_literals(
                    self.capture, self.kernel_inputs, self._perturber.fields, numbers, self._options.seed
                )
            )
        ]
        with self._lock:
            if numbers not in self._cases_by_numbers:
                self._cases_by_numbers[numbers] = self._run_baseline(cases)
            return self._cases_by_numbers[numbers]

    def same_memory_unproven(self, outcomes: dict[str, str]) -> Iterator[str]:
        """See unproven_inputs.same_memory_unproven()."""
        return same_memory_unproven(self.cases, outcomes)

    def races_that_matter(self, races: Sequence[str]) -> Sequence[str]:
        """These races, except races with the host if the baseline does not communicate with the host while it runs."""
        return races if self._speaks_to_the_host else without_host(races)

    def inputs_on(self, baseline_case: BaselineCase) -> Inputs:
        """A case's memory before the kernel runs, but without the fill values of its outputs. Outputs.regions lists the regions
        that differ from this memory after a replay.
        """
        return inputs_of(self.capture, baseline_case.case.overlays)

    def nans_on(self, baseline_case: BaselineCase) -> Nans | None:
        """The NaNs that computing with a case's inputs may produce; None if the baseline only moves numbers."""
        if not self.computes_with_floats:
            return None
        return Nans(lambda: floats_in(self.kernel_inputs, self.capture, baseline_case.case.overlays))

    @functools.cached_property
    def computes_with_floats(self) -> bool:
        """Whether the baseline computes with floating-point numbers."""
        code = self.capture.code_object.read_bytes()
        return computes_with_floats(code, self.capture.symbol, parse(code).target)

    @functools.cached_property
    def _speaks_to_the_host(self) -> bool:
        code = self.capture.code_object.read_bytes()
        return speaks_to_the_host(code, self.capture.symbol, parse(code).target)

    def runs_in_other_orders(self, runs: int) -> list[tuple[str, tuple[str, ...]]]:
        """For each of `runs` runs, the name of an order other than the usual one, and the software device's options for it.

        The orders are used in rotation. Consecutive runs have different options, because a device reports each pair of racing
        instructions only once in its lifetime.
        """
        fills = seeds.initial_values(self._options.seed, runs)
        return [
            (f"order {seed}", (*races_of(seed), f"{devices.INITIAL_VALUES}={fill}"))
            for seed, fill in zip(itertools.cycle(self._options.orders), fills, strict=False)  # the orders repeat endlessly
        ]

    def _other_orders(self) -> list[tuple[str, ...]]:
        """Software device options for each run. A GPU needs none: its order of workgroups varies from run to run anyway."""
        if not is_modelled(self.capture):
            return [()] * _MAX_GPU_RERUNS
        return [options for _, options in self.runs_in_other_orders(len(self._options.orders))]

    def _planned_cases(self) -> list[tuple[str, Case, Perturbation | None]]:
        cases: list[tuple[str, Case, Perturbation | None]] = [(_CAPTURED_INPUTS, Case(compare=True), None)]
        for poison in POISONS:
            cases.append((f"{_CAPTURED_INPUTS}, outputs filled with {poison:#04x}", Case(poison=poison), None))
        for number, other in enumerate(itertools.chain(self._perturber.all(), self._related.all())):
            if self._options.level == "full" or other.name in FIRST:
                cases.append((other.name, _case_for(other, number), other))
        return cases

    def _run_baseline(self, cases: Sequence[tuple[str, Case, Perturbation | None]]) -> list[BaselineCase]:
        """Run the baseline on these cases; return them with its results."""
        if not cases:
            return []
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        began = time.monotonic()
        outcomes = self.replay([case for _, case, _ in cases], folder, self.baseline)
        self.seconds = max(self.seconds, (time.monotonic() - began) / len(cases))
        return [BaselineCase(*case, outcome) for case, outcome in zip(cases, outcomes, strict=True)]

    def _run_parts(self, dropped: BaselineCase) -> list[BaselineCase]:
        """The cases that replace a dropped case: the same perturbation, applied to one parameter at a time."""
        parts = self._perturber.parts(dropped.perturbation) if dropped.perturbation else []
        return self._run_baseline([(part.name, _case_for(part, number), part) for number, part in enumerate(parts)])

    def _reason_inconclusive(self, baseline_case: BaselineCase, perturbation: Perturbation) -> str | None:
        if self._reads_outside_buffers(baseline_case):
            return "dropped: with these inputs, the baseline itself depends on what lies outside its buffers"
        in_orders = [replace(baseline_case.case, device_options=more) for more in self._other_orders()]
        if any(self._differs_when_rerun(case, baseline_case) for case in in_orders):
            return DEPENDS_ON_ORDER
        return DEPENDS_ON_ORDER if perturbation.may_leave_buffers and self._reads_what_it_writes(baseline_case) else None

    def _reads_what_it_writes(self, baseline_case: BaselineCase) -> bool:
        """Whether the baseline's result on a case depends on the previous contents of its outputs, for instance because it
        reads past the end of an input.
        """
        other_poisons = (poison for poison in (None, *POISONS) if poison != baseline_case.case.poison)
        return any(
            self._differs_when_rerun(replace(baseline_case.case, poison=poison), baseline_case) for poison in other_poisons
        )

    def _reads_outside_buffers(self, baseline_case: BaselineCase) -> bool:
        """Whether the baseline gives different results, or fails, if the bytes around its buffers are changed."""
        around = self._perturber.around
        with self._rerun_memory(replace(baseline_case.case, overlays=(*baseline_case.case.overlays, *around))) as again:
            return again is None or not same_outside(around, Outputs(baseline_case.outcome.dump), again)

    def _differs_when_rerun(self, case: Case, baseline_case: BaselineCase) -> bool:
        with self._rerun_memory(case) as again:
            return again is not None and difference(Outputs(baseline_case.outcome.dump), again, [], self.ulps) is not None

    @contextlib.contextmanager
    def _rerun_memory(self, case: Case) -> Iterator[Outputs | None]:
        """The memory after another run of the baseline; None if that run fails."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            (outcome,) = self.replay([case], Path(folder), self.baseline)
            yield None if outcome.failure else Outputs(outcome.dump)


def replay_with(
    options: EquivalenceOptions,
    capture: Capture,
    cases: Sequence[Case],
    folder: Path,
    code: ReplayableCode = CAPTURED,
    seconds: float | None = None,
) -> list[CaseOutcome]:
    """See BaselineResults.replay()."""
    limit = [f"kernel-limit={options.instruction_limit}"] if is_modelled(capture) else []

    def run(runnable: Sequence[Case]) -> list[CaseOutcome]:
        return replay_cases(
            capture,
            runnable,
            folder,
            hsaco=code.file,
            timeout=options.timeout,
            device=options.device,
            device_options=[*limit, *memory_check(capture)],
            view=options.view,
            seconds=seconds,
        )

    return code.replay(capture, cases, run, folder)


def expect_success(outcome: CaseOutcome) -> CaseOutcome:
    """The outcome of a case on which the baseline must not fail. Raises ReplayFailedError if it failed."""
    if outcome.failure:
        raise ReplayFailedError(outcome.failure, "see docs/REPLAY.md")
    return outcome


def _case_for(other: Perturbation, number: int) -> Case:
    """The case for a perturbation. `number` selects the initial contents of the outputs: the captured ones, or one of the
    poisons. Not all cases are poisoned, because poison overwrites the perturbed values of a buffer that is both input and
    output. Outputs that hold results are never poisoned.
    """
    return Case(other.overlays, None if other.on_results else (None, *POISONS)[number % (1 + len(POISONS))])
