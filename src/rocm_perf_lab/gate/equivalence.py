"""Step 4: on captured and on other inputs, the candidate leaves the same memory contents as the baseline, byte for byte."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from rocm_perf_lab.cage import View
from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError, UnfitCodeError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.buffers import Arguments, Buffer, Unknown, arguments_of
from rocm_perf_lab.gate.checked_replay import is_modelled, write_check
from rocm_perf_lab.gate.chosen_cases import is_too_little_work, raced_cases, timed_inputs
from rocm_perf_lab.gate.in_program import InProgram, difference_in_program
from rocm_perf_lab.gate.outputs import Difference, Outputs, difference, same_but_for
from rocm_perf_lab.gate.perturbation import FIRST, Perturbation, Perturber
from rocm_perf_lab.gate.races import new_race, without_unwritten_reads
from rocm_perf_lab.gate.stores import stores_elsewhere
from rocm_perf_lab.gate.timed_replays import OtherInputs
from rocm_perf_lab.gate.unproven import TriedCase, unproven_in
from rocm_perf_lab.gate.verdict import StepVerdict, passed, rejected, skipped
from rocm_perf_lab.gate.verdict_document import EQUIVALENCE, CapturedLaunch, DifferenceSection, EquivalenceEvidence
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.parameter_layout import parameter_layouts
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replay import Case, CaseOutcome, replay_cases

STEP = EQUIVALENCE
POISONS = (0xA5, 0xFF)  # the second is a NaN in every floating-point type
_PATIENCE, _LEAST_PATIENCE_SECONDS = 20, 90.0  # a candidate may take this multiple of the baseline's wall time
LEVELS = ("full", "sampled", "program")
_CAPTURED = "captured inputs"
_USUAL_ORDER = "the usual order"
_DEPENDS_ON_ORDER = "dropped: the baseline itself depends on the order of workgroups on it"
_OTHER_VALUES, _HELD_BEFORE = "other values in registers and LDS", "what registers and LDS held before"
_SERVICES = {  # of the host's runtime, by the hidden arguments through which a kernel reaches them
    "hidden_hostcall_buffer": "the host (printf, assert)",
    "hidden_heap_v1": "the runtime's heap (malloc in device code)",
}
_AGAIN = 2  # further runs of the baseline on a GPU, to see whether its result is reproducible


@dataclass(frozen=True)
class EquivalenceOptions:
    """Settings of the equivalence step.

    level: full (all captures, all perturbations, race check), sampled (one capture per argument list, one perturbation for each
    kind of number, and one for all inputs) or program (nothing is replayed: only the whole program's output decides). ulps:
    tolerance for floating-point numbers, 0 for none. seed: determines the other inputs. race_seeds: orders of workgroups and
    waves to try on the software device; None for those derived from the seed. arguments: the arguments that the program was
    captured with; only messages use them. timeout: seconds for one dispatch; instruction_limit: instructions per wave on the
    software device, which stops an endless kernel at the same point on every machine. view: what the cage shows to all replays.
    """

    level: str = "full"
    ulps: int = 0
    seed: int = field(default_factory=seeds.fresh)
    race_seeds: tuple[int, ...] | None = None
    timeout: int = 120
    instruction_limit: int = 100_000_000
    device: str = devices.AUTO
    view: View = View()
    arguments: str | None = None

    @property
    def orders(self) -> tuple[int, ...]:
        return seeds.orders(self.seed) if self.race_seeds is None else self.race_seeds


@dataclass(frozen=True)
class _OtherRun:
    """A run of the software device. like: the same inputs in the usual run."""

    like: TriedCase
    case: Case

    @property
    def on_captured_inputs(self) -> bool:
        return self.like.perturbation is None


@dataclass
class _Reference:
    """One capture with the baseline's result for every case; made once and used for all candidates. tried[0]: the captured
    inputs.

    folder: keeps the results. baseline: the baseline's code object; None if it is the captured one. runs, others: runs in other
    orders and with other initial registers and LDS, by name, and the baseline's outcomes. unfit: for each case on which a
    candidate differed, why the baseline's own result is not the only right one there; None if it is. parts: for each case that
    was dropped for such a reason, the cases that replace it.
    """

    capture: Capture
    arguments: Arguments
    perturber: Perturber
    folder: Path
    baseline: Path | None = None
    tried: list[TriedCase] = field(default_factory=list)
    complaint: str | None = None
    runs: dict[str, _OtherRun] = field(default_factory=dict)
    others: dict[str, CaseOutcome] = field(default_factory=dict)
    unfit: dict[str, str | None] = field(default_factory=dict)
    seconds: float = 0.0  # largest wall time of a case, averaged over the cases run together
    parts: dict[str, list[TriedCase]] = field(default_factory=dict)
    again: list[InProgram] = field(default_factory=list)  # the same dispatch in other runs of the baseline's program


@dataclass(frozen=True)
class _Complaint:
    """What is wrong with a candidate. difference: where memory differs in the named case; stores: where it stores to memory
    that the baseline does not write.
    """

    reason: str
    difference: DifferenceSection | None = None
    case: str | None = None
    stores: DifferenceSection | None = None

    @property
    def evidence(self) -> dict[str, object]:
        """Values for fields of EquivalenceEvidence."""
        found: dict[str, object] = {} if self.difference is None else {"difference": self.difference}
        found |= {} if self.case is None else {"case": self.case}
        one = self.stores
        places = ("parameter", "address", "stored_bytes")
        return found | ({} if one is None else {name: getattr(one, name) for name in places})


class Equivalence:
    """Judges candidates for one kernel. source, kernel, metadata: the baseline's; they give the types of the kernel's inputs.
    also: captures made with other program arguments, by these arguments.

    Use as a context manager: the baseline's outputs are kept in a temporary folder. check() may run in several threads at once.
    """

    def __init__(
        self,
        captures: Sequence[Capture],
        source: HipSource,
        kernel: SourceKernel,
        metadata: KernelMetadata,
        options: EquivalenceOptions | None = None,
        also: Mapping[str, Sequence[Capture]] = MappingProxyType({}),
    ):
        options = options or EquivalenceOptions()
        by_arguments = [(options.arguments, captures), *also.items()]
        most = 1 if options.level == "sampled" else None
        self._captures = [(arguments, one) for arguments, some in by_arguments for one in some[:most]]
        self._source, self._kernel, self._metadata, self._options = source, kernel, metadata, options
        self._references: dict[int, _Reference] = {}
        self._making = threading.Lock()

    def __enter__(self) -> Equivalence:
        self._scratch = tempfile.TemporaryDirectory(prefix="rocm-perf-gate-")
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def check(self, candidate: Path) -> StepVerdict:
        """Compare a candidate with the baseline on all captures.

        candidate: path of its code object. Raises PlacementError if memory cannot be mapped at the captured addresses.
        """
        options = self._options
        evidence = EquivalenceEvidence(level=options.level, seed=options.seed, ulps=options.ulps, captures=[])
        if options.level == "program":
            return skipped(STEP, "not replayed, as requested: the program's output decides", evidence)
        evidence.race_seeds = list(options.orders)
        left: list[dict[str, str]] = []
        for index in range(len(self._captures)):
            reference = self._reference(index)
            found: dict[str, str] = {}
            complaint = None if reference.complaint else self._judge(reference, candidate, found)
            evidence.captures = [*evidence.captures, _about(*self._captures[index], found)]
            if reference.complaint:
                return rejected(STEP, reference.complaint, evidence)
            if complaint:
                arguments = self._captures[index][0]
                where = "" if arguments == options.arguments else f"with `{arguments}`, "
                return rejected(STEP, where + complaint.reason, evidence.model_copy(update=complaint.evidence))
            left.append({one.name: str(one) for one in self._unproven(reference, found)})
        # An input is unproven only if no dispatch proves it.
        unproven = [words for name, words in left[0].items() if all(name in other for other in left)]
        evidence.unproven = unproven
        return passed(STEP, self._in_words(evidence.captures, unproven), evidence)

    def _in_words(self, captures: Sequence[CapturedLaunch], unproven: Sequence[str]) -> str:
        options = self._options
        compared = sum(outcome == "equal" for one in captures for outcome in one.cases.values())
        how = f"floating-point numbers within {options.ulps} ULP" if options.ulps else "bit for bit"
        level = "" if options.level == "full" else f" (level {options.level}: of one dispatch, without other orders of waves)"
        dropped = f"; unproven: {', '.join(unproven)}" if unproven else ""
        return f"the same memory in all {compared} cases, {how}{level}; {_judged_sizes(captures)}{dropped}"

    def outputs_of(self, index: int) -> Outputs:
        """What the baseline writes on the captured inputs of capture `index`."""
        return Outputs(self._reference(index).tried[0].outcome.dump)

    def other_inputs(self) -> list[OtherInputs]:
        """Other inputs for the first capture, similar to the captured ones and valid for the baseline."""
        return timed_inputs(list(self._usable(self._reference(0))))

    def in_program(self, index: int, made: Capture, again: Callable[[], Capture]) -> tuple[Difference | None, list[str]]:
        """See difference_in_program() and _at_its_own_address(). made: the same dispatch as capture `index`, in the candidate's
        program; again: captures it once more in the baseline's program.
        """
        reference = self._reference(index)

        def with_arguments(capture: Capture) -> InProgram:
            return capture, self._arguments_of(capture)

        def baseline_again(turn: int) -> InProgram:
            with self._making:
                while len(reference.again) <= turn:
                    reference.again.append(with_arguments(again()))
                return reference.again[turn]

        first = reference.capture, reference.arguments
        found, unlike = difference_in_program(first, with_arguments(made), baseline_again, self._options.ulps)
        return found or self._at_its_own_address(reference, made), unlike

    def _at_its_own_address(self, reference: _Reference, made: Capture) -> Difference | None:
        """Try the other inputs on the dispatch as captured in the candidate's program. There its code lies where the program
        loads it. In all other replays it does not, and a candidate can tell by its own address, or by what lies at another one.
        """
        arguments = self._arguments_of(made)
        perturber = Perturber(made, arguments, self._options.seed)
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as kept:
            there = _Reference(made, arguments, perturber, Path(kept), baseline=reference.capture.code_object)
            self._try_all(there)
            complaint = self._memory(there, None, {})
        return None if complaint is None else Difference(complaint.reason, complaint.difference or DifferenceSection())

    def _arguments_of(self, capture: Capture) -> Arguments:
        types = parameter_layouts(self._source, self._kernel, capture.kernel)
        return arguments_of(capture, self._kernel, types, self._metadata)

    def _reference(self, index: int) -> _Reference:
        with self._making:
            if index not in self._references:
                self._references[index] = self._made_reference(index)
        return self._references[index]

    def _made_reference(self, index: int) -> _Reference:
        _, capture = self._captures[index]
        arguments = self._arguments_of(capture)
        perturber = Perturber(capture, arguments, self._options.seed)
        reference = _Reference(capture, arguments, perturber, Path(self._scratch.name))
        self._require_no_answers(capture)
        self._try_all(reference)
        as_captured = _succeeded(reference.tried[0].outcome)
        if not as_captured.equal and self._options.ulps == 0:
            reference.complaint = "the baseline itself does not give the same bytes twice: allow a tolerance with --ulps"
        return reference

    def _require_no_answers(self, capture: Capture) -> None:
        """Raises ReplayFailedError if the kernel asks the host for something, which nobody answers in a replay. The compiler's
        metadata shows only that it may ask: an assertion that holds does not.
        """
        services = [_SERVICES[one.value_kind] for one in self._metadata.arguments if one.value_kind in _SERVICES]
        if not services:
            return
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            (outcome,) = self._replay_cases(capture, [Case(dump=False)], Path(folder), None)
        if outcome.failure:
            failure = outcome.failure.removeprefix(f"{capture.path}: ")
            raise ReplayFailedError(
                f"{capture.kernel} cannot be replayed ({failure}), probably because it uses {' and '.join(services)}: a replay "
                "has no host side to answer",
                "build the program without that in this kernel, for example with -DNDEBUG for assertions",
            )

    def _try_all(self, reference: _Reference) -> None:
        """Run the baseline on all cases."""
        reference.tried = self._tried(reference, self._cases(reference.perturber))
        for unfit in [one for one in reference.tried if one.outcome.failure or is_too_little_work(one, reference.tried[0])]:
            reference.tried += self._parts_of(reference, unfit)

    def _cases(self, perturber: Perturber) -> list[tuple[str, Case, Perturbation | None]]:
        cases: list[tuple[str, Case, Perturbation | None]] = [(_CAPTURED, Case(compare=True), None)]
        for poison in POISONS:
            cases.append((f"{_CAPTURED}, outputs filled with {poison:#04x}", Case(poison=poison), None))
        for number, other in enumerate(perturber.all()):
            if self._options.level == "full" or other.name in FIRST:
                cases.append((other.name, _case(other, number), other))
        return cases

    def _tried(self, reference: _Reference, cases: Sequence[tuple[str, Case, Perturbation | None]]) -> list[TriedCase]:
        """The cases with the baseline's results."""
        if not cases:
            return []
        folder = Path(tempfile.mkdtemp(dir=reference.folder))
        began = time.monotonic()
        outcomes = self._replay_cases(reference.capture, [case for _, case, _ in cases], folder, reference.baseline)
        reference.seconds = max(reference.seconds, (time.monotonic() - began) / len(cases))
        return [TriedCase(*case, outcome) for case, outcome in zip(cases, outcomes, strict=True)]

    def _parts_of(self, reference: _Reference, whole: TriedCase) -> list[TriedCase]:
        """The cases that replace a dropped one: the same perturbation, applied to one parameter at a time."""
        parts = reference.perturber.parts(whole.perturbation) if whole.perturbation else []
        return self._tried(reference, [(one.name, _case(one, number), one) for number, one in enumerate(parts)])

    def _judge(self, reference: _Reference, candidate: Path, found: dict[str, str]) -> _Complaint | None:
        """What is wrong with the candidate on this capture; None if nothing is."""
        return self._memory(reference, candidate, found) or self._other_runs(reference, candidate, found)

    def _memory(self, reference: _Reference, candidate: Path | None, found: dict[str, str]) -> _Complaint | None:
        left = reference.tried
        while left:
            found |= {one.name: "dropped: the baseline itself fails on it" for one in left if one.outcome.failure}
            dropped: list[TriedCase] = []
            if complaint := self._same(reference, [one for one in left if not one.outcome.failure], candidate, found, dropped):
                return complaint
            left = [part for one in dropped for part in self._ordered_parts(reference, one)]
        return None

    def _same(
        self,
        reference: _Reference,
        tried: Sequence[TriedCase],
        candidate: Path | None,
        found: dict[str, str],
        dropped: list[TriedCase],
    ) -> _Complaint | None:
        """Compare the candidate's results on these cases; None if it is right.

        candidate: its code object; None if it is the captured one. found: receives the outcome of each case; dropped: receives
        the cases for which the baseline itself depends on the order.
        """
        if not tried:
            return None
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            try:
                allowed = max(_LEAST_PATIENCE_SECONDS, _PATIENCE * reference.seconds * len(tried))
                cases = [one.case for one in tried]
                outcomes = self._replay_cases(reference.capture, cases, Path(folder), candidate, seconds=allowed)
            except UnfitCodeError as error:
                return _Complaint(error.what)
            for one, outcome in zip(tried, outcomes, strict=True):
                complaint = self._compared(reference, one, outcome)
                if complaint and (why := self._unfit(reference, one, outcome)):
                    found[one.name] = why
                    dropped.append(one)
                    continue
                found[one.name] = "differs" if complaint else "equal"
                if complaint:
                    return _Complaint(f"on {one.name}: {complaint.reason}", complaint.difference, one.name)
        return None

    def _compared(self, reference: _Reference, one: TriedCase, outcome: CaseOutcome) -> _Complaint | None:
        if outcome.failure:  # leave out the capture's path, which means nothing to a proposer
            return _Complaint(outcome.failure.removeprefix(f"{reference.capture.path}: "))
        expected, found = Outputs(one.outcome.dump), Outputs(outcome.dump)
        if apart := difference(expected, found, reference.arguments.buffers, self._options.ulps):
            return _Complaint(apart.reason, apart.where)
        return None

    def _unfit(self, reference: _Reference, one: TriedCase, outcome: CaseOutcome) -> str | None:
        """Why a candidate's outcome on a case of other inputs is not held against it; None if it is.

        With indices and sizes that the program never uses, the baseline may read outside its buffers, or several workgroups
        write to the same place; then no result is the right one. This is checked only if a candidate differs. A failure counts
        unless the baseline leaves its buffers. Captured inputs are never dropped.
        """
        if one.perturbation is None:
            return None
        if one.name not in reference.unfit:
            reference.unfit[one.name] = self._why_unfit(reference, one, one.perturbation)
        why = reference.unfit[one.name]
        return None if outcome.failure and why == _DEPENDS_ON_ORDER else why

    def _why_unfit(self, reference: _Reference, one: TriedCase, other: Perturbation) -> str | None:
        if self._reads_around(reference, one):
            return "dropped: the baseline itself depends on what lies outside its buffers on it"
        in_orders = [replace(one.case, device_options=more) for more in self._other_orders(reference)]
        if any(self._differs_again(reference, case, one) for case in in_orders):
            return _DEPENDS_ON_ORDER
        return _DEPENDS_ON_ORDER if other.beyond and self._reads_what_it_writes(reference, one) else None

    def _other_orders(self, reference: _Reference) -> list[tuple[str, ...]]:
        """Options of the software device for each run; a GPU needs none, since its order varies between runs anyway."""
        if not is_modelled(reference.capture):
            return [()] * _AGAIN
        return [options for _, options in self._in_orders(len(self._options.orders))]

    def _in_orders(self, runs: int) -> list[tuple[str, tuple[str, ...]]]:
        """Names of other orders, which take turns, and options of the software device for so many runs.

        Neighbouring runs have different options: within one life of the device, a pair of instructions is reported only once.
        """
        fills = seeds.initial_values(self._options.seed, runs)
        return [
            (f"order {seed}", (f"race-check={seed}", f"{devices.INITIAL_VALUES}={fill}"))
            for seed, fill in zip(itertools.cycle(self._options.orders), fills, strict=False)
        ]

    def _reads_what_it_writes(self, reference: _Reference, one: TriedCase) -> bool:
        """Whether the baseline's result on a case depends on the previous contents of its outputs, as when it reads past the
        end of an input.
        """
        others = (poison for poison in (None, *POISONS) if poison != one.case.poison)
        return any(self._differs_again(reference, replace(one.case, poison=poison), one) for poison in others)

    def _reads_around(self, reference: _Reference, one: TriedCase) -> bool:
        """Whether the baseline gives other results, or fails, with other bytes around its buffers."""
        around = reference.perturber.around
        with self._again(reference, replace(one.case, overlays=(*one.case.overlays, *around))) as again:
            return again is None or not same_but_for(around, Outputs(one.outcome.dump), again)

    def _differs_again(self, reference: _Reference, case: Case, one: TriedCase) -> bool:
        with self._again(reference, case) as again:
            return again is not None and difference(Outputs(one.outcome.dump), again, [], self._options.ulps) is not None

    @contextlib.contextmanager
    def _again(self, reference: _Reference, case: Case) -> Iterator[Outputs | None]:
        """What the baseline leaves in another run; None if it fails."""
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            (outcome,) = self._replay_cases(reference.capture, [case], Path(folder), reference.baseline)
            yield None if outcome.failure else Outputs(outcome.dump)

    def _ordered_parts(self, reference: _Reference, whole: TriedCase) -> list[TriedCase]:
        with self._making:
            if whole.name not in reference.parts:
                reference.parts[whole.name] = self._parts_of(reference, whole)
        return reference.parts[whole.name]

    def _usable(self, reference: _Reference) -> Iterator[TriedCase]:
        """All cases on which the baseline works and, as far as is known, gives the only right result; with the captured inputs
        first.
        """
        for one in (*reference.tried, *(part for parts in reference.parts.values() for part in parts)):
            if not one.outcome.failure and reference.unfit.get(one.name) is None:
                yield one

    def _unproven(self, reference: _Reference, found: dict[str, str]) -> Iterator[Unknown]:
        tried = [*reference.tried, *(part for parts in reference.parts.values() for part in parts)]
        return unproven_in(reference.capture, reference.arguments, reference.perturber.fields, tried, found)

    def _other_runs(self, reference: _Reference, candidate: Path, found: dict[str, str]) -> _Complaint | None:
        """Judge the runs that only the software device supports: other orders of workgroups and waves with a check for
        unordered accesses, and chosen initial contents of registers, LDS and private memory.
        """
        if self._options.level != "full" or not is_modelled(reference.capture):
            return None
        with self._making:
            if not reference.others:
                reference.runs = dict(self._otherwise(reference))
                reference.others = self._run_otherwise(reference, reference.baseline, ulps=0)
                for name, run in reference.runs.items():
                    if run.on_captured_inputs:
                        _succeeded(reference.others[name])
        results = self._run_otherwise(reference, candidate, self._options.ulps)
        complaints = (self._judge_otherwise(reference, name, results[name], found) for name in reference.runs)
        return next((complaint for complaint in complaints if complaint), None)

    def _otherwise(self, reference: _Reference) -> Iterator[tuple[str, _OtherRun]]:
        """The other runs. A kernel must not be able to hide a race by recognising the order, or by racing only on
        other inputs. With these, LDS holds other words at first, since reads of it are no complaint there.
        """
        captured = reference.tried[0]
        other_values = f"{devices.INITIAL_VALUES}={seeds.other_values(self._options.seed)}"
        yield _OTHER_VALUES, _observed(captured, (other_values,))
        yield _USUAL_ORDER, _observed(captured, (f"race-check={seeds.USUAL_ORDER}",))
        orders = len(self._options.orders)
        others = raced_cases(list(self._usable(reference)), self._options.seed) if orders else []
        for turn, (order, options) in enumerate(self._in_orders(orders + len(others))):
            one = captured if turn < orders else others[turn - orders]
            if one is captured:
                yield order, _observed(one, options)
            else:
                yield f"{order}, {one.name}", _observed(one, (*options, other_values))

    def _run_otherwise(self, reference: _Reference, code: Path | None, ulps: int) -> dict[str, CaseOutcome]:
        """The outcomes by name; `equal` tells whether memory is as after the baseline's usual run with these inputs."""
        runs, buffers = reference.runs, reference.arguments.buffers
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            outcomes = self._replay_cases(reference.capture, [run.case for run in runs.values()], Path(folder), code)
            return {
                name: outcome if outcome.failure else replace(outcome, equal=_same(run.like.outcome, outcome, buffers, ulps))
                for (name, run), outcome in zip(runs.items(), outcomes, strict=True)
            }

    def _judge_otherwise(
        self, reference: _Reference, name: str, result: CaseOutcome, found: dict[str, str]
    ) -> _Complaint | None:
        run, baseline, buffers = reference.runs[name], reference.others[name], reference.arguments.buffers
        if baseline.failure:
            found[name] = "dropped: the baseline itself fails on it"
            return None
        if result.failure:
            found[name] = "failed"
            how = f"with {_OTHER_VALUES}" if name == _OTHER_VALUES else f"when workgroups run in {name}"
            return _Complaint(f"it fails {how}: {result.failure}")
        found[name] = "equal" if run.on_captured_inputs else "no race"
        alike = [reference.others[other].races for other, one in reference.runs.items() if one.like is run.like]
        races = result.races if run.on_captured_inputs else without_unwritten_reads(result.races)
        if race := new_race([line for lines in alike for line in lines], races, reference.capture, buffers):
            found[name] = "race"
            return _Complaint(f"it races: {race}")
        if elsewhere := stores_elsewhere(baseline.written, result.written, buffers):
            found[name] = "stores elsewhere"
            return _Complaint(elsewhere.reason, stores=elsewhere.where)
        return None if result.equal else self._result_otherwise(reference, name, found)

    def _result_otherwise(self, reference: _Reference, name: str, found: dict[str, str]) -> _Complaint | None:
        """What is wrong with a candidate whose result is another one in this run."""
        run, baseline = reference.runs[name], reference.others[name]
        if name == _OTHER_VALUES and not baseline.equal:
            found[name] = f"dropped: the baseline itself depends on {_HELD_BEFORE}"
            return None
        varies = not baseline.equal or reference.unfit.get(run.like.name) is not None
        if varies and (baseline.races or self._options.ulps or not run.on_captured_inputs):
            found[name] = _DEPENDS_ON_ORDER
            return None
        found[name] = "differs"
        if varies:
            return _Complaint(
                "its result depends on the order of workgroups or waves, as the baseline's does: allow a tolerance with --ulps"
            )
        where = "" if run.on_captured_inputs else f"on {run.like.name}: "
        order = "" if name == _OTHER_VALUES else "the order of workgroups or waves, or on "
        return _Complaint(f"{where}its result depends on {order}{_HELD_BEFORE}")

    def _replay_cases(
        self,
        capture: Capture,
        cases: Sequence[Case],
        folder: Path,
        code: Path | None,
        seconds: float | None = None,
    ) -> list[CaseOutcome]:
        """Replay cases with the options of this step. seconds: wall time allowed for all cases together."""
        options = self._options
        limit = [f"kernel-limit={options.instruction_limit}"] if is_modelled(capture) else []
        return replay_cases(
            capture,
            cases,
            folder,
            hsaco=code,
            timeout=options.timeout,
            device=options.device,
            device_options=[*limit, *write_check(capture)],
            view=options.view,
            seconds=seconds,
        )


def _observed(like: TriedCase, options: tuple[str, ...]) -> _OtherRun:
    return _OtherRun(like, replace(like.case, device_options=options, compare=False, findings=True))


def _same(expected: CaseOutcome, found: CaseOutcome, buffers: Sequence[Buffer], ulps: int) -> bool:
    return difference(Outputs(expected.dump), Outputs(found.dump), buffers, ulps) is None


def _succeeded(outcome: CaseOutcome) -> CaseOutcome:
    """The outcome of a case on which the baseline must not fail. Raises ReplayFailedError if it did."""
    if outcome.failure:
        raise ReplayFailedError(outcome.failure, "see docs/REPLAY.md")
    return outcome


def _case(other: Perturbation, number: int) -> Case:
    """The outputs are alternately left as they were and poisoned: only the former gives other values to a buffer that is both
    input and output.
    """
    return Case(other.overlays, None if other.on_results else (None, *POISONS)[number % (1 + len(POISONS))])


def _about(arguments: str | None, capture: Capture, cases: dict[str, str]) -> CapturedLaunch:
    """Describe a launch and the outcomes of its cases. arguments: the program's."""
    origin, packet = capture.dispatch["origin"], capture.dispatch["packet"]
    return CapturedLaunch(
        arguments=arguments,
        dispatch=origin["dispatch_index"],
        grid=packet["grid"],
        workgroup=packet["workgroup"],
        cases=cases,
    )


def _judged_sizes(captures: Sequence[CapturedLaunch]) -> str:
    launches = dict.fromkeys(
        f"{_size(one.grid)} threads in groups of {_size(one.workgroup)}{_with(one.arguments)}" for one in captures
    )
    return f"judged at {', '.join(launches)}"


def _with(arguments: str | None) -> str:
    return f" (`{arguments}`)" if arguments else ""


def _size(extent: Sequence[int]) -> str:
    *more, last = [f"{number}" for number in extent]
    while more and last == "1":
        *more, last = more
    return " x ".join([*more, last])
