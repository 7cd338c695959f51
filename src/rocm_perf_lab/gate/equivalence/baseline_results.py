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
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.equivalence.kernel_inputs import KernelInputs, Unknown
from rocm_perf_lab.gate.equivalence.memory_difference import Inputs, Outputs, difference, floats_in, inputs_of, same_but_for
from rocm_perf_lab.gate.equivalence.named_numbers import with_numbers
from rocm_perf_lab.gate.equivalence.nans import Nans, computes
from rocm_perf_lab.gate.equivalence.perturbation import FIRST, Perturbation, Perturber
from rocm_perf_lab.gate.equivalence.races import races_of, without_host
from rocm_perf_lab.gate.equivalence.related_inputs import RelatedInputs
from rocm_perf_lab.gate.equivalence.timed_and_raced_cases import is_too_little_work
from rocm_perf_lab.gate.equivalence.tried_case import TriedCase
from rocm_perf_lab.gate.equivalence.unproven_inputs import same_memory_unproven, unproven_in
from rocm_perf_lab.gate.replayable_code import CAPTURED, ReplayableCode
from rocm_perf_lab.gate.software_device_options import is_modelled, memory_check
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import Case, CaseOutcome, replay_cases

# Filled with 0xFF, every double, float, half, bfloat16 and OCP FP8 number is a NaN, but gfx942's FNUZ 8-bit numbers are not.
POISONS = (0xA5, 0xFF)
DEPENDS_ON_ORDER = "dropped: with these inputs, the baseline itself depends on the order of workgroups"
_LARGER_SIZE = "dropped: it fails with a size that is larger than the buffers were made for"
_CAPTURED = "captured inputs"
_AGAIN = 2  # additional runs of the baseline on a GPU, to see whether its result is reproducible


