"""Step 4: on captured and on other inputs, the candidate leaves the memory that the baseline leaves, byte for byte."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.cage import View
from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import ReplayFailedError, UnfitCodeError
from rocm_perf_lab.hip_source import Kernel
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replay import Case, CaseOutcome, ReplayResult, replay, replay_cases

from .buffers import Buffer, arguments_of
from .checked_replay import is_modelled, write_check
from .outputs import Outputs, difference
from .perturbation import perturbations
from .verdict import StepVerdict, passed, rejected, skipped

STEP = "equivalence"
POISONS = (0xA5, 0xFF)  # the second is a NaN in every floating-point type
LEVELS = ("full", "sampled", "program")


@dataclass(frozen=True)
class EquivalenceOptions:
    """level: full (all captures, all perturbations, race check), sampled (one capture, one perturbation) or program
    (nothing is replayed: the whole program's output alone decides). ulps: tolerance of floating-point buffers, 0 for none.
    race_seeds: orders of workgroups and waves to try, on the software device. timeout: seconds for one dispatch;
    instruction_limit: of a wave on the software device, where it ends what does not end the same way on every machine.
    view: of the cage that all replays run in."""

    level: str = "full"
    ulps: int = 0
    seed: int = 0
    race_seeds: tuple[int, ...] = (1, 2)
    timeout: int = 120
    instruction_limit: int = 100_000_000
    device: str = devices.AUTO
    view: View = View()


@dataclass
class _Reference:
    """One capture with what the baseline makes of every case; made once, for all candidates."""

    capture: Capture
    buffers: list[Buffer]
    names: list[str]
    cases: list[Case]
    outcomes: list[CaseOutcome] = field(default_factory=list)
    complaint: str | None = None
    races: dict[int, tuple[str, ...]] = field(default_factory=dict)
    unordered: dict[int, bool] = field(default_factory=dict)


class Equivalence:
    """The judge of candidates for one kernel. kernel, metadata: the baseline's, for the types of what it is given.

    Use as a context manager: the baseline's outputs lie in a temporary folder. Several threads may check at a time.
    """

    def __init__(
        self,
        captures: Sequence[Capture],
        kernel: Kernel,
        metadata: KernelMetadata,
        options: EquivalenceOptions = EquivalenceOptions(),
    ):
        self._captures = captures[:1] if options.level == "sampled" else captures
        self._kernel, self._metadata, self._options = kernel, metadata, options
        self._references: dict[int, _Reference] = {}
        self._making = threading.Lock()

    def __enter__(self) -> Equivalence:
        self._scratch = tempfile.TemporaryDirectory(prefix="rocm-perf-gate-")
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.cleanup()

    def check(self, candidate: Path) -> StepVerdict:
        """candidate: its code object. Raises PlacementError where memory cannot be had at the captured addresses."""
        options = self._options
        evidence: dict = {"level": options.level, "seed": options.seed, "ulps": options.ulps, "captures": []}
        if options.level == "program":
            return skipped(STEP, "not replayed, as asked for: the program's output decides", **evidence)
        for index in range(len(self._captures)):
            reference = self._reference(index)
            found: dict[str, str] = {}
            evidence["captures"].append({"dispatch": reference.capture.dispatch["origin"]["dispatch_index"], "cases": found})
            if complaint := reference.complaint or self._judge(reference, candidate, found):
                return rejected(STEP, complaint, **evidence)
        compared = sum(outcome == "equal" for entry in evidence["captures"] for outcome in entry["cases"].values())
        how = f"floating-point numbers within {options.ulps} ULP" if options.ulps else "bit for bit"
        level = "" if options.level == "full" else f" (level {options.level}: of one dispatch, without other orders of waves)"
        return passed(STEP, f"the same memory in all {compared} cases, {how}{level}", **evidence)

    def outputs_of(self, index: int) -> Outputs:
        """What the baseline writes on the captured inputs of one of the captures."""
        return Outputs(self._reference(index).outcomes[0].dump)

    def _reference(self, index: int) -> _Reference:
        with self._making:
            if index not in self._references:
                self._references[index] = self._made_reference(index)
        return self._references[index]

    def _made_reference(self, index: int) -> _Reference:
        capture = self._captures[index]
        buffers, numbers = arguments_of(capture, self._kernel, self._metadata)
        names, cases = ["captured inputs"], [Case()]
        for poison in POISONS:
            names.append(f"captured inputs, outputs filled with {poison:#04x}")
            cases.append(Case(poison=poison))
        for number, other in enumerate(perturbations(capture, buffers, numbers, self._options.seed)):
            if self._options.level == "full" or number == 0:
                names.append(other.name)
                cases.append(Case(other.overlays, POISONS[number % 2]))
        reference = _Reference(capture, buffers, names, cases)
        if not self._run(capture, None, compare=True).equal and self._options.ulps == 0:
            reference.complaint = "the baseline itself does not give the same bytes twice: allow a tolerance in ULP"
            return reference
        folder = Path(self._scratch.name, str(index))
        folder.mkdir()
        reference.outcomes = self._replay_cases(reference, folder, None)
        return reference

    def _judge(self, reference: _Reference, candidate: Path, found: dict[str, str]) -> str | None:
        """What is wrong with the candidate on this capture; None if nothing is."""
        return self._memory(reference, candidate, found) or self._races(reference, candidate, found)

    def _memory(self, reference: _Reference, candidate: Path, found: dict[str, str]) -> str | None:
        options = self._options
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            try:
                outcomes = self._replay_cases(reference, Path(folder), candidate)
            except UnfitCodeError as error:
                return error.what
            for number, (name, expected, outcome) in enumerate(zip(reference.names, reference.outcomes, outcomes, strict=True)):
                if expected.failure:
                    found[name] = "dropped: the baseline itself fails on it"
                    continue
                complaint = outcome.failure or difference(
                    Outputs(expected.dump), Outputs(outcome.dump), reference.buffers, options.ulps
                )
                if complaint and outcome.failure is None and self._depends_on_order(reference, number):
                    found[name] = "dropped: the baseline itself depends on the order of workgroups on it"
                    continue
                found[name] = "differs" if complaint else "equal"
                if complaint:
                    return f"on {name}: {complaint}"
        return None

    def _depends_on_order(self, reference: _Reference, number: int) -> bool:
        """Whether the baseline gives other bytes for a case of other inputs when its workgroups and waves run in another order.

        Sizes that the program never uses can make workgroups write to one place; then there is nothing to be equal to. Asked
        only where a candidate differs. Captured inputs are never dropped.
        """
        case = reference.cases[number]
        if not case.overlays or not is_modelled(reference.capture):
            return False
        if number not in reference.unordered:
            reference.unordered[number] = any(self._differs_in_order(reference, number, s) for s in self._options.race_seeds)
        return reference.unordered[number]

    def _differs_in_order(self, reference: _Reference, number: int, seed: int) -> bool:
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            (outcome,) = replay_cases(
                reference.capture,
                reference.cases[number : number + 1],
                Path(folder),
                timeout=self._options.timeout,
                device=self._options.device,
                device_options=[f"race-check={seed}", *write_check(reference.capture)],
                view=self._options.view,
            )
            if outcome.failure:
                return False
            return difference(Outputs(reference.outcomes[number].dump), Outputs(outcome.dump), []) is not None

    def _races(self, reference: _Reference, candidate: Path, found: dict[str, str]) -> str | None:
        """The software device alone can run workgroups and waves in other orders, and see unordered accesses."""
        if self._options.level != "full" or not is_modelled(reference.capture):
            return None
        for seed in self._options.race_seeds:
            name, option = f"order {seed}", [f"race-check={seed}"]
            with self._making:
                if seed not in reference.races:
                    reference.races[seed] = self._run(reference.capture, None, device_options=option).races
            try:
                result = self._run(reference.capture, candidate, device_options=option, compare=True)
            except ReplayFailedError as error:
                found[name] = "failed"
                return f"it fails when workgroups run in another order: {error.what}"
            found[name] = "equal"
            if len(result.races) > len(reference.races[seed]):
                found[name] = "race"
                return f"it races: {result.races[0]}"
            if not reference.races[seed] and not result.equal and self._options.ulps == 0:
                found[name] = "differs"
                return "its result depends on the order of workgroups or waves, or on what registers and LDS held before"
        return None

    def _replay_cases(self, reference: _Reference, folder: Path, code: Path | None) -> list[CaseOutcome]:
        options = self._options
        limit = [f"kernel-limit={options.instruction_limit}"] if is_modelled(reference.capture) else []
        return replay_cases(
            reference.capture,
            reference.cases,
            folder,
            hsaco=code,
            timeout=options.timeout,
            device=options.device,
            device_options=[*limit, *write_check(reference.capture)],
            view=options.view,
        )

    def _run(self, capture: Capture, code: Path | None, device_options: Sequence[str] = (), **more) -> ReplayResult:
        options = self._options
        return replay(
            capture,
            hsaco=code,
            iterations=1,
            timeout=options.timeout,
            device=options.device,
            device_options=[*device_options, *write_check(capture)],
            view=options.view,
            **more,
        )
