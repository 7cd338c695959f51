"""All steps in their order, for one kernel and any number of candidates. Whoever proposes a change asks here.

A step is only taken when those before it passed: what does not compile to the same contract is never run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from rocm_perf_lab.arch.family import family_of
from rocm_perf_lab.arch.occupancy import KernelResources
from rocm_perf_lab.code_object import CodeObject, KernelMetadata, parse
from rocm_perf_lab.errors import RocmPerfError, SourceError
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.isolate import Capture

from . import application, code_object_check, equivalence, measurement, source_check
from .code_object_check import ResourceLimits, check_code_object
from .equivalence import Equivalence, EquivalenceOptions
from .measurement import MeasurementOptions, check_measurement
from .promises import NONE, Promises, broken_in_capture
from .source_check import check_source
from .verdict import Outcome, StepVerdict, Verdict, passed, rejected, skipped

BUILD = "build"
STEPS = (source_check.STEP, BUILD, code_object_check.STEP, equivalence.STEP, measurement.STEP, application.STEP)

Build = Callable[[HipSource], bytes]
"""Makes the code object of a source. Raises RocmPerfError with what the compiler said."""

WholeProgram = Callable[[HipSource], StepVerdict]
"""Builds the whole program with a candidate and holds it against the baseline's: Application.check, with the caller's build."""


@dataclass(frozen=True)
class GateOptions:
    """measured: False leaves the measurement out, for those who ask only whether a change is right."""

    resources: ResourceLimits = field(default_factory=ResourceLimits)
    equivalence: EquivalenceOptions = field(default_factory=EquivalenceOptions)
    measurement: MeasurementOptions = field(default_factory=MeasurementOptions)
    measured: bool = True


class Judge:
    """baseline: the source the captures' program was built from. kernel: the target's name in it. captures: its dispatches.

    build: makes code objects; it is the caller's, who knows flags and limits. whole_program: the last step; None leaves it out.
    also: by the program's other arguments, dispatches with these, for equivalence alone: a gain is asked for with its own.
    Use as a context manager.
    Errors: SourceError where source and captures do not belong together.
    """

    def __init__(
        self,
        baseline: HipSource,
        kernel: str,
        captures: Sequence[Capture],
        build: Build,
        options: GateOptions = GateOptions(),
        whole_program: WholeProgram | None = None,
        also: Mapping[str, Sequence[Capture]] = MappingProxyType({}),
    ):
        self._shown_for = [*captures, *(one for more in also.values() for one in more)]
        if not captures or len({capture.symbol for capture in self._shown_for}) != 1:
            raise SourceError("the gate needs captures of one kernel", "capture it with `rocm-perf isolate`")
        self._baseline, self._captures, self._build, self._options = baseline, captures, build, options
        self._whole_program = whole_program
        self._kernel = baseline.kernel(kernel)
        self._symbol = captures[0].symbol
        self._code: CodeObject = parse(captures[0].code_object.read_bytes())
        self._metadata: KernelMetadata = self._code.kernels[self._symbol]
        if self._kernel.symbol not in (None, self._symbol):
            raise SourceError(f"the captures are of {captures[0].kernel}, not of {kernel}", "capture the kernel to be judged")
        self._equivalence = Equivalence(captures, baseline, self._kernel, self._metadata, options.equivalence, also)

    def __enter__(self) -> Judge:
        self._equivalence.__enter__()
        return self

    def __exit__(self, *details: object) -> None:
        self._equivalence.__exit__(*details)

    def judge(self, candidate: HipSource, promises: Promises = NONE) -> Verdict:
        """All verdicts, those after a rejection skipped. promises: what it may declare, and must keep; see gate.promises.

        Errors: those of the baseline, or of the machine, alone.
        """
        with tempfile.TemporaryDirectory(prefix="rocm-perf-gate-") as folder:
            image = Path(folder, "candidate.hsaco")
            steps: list[StepVerdict] = []
            for name, step in zip(STEPS, self._steps(candidate, image, promises), strict=True):
                if any(verdict.outcome is Outcome.REJECTED for verdict in steps):
                    steps.append(skipped(name))
                else:
                    steps.append(step())
        return Verdict(tuple(steps))

    def _steps(self, candidate: HipSource, image: Path, promises: Promises) -> tuple[Callable[[], StepVerdict], ...]:
        return (
            lambda: self._source(candidate, promises),
            lambda: self._built(candidate, image),
            lambda: self._code_object(image, promises),
            lambda: self._equivalence.check(image),
            lambda: self._measured(image),
            lambda: self._application(candidate),
        )

    def _source(self, candidate: HipSource, promises: Promises) -> StepVerdict:
        try:
            verdict = check_source(self._baseline, candidate, self._kernel.name, promises)
        except SourceError as error:
            return rejected(source_check.STEP, f"it cannot be read: {error.what}")
        if promises == NONE or verdict.outcome is Outcome.REJECTED:
            return verdict
        for capture in self._shown_for:
            if complaint := broken_in_capture(capture, self._kernel, self._metadata, promises):
                return rejected(source_check.STEP, f"it promises {promises}, but {complaint}")
        shown = [capture.dispatch["origin"]["dispatch_index"] for capture in self._captures]
        dispatches = ", ".join(map(str, shown))
        reason = f"{verdict.reason} (shown for the source's launches and the captured dispatches alone: {dispatches})"
        return replace(verdict, reason=reason, evidence=verdict.evidence | {"promises": str(promises), "shown_for": shown})

    def _built(self, candidate: HipSource, image: Path) -> StepVerdict:
        try:
            image.write_bytes(self._build(candidate))
        except RocmPerfError as error:
            return rejected(BUILD, error.what)
        return passed(BUILD, "it compiles within the limits")

    def _code_object(self, image: Path, promises: Promises) -> StepVerdict:
        try:
            candidate = parse(image.read_bytes())
        except SourceError as error:
            return rejected(code_object_check.STEP, error.what)
        packet = self._captures[0].dispatch["packet"]
        threads = packet["workgroup"][0] * packet["workgroup"][1] * packet["workgroup"][2]
        after = candidate.kernels.get(self._symbol)
        if self._options.measured and after is not None and after.code == self._metadata.code:
            return rejected(code_object_check.STEP, "the compiler makes the same machine code of it: nothing can be gained")
        dynamic = packet["group_segment_size"] - self._metadata.lds_bytes
        waves = tuple(
            _resident_waves(self._captures[0].target, kernel, threads, dynamic)
            for kernel in (self._metadata, after or self._metadata)
        )
        limits = self._options.resources
        verdict = check_code_object(self._code, candidate, self._symbol, threads, waves, limits, promises.threads)
        return replace(verdict, evidence=verdict.evidence | {"symbol": self._symbol})

    def _measured(self, image: Path) -> StepVerdict:
        options = self._options
        if not options.measured:
            return skipped(measurement.STEP, "not asked for")
        replayed = options.equivalence.level != "program"
        changed = [
            self._equivalence.outputs_of(i).changed_bytes if replayed and (i == 0 or options.equivalence.level == "full") else 0
            for i in range(len(self._captures))
        ]
        return check_measurement(self._captures, image, changed, options.measurement)

    def _application(self, candidate: HipSource) -> StepVerdict:
        if self._whole_program is None:
            return skipped(application.STEP, "not asked for")
        try:
            return self._whole_program(candidate)
        except SourceError as error:
            return rejected(application.STEP, f"the program cannot be built with it: {error.what}")


def _resident_waves(target: str, kernel: KernelMetadata, threads: int, dynamic_lds: int) -> int:
    """Waves a CU as the launch would have them. vgprs counts AGPRs already where both share a file."""
    family = family_of(target)
    if family is None:
        return 1
    resources = KernelResources(kernel.vgprs, 0, kernel.sgprs, kernel.lds_bytes + max(0, dynamic_lds), threads)
    return family.occupancy(resources).resident_waves_per_cu