class Reference:
    """One capture with the baseline's result for every case. Its methods may be called from several threads at once.

    tried: the cases, starting with the captured inputs. unfit: for each case on which a candidate differed, why the baseline's
    own result is not the only correct one; None if it is. seconds: the average wall time per case in the slowest of the batches
    that have run.
    """

    def __init__(
        self,
        capture: Capture,
        arguments: KernelInputs,
        options: EquivalenceOptions,
        folder: Path,
        baseline: ReplayableCode = CAPTURED,
    ):
        """folder: where the results are kept. baseline: the baseline's code and launches."""
        self.capture, self.arguments, self.baseline, self.folder = capture, arguments, baseline, folder
        self.ulps = options.ulps
        self.unfit: dict[str, str | None] = {}
        self.seconds = 0.0
        self._options = options
        self._perturber = Perturber(capture, arguments, options.seed)
        self._related = RelatedInputs(capture, arguments, self._perturber.fields, options.seed)
        self._parts: dict[str, list[TriedCase]] = {}  # for each dropped case, the cases that replace it
        self._named: dict[tuple[float, ...], list[TriedCase]] = {}  # keyed by the numbers that a candidate names
        self._making = threading.Lock()
        self.tried = self._tried(self._cases())
        for unfit in [one for one in self.tried if one.outcome.failure or is_too_little_work(one, self.tried[0])]:
            self.tried += self._parts_of(unfit)

    def replay(
        self, cases: Sequence[Case], folder: Path, code: ReplayableCode, seconds: float | None = None
    ) -> list[CaseOutcome]:
        """Replay cases with this step's options. seconds: wall time allowed for all cases together."""
        return replay_with(self._options, self.capture, cases, folder, code, seconds)

    def why_unfit(self, one: TriedCase, outcome: CaseOutcome) -> str | None:
        """Why a wrong outcome on a case is not held against the candidate; None if it is.

        With indices and sizes that the program never uses, the baseline may read outside its buffers, or several of its
        workgroups may write to the same place; then there is no single correct result. This is checked only if a candidate's
        result differs. A failure counts unless the case passes a larger size than the captured one, or the baseline depends on
        bytes outside its buffers. Captured inputs are never dropped.
        """
        if one.perturbation is None:
            return None
        if outcome.failure and one.perturbation.beyond and one.perturbation.numbers:
            return _LARGER_SIZE
        if one.name not in self.unfit:
            self.unfit[one.name] = self._reason_unfit(one, one.perturbation)
        why = self.unfit[one.name]
        return None if outcome.failure and why == DEPENDS_ON_ORDER else why

    def parts_of(self, whole: TriedCase) -> list[TriedCase]:
        """The cases that replace a case for which why_unfit() gave a reason."""
        with self._making:
            if whole.name not in self._parts:
                self._parts[whole.name] = self._parts_of(whole)
        return self._parts[whole.name]

    def usable(self) -> Iterator[TriedCase]:
        """All cases on which the baseline works and, as far as is known, gives the only correct result. The captured inputs
        come first.
        """
        for one in (*self.tried, *(part for parts in self._parts.values() for part in parts)):
            if not one.outcome.failure and self.unfit.get(one.name) is None:
                yield one

    def unproven(self, found: dict[str, str]) -> Iterator[Unknown]:
        tried = [*self.tried, *(part for parts in self._parts.values() for part in parts)]
        return unproven_in(self.capture, self.arguments, self._perturber.fields, tried, found)

    def with_numbers(self, numbers: tuple[float, ...]) -> list[TriedCase]:
        """The cases that use the numbers named by a candidate; none unless the level is full. On the software device, they run
        under the race check.
        """
        if self._options.level != "full":
            return []
        checked = races_of(seeds.USUAL_ORDER) if is_modelled(self.capture) else ()
        cases: list[tuple[str, Case, Perturbation | None]] = [
            (other.name, replace(_case(other, number), device_options=checked, findings=bool(checked)), other)
            for number, other in enumerate(
                with_numbers(self.capture, self.arguments, self._perturber.fields, numbers, self._options.seed)
            )
        ]
        with self._making:
            if numbers not in self._named:
                self._named[numbers] = self._tried(cases)
            return self._named[numbers]

    def same_memory_unproven(self, found: dict[str, str]) -> Iterator[str]:
        """See unproven_inputs.same_memory_unproven()."""
        return same_memory_unproven(self.tried, found)

    def races_that_matter(self, races: Sequence[str]) -> Sequence[str]:
        """These races, except races with the host if the baseline does not communicate with the host while it runs."""
        return races if self._speaks_to_the_host else without_host(races)

    def inputs_on(self, one: TriedCase) -> Inputs:
        """A case's memory before the kernel runs, but without the fill values of its outputs. Outputs.regions lists the regions
        that differ from this memory after a replay.
        """
        return inputs_of(self.capture, one.case.overlays)

    def nans_on(self, one: TriedCase) -> Nans | None:
        """The NaNs that computing with a case's inputs may produce; None if the baseline only moves numbers."""
        if not self.computes:
            return None
        return Nans(lambda: floats_in(self.arguments, self.capture, one.case.overlays))

    @functools.cached_property
    def computes(self) -> bool:
        """Whether the baseline computes with floating-point numbers."""
        code = self.capture.code_object.read_bytes()
        return computes(code, self.capture.symbol, parse(code).target)

    @functools.cached_property
    def _speaks_to_the_host(self) -> bool:
        code = self.capture.code_object.read_bytes()
        return speaks_to_the_host(code, self.capture.symbol, parse(code).target)

    def in_orders(self, runs: int) -> list[tuple[str, tuple[str, ...]]]:
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
            return [()] * _AGAIN
        return [options for _, options in self.in_orders(len(self._options.orders))]

    def _cases(self) -> list[tuple[str, Case, Perturbation | None]]:
        cases: list[tuple[str, Case, Perturbation | None]] = [(_CAPTURED, Case(compare=True), None)]
        for poison in POISONS:
            cases.append((f"{_CAPTURED}, outputs filled with {poison:#04x}", Case(poison=poison), None))
        for number, other in enumerate(itertools.chain(self._perturber.all(), self._related.all())):
            if self._options.level == "full" or other.name in FIRST:
                cases.append((other.name, _case(other, number), other))
        return cases

    def _tried(self, cases: Sequence[tuple[str, Case, Perturbation | None]]) -> list[TriedCase]:
        """Run the baseline on these cases; return them with its results."""
        if not cases:
            return []
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        began = time.monotonic()
        outcomes = self.replay([case for _, case, _ in cases], folder, self.baseline)
        self.seconds = max(self.seconds, (time.monotonic() - began) / len(cases))
        return [TriedCase(*case, outcome) for case, outcome in zip(cases, outcomes, strict=True)]

    def _parts_of(self, whole: TriedCase) -> list[TriedCase]:
        """The cases that replace a dropped case: the same perturbation, applied to one parameter at a time."""
        parts = self._perturber.parts(whole.perturbation) if whole.perturbation else []
        return self._tried([(one.name, _case(one, number), one) for number, one in enumerate(parts)])

    def _reason_unfit(self, one: TriedCase, other: Perturbation) -> str | None:
        if self._reads_around(one):
            return "dropped: with these inputs, the baseline itself depends on what lies outside its buffers"
        in_orders = [replace(one.case, device_options=more) for more in self._other_orders()]
        if any(self._differs_again(case, one) for case in in_orders):
            return DEPENDS_ON_ORDER
        return DEPENDS_ON_ORDER if other.beyond and self._reads_what_it_writes(one) else None

    def _reads_what_it_writes(self, one: TriedCase) -> bool:
        """Whether the baseline's result on a case depends on the previous contents of its outputs, for instance because it
        reads past the end of an input.
        """
        others = (poison for poison in (None, *POISONS) if poison != one.case.poison)
        return any(self._differs_again(replace(one.case, poison=poison), one) for poison in others)

    def _reads_around(self, one: TriedCase) -> bool:
        """Whether the baseline gives different results, or fails, if the bytes around its buffers are changed."""
        around = self._perturber.around
        with self._again(replace(one.case, overlays=(*one.case.overlays, *around))) as again:
            return again is None or not same_but_for(around, Outputs(one.outcome.dump), again)

    def _differs_again(self, case: Case, one: TriedCase) -> bool:
        with self._again(case) as again:
            return again is not None and difference(Outputs(one.outcome.dump), again, [], self.ulps) is not None

    @contextlib.contextmanager
    def _again(self, case: Case) -> Iterator[Outputs | None]:
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
    """See Reference.replay()."""
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

    return code.replayed(capture, cases, run, folder)


def succeeded(outcome: CaseOutcome) -> CaseOutcome:
    """The outcome of a case on which the baseline must not fail. Raises ReplayFailedError if it failed."""
    if outcome.failure:
        raise ReplayFailedError(outcome.failure, "see docs/REPLAY.md")
    return outcome


def _case(other: Perturbation, number: int) -> Case:
    """The case for a perturbation. `number` selects the initial contents of the outputs: the captured ones, or one of the
    poisons. Not all cases are poisoned, because poison overwrites the perturbed values of a buffer that is both input and
    output. Outputs that hold results are never poisoned.
    """
    return Case(other.overlays, None if other.on_results else (None, *POISONS)[number % (1 + len(POISONS))])
