"""Runs all steps in order, for one instantiation of a kernel and any number of candidates. Every proposer of changes to HIP
kernels uses this module.

A step runs only if no previous step rejected the candidate. In particular, code that does not honour the baseline's contract
never runs.
"""

from __future__ import annotations

import functools
import math
import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.occupancy import KernelResources
from rocm_perf_lab.code_object import CodeObject, KernelMetadata, parse
from rocm_perf_lab.errors import RocmPerfError, SourceError
from rocm_perf_lab.gate.application import application_check
from rocm_perf_lab.gate.application.gain_in_program import ClaimedGain
from rocm_perf_lab.gate.application.location_dependence import depends_on_location
from rocm_perf_lab.gate.code_object import code_object_check, translation_units
from rocm_perf_lab.gate.code_object.code_object_check import BuiltCodeObject, ResourceLimits, check_code_object, instantiations
from rocm_perf_lab.gate.equivalence import equivalence_check
from rocm_perf_lab.gate.equivalence.added_literals import literals_added
from rocm_perf_lab.gate.equivalence.equivalence_check import EquivalenceCheck
from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
from rocm_perf_lab.gate.measurement import measurement_check
from rocm_perf_lab.gate.measurement.measurement_check import (
    MeasurementOptions,
    check_measurement,
    rejection_if_too_slow,
    time_on_captured_inputs,
)
from rocm_perf_lab.gate.measurement.timed_replays import CodePair, KnownTimes
from rocm_perf_lab.gate.replayable_code import ReplayableCode
from rocm_perf_lab.gate.source import source_check
from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.gate.source.expanded_text_check import ExpandedTextCheck
from rocm_perf_lab.gate.source.launch_change import LaunchChange
from rocm_perf_lab.gate.source.launch_coverage import launches_too_little
from rocm_perf_lab.gate.source.launch_rule import LaunchRule, LaunchRules
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises, broken_in_capture
from rocm_perf_lab.gate.source.source_check import SourceStepResult, check_source, with_promises
from rocm_perf_lab.gate.verdict import StepOutcome, StepVerdict, Verdict, passed, rejected, skipped
from rocm_perf_lab.gate.verdict_document import DifferenceSection, MeasurementEvidence
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.integer_expression import NoValueError
from rocm_perf_lab.hip_source.source_state import split_state
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.process.side_by_side import side_by_side
from rocm_perf_lab.replaying.launch import captured_launch

BUILD = "build"
_SAME_HOST = passed(application_check.STEP, "the host's object code is the baseline's")
_CHEAP_STEPS = (source_check.STEP, BUILD, code_object_check.STEP)
STEPS = (*_CHEAP_STEPS, equivalence_check.STEP, measurement_check.STEP, application_check.STEP)


class Builder(Protocol):
    """Compiles sources as the program's own build does. Raises RocmPerfError with the compiler's message."""

    def code_object(self, source: HipSource) -> bytes:
        """The code object, linked with --emit-relocs."""

    def code_object_named(self, source: HipSource, name: str) -> bytes:
        """Like code_object(), except that the compiler is given the unit's main file under this name, relative to the source's
        folder.
        """

    def host(self, source: HipSource) -> bytes:
        """The host's relocatable object, without device code."""

    def called_names(self, source: HipSource) -> Collection[str]:
        """Identifiers that precede parentheses or angle brackets in any other file of the units that include the source."""

    def preprocessed(self, source: HipSource) -> Sequence[str]:
        """See gate.source.expanded_text_check.Preprocess."""


WholeProgram = Callable[[HipSource, ClaimedGain | None], StepVerdict]
"""Builds the whole program with a candidate and compares it with the baseline's; see BaselineProgram.check."""

Recapture = Callable[[HipSource, int], Capture]
"""Captures the dispatch of the capture with this index again, in the program built from the given source. Raises any error of
isolate.capture().
"""


@dataclass(frozen=True)
class GateOptions:
    """Settings of all steps.

    with_measurement: False skips the measurement, for callers that only want to know whether a change is correct. time_first:
    time a candidate once before it is compared, and reject it at once if it does not save enough time. (The loop of `optimize`
    may have dropped it even earlier, because a better candidate is known; see Search.) That saves most replays where candidates
    are usually correct and seldom faster, but does not show which of the rejected candidates are also wrong.
    """

    resources: ResourceLimits = field(default_factory=ResourceLimits)
    equivalence: EquivalenceOptions = field(default_factory=EquivalenceOptions)
    measurement: MeasurementOptions = field(default_factory=MeasurementOptions)
    with_measurement: bool = True
    time_first: bool = False


class Judge:
    """Judges candidates for one instantiation of a kernel.

    baseline: the source that the captured program was built from. kernel: the target's name in it. captures: dispatches of that
    kernel. builder: makes code objects; supplied by the caller, with flags and limits. reader: reads candidates for this
    baseline; also supplied by the caller. whole_program: the runs of the last step; None skips these runs.
    captures_by_arguments: dispatches captured with other program arguments, keyed by these arguments; they are used for
    equivalence only, as the gain has to be shown with the program's own arguments. recapture: used by the last step to compare
    a dispatch; None skips that comparison. Use as a context manager.

    Raises SourceError if the captures do not match the source.
    """

    def __init__(
        self,
        baseline: HipSource,
        kernel: str,
        captures: Sequence[Capture],
        builder: Builder,
        reader: CandidateReader,
        options: GateOptions = GateOptions(),
        whole_program: WholeProgram | None = None,
        captures_by_arguments: Mapping[str, Sequence[Capture]] = MappingProxyType({}),
        recapture: Recapture | None = None,
    ):
        self._all_captures = [*captures, *(capture for more in captures_by_arguments.values() for capture in more)]
        if not captures or len({capture.symbol for capture in self._all_captures}) != 1:
            raise SourceError("the gate needs captures of one kernel", "capture it with `rocm-perf isolate`")
        self._baseline, self._captures, self._builder, self._reader = baseline, captures, builder, reader
        self._options, self._whole_program, self._recapture = options, whole_program, recapture
        self._kernel = baseline.kernel(kernel)
        self._symbol = captures[0].symbol
        self._code: CodeObject = parse(captures[0].code_object.read_bytes())
        self._metadata: KernelMetadata = self._code.kernels[self._symbol]
        if self._kernel.symbol not in (None, self._symbol):
            raise SourceError(f"the captures are of {captures[0].kernel}, not of {kernel}", "capture the kernel to be judged")
        self._equivalence = EquivalenceCheck(
            captures, baseline, self._kernel, self._metadata, options.equivalence, captures_by_arguments
        )
        self._times: dict[LaunchRule | None, KnownTimes] = {}
        self._started: dict[tuple[bytes, Promises], _StartedCandidate] = {}
        self._expanded_text_check = ExpandedTextCheck(baseline, self._kernel, builder.preprocessed)

    def __enter__(self) -> Judge:
        self._equivalence.__enter__()
        self._scratch = tempfile.TemporaryDirectory(prefix="rocm-perf-gate-")
        return self

    def __exit__(self, *details: object) -> None:
        self._scratch.cleanup()
        self._equivalence.__exit__(*details)

    @property
    def symbol(self) -> str:
        """The mangled name of the kernel that this object judges."""
        return self._symbol

    @property
    def instantiations(self) -> Collection[str]:
        """The mangled names of the kernel's instantiations, including the judged one, in all units that include the kernel."""
        codes = [self._code, *(parse(self._builder.code_object(unit)) for unit in self._baseline.other_units_of_program)]
        return list(dict.fromkeys(name for code in codes for name in instantiations(code, self._kernel, self._symbol)))

    def judge(self, candidate: bytes, promises: Promises = NO_PROMISES) -> Verdict:
        """The verdicts of all steps; the steps after a rejection are skipped. candidate: as in hip_source.source_state.
        promises: promises made in addition to those in the candidate's head; see gate.source.promises.

        Raises only errors caused by the baseline or the machine.
        """
        started = self._started.pop((candidate, promises), None) or self._begin(candidate, promises)
        progress = started.progress
        if progress is None:
            return Verdict((*started.verdicts, *map(skipped, STEPS[1:])))
        verdicts = self._continue_steps(started.verdicts, progress, STEPS)
        not_compared = [
            f"{name} (not compared in the program: its contents vary from run to run)" for name in progress.not_compared
        ]
        plain_state = self._source_with(progress.without_line_directives, progress.launch).state
        return _verdict_with_adopted(Verdict(tuple(verdicts), plain_state).with_unproven(not_compared), progress.source_to_keep)

    def ratio_on_captured_inputs(self, candidate: bytes, promises: Promises = NO_PROMISES) -> float | None:
        """A lower bound on the ratio that a verdict can report: the candidate's modelled time on the captured inputs divided by
        the baseline's. None if an earlier step rejects the candidate, or if times are not modelled. judge() continues from
        here.

        Raises the same errors as judge().
        """
        started = self._begin(candidate, promises)
        self._started[candidate, promises] = started
        if started.progress is None:
            return None
        started.verdicts = self._continue_steps(started.verdicts, started.progress, _CHEAP_STEPS)
        if started.verdicts[-1].outcome is not StepOutcome.PASSED:
            return None
        first = time_on_captured_inputs(self._captures, self._code_pair(started.progress), self._options.measurement)
        return None if first is None else first.ratio

    def _begin(self, candidate: bytes, promises: Promises) -> _StartedCandidate:
        result = self._source_step(candidate, promises)
        if result.spliced is None:
            return _StartedCandidate([result.verdict], None)
        source = self._source_with(result.spliced.judged, result.launch)
        handle, image = tempfile.mkstemp(".hsaco", dir=self._scratch.name)
        os.close(handle)
        own_text, _ = split_state(candidate)
        progress = _CandidateProgress(
            source, own_text, result.spliced.without_line_directives, result.promises, Path(image), result.launch
        )
        progress.rules = self._rules_of(result.launch) if result.launch else None
        return _StartedCandidate([result.verdict], progress)

    def _continue_steps(
        self, done: Sequence[StepVerdict], progress: _CandidateProgress, steps: Sequence[str]
    ) -> list[StepVerdict]:
        """The verdicts of the steps named in `steps`. done: those of the first few of them, which are not run again."""
        verdicts = list(done)
        for name, step in list(zip(STEPS[1:], self._steps(progress), strict=True))[len(done) - 1 : len(steps) - 1]:
            is_rejected = any(verdict.outcome is StepOutcome.REJECTED for verdict in verdicts)
            verdicts.append(skipped(name) if is_rejected else step())
        return verdicts

    def _steps(self, progress: _CandidateProgress) -> tuple[Callable[[], StepVerdict], ...]:
        return (
            lambda: self._build_step(progress),
            lambda: self._code_object_step(progress),
            lambda: self._equivalence_step(progress),
            lambda: progress.too_slow or self._measurement_step(progress),
            lambda: self._application_step(progress),
        )

    def _source_step(self, candidate: bytes, promises: Promises) -> SourceStepResult:
        change = self._reader.change(candidate, self._kernel.identity)
        called_names = functools.partial(self._builder.called_names, self._baseline)
        result = check_source(self._baseline, self._kernel, change, promises, called_names, self._expanded_text_check.complaint)
        if result.spliced is None:
            return result
        # If launches change, a bound on the workgroup size applies to the new launches, which the source step has checked.
        of_captures = replace(result.promises, threads=None) if result.launch else result.promises
        for capture in self._all_captures if of_captures != NO_PROMISES else ():
            if complaint := broken_in_capture(capture, self._kernel, self._metadata, of_captures):
                return SourceStepResult(rejected(source_check.STEP, f"it promises {result.promises}, but {complaint}"))
        if result.launch and (complaint := self._launch_change_complaint(self._rules_of(result.launch))):
            return SourceStepResult(rejected(source_check.STEP, complaint))
        shown = [capture.dispatch["origin"]["dispatch_index"] for capture in self._captures]
        return replace(result, verdict=with_promises(result.verdict, result.promises, shown))

    def _rules_of(self, launch: LaunchChange) -> LaunchRules:
        return LaunchRules(*(LaunchRule.of(shape, self._metadata) for shape in (launch.before, launch.after)))

    def _launch_change_complaint(self, rules: LaunchRules) -> str | None:
        """Why the launches cannot be changed: the shape of a captured dispatch is not what the source implies; the candidate
        gives the dispatch no valid shape; or the candidate's launches may be too small for larger sizes. None if they can be
        changed.
        """
        for capture in self._all_captures:
            index = capture.dispatch["origin"]["dispatch_index"]
            if complaint := rules.before.mismatch_with(capture):
                return f"its launches cannot be changed, as their shape is not understood: for dispatch {index}, {complaint}"
            try:
                rules.after.launch(capture)
            except NoValueError as error:
                return f"its launch of dispatch {index} is not possible: {error}"
        return launches_too_little(rules, self._all_captures)

    def _build_step(self, progress: _CandidateProgress) -> StepVerdict:
        try:
            progress.code_object_bytes = self._builder.code_object(progress.source)
            progress.code_object_file.write_bytes(progress.code_object_bytes)
        except RocmPerfError as error:
            return rejected(BUILD, error.problem)
        return passed(BUILD, "it compiles within the limits")

    def _code_object_step(self, progress: _CandidateProgress) -> StepVerdict:
        packet = self._captures[0].dispatch["packet"]
        own = progress.code.launch(self._captures[0]) or captured_launch(self._captures[0])
        threads = [math.prod(packet["workgroup"]), own.threads if own else math.prod(packet["workgroup"])]
        try:
            built = self._builder.code_object(self._baseline), progress.code_object_bytes
            before, after = (BuiltCodeObject(parse(content), content) for content in built)
            complaint = translation_units.device_difference(
                self._baseline, progress.source, self._builder, self._kernel, self._symbol
            )
            if complaint:
                return rejected(code_object_check.STEP, complaint)
        except SourceError as error:
            return rejected(code_object_check.STEP, error.problem)
        captured_lds = packet["group_segment_size"] - self._metadata.lds_bytes
        dynamic = [captured_lds, own.dynamic_lds if own else captured_lds]
        kernels = [code_object.parsed.kernels.get(self._symbol) or self._metadata for code_object in (before, after)]
        target = self._captures[0].target
        waves = [_resident_waves(target, *launch) for launch in zip(kernels, threads, dynamic, strict=True)]
        verdict, progress.concern = check_code_object(
            before,
            after,
            self._kernel,
            self._symbol,
            workgroup_threads=threads[1],
            own_launch=progress.rules is not None,
            waves=(waves[0], waves[1]),
            limits=self._options.resources,
            promised_threads=progress.promises.threads,
            may_be_the_same=not self._options.with_measurement,
        )
        return verdict

    def _equivalence_step(self, progress: _CandidateProgress) -> StepVerdict:
        if self._options.with_measurement and self._options.time_first:
            progress.too_slow = rejection_if_too_slow(self._captures, self._code_pair(progress), self._options.measurement)
        if progress.too_slow:
            return skipped(equivalence_check.STEP, "it does not save enough time, and was not compared")
        added_literals = literals_added(self._baseline.text, progress.without_line_directives)
        return self._equivalence.check(progress.code, added_literals, progress.rule_before)

    def _code_pair(self, progress: _CandidateProgress) -> CodePair:
        known = self._times.setdefault(progress.rule_before, {})
        return CodePair(ReplayableCode(rule=progress.rule_before), progress.code, known, progress.times)

    def _measurement_step(self, progress: _CandidateProgress) -> StepVerdict:
        options = self._options
        if not options.with_measurement:
            return skipped(measurement_check.STEP, "not asked for")
        replayed = options.equivalence.level != "program"
        changed = [
            self._equivalence.outputs_of(i, progress.rule_before).changed_bytes
            if replayed and (i == 0 or options.equivalence.level == "full")
            else 0
            for i in range(len(self._captures))
        ]
        other_inputs = self._equivalence.other_inputs(progress.rule_before) if replayed else []
        verdict = check_measurement(
            self._captures, self._code_pair(progress), changed, options.measurement, progress.concern, other_inputs
        )
        if isinstance(verdict.evidence, MeasurementEvidence) and verdict.evidence.ratio_interval is not None:
            progress.claim = ClaimedGain(self._symbol, 1 - verdict.evidence.ratio_interval[1])
        return verdict

    def _application_step(self, progress: _CandidateProgress) -> StepVerdict:
        """Host code is compared only here, since an additional compiler pass is worthwhile only for a candidate about to be
        accepted.
        """
        try:
            progress.source_to_keep = self._source_to_keep(progress)
            host, program = side_by_side(
                [lambda: self._check_other_compilations(progress), lambda: self._run_whole_program(progress)]
            )
        except SourceError as error:
            return rejected(application_check.STEP, f"the program cannot be built with it: {error.problem}")
        return program if host is _SAME_HOST else host

    def _source_to_keep(self, progress: _CandidateProgress) -> HipSource:
        """The source to keep, which must compile to the judged code: the plain text if it does so. It may not if lines were
        added or removed and other code uses __LINE__; then the line directives are needed.
        """
        plain_source = self._source_with(progress.without_line_directives, progress.launch)
        plain_will_do = translation_units.makes_judged_code(
            plain_source, progress.source, self._host_source(progress), self._builder
        )
        return plain_source if plain_will_do else progress.source

    def _source_with(self, text: bytes, launch: LaunchChange | None) -> HipSource:
        """The baseline with this text, in which the launches are already changed, and with the launches in other files changed
        too.
        """
        return self._baseline.with_text(text, launch.applied_to(self._baseline).other_files if launch else None)

    def _host_source(self, progress: _CandidateProgress) -> HipSource:
        """The source that the candidate's host code must match: the baseline, with its launches changed by the gate."""
        return progress.launch.applied_to(self._baseline) if progress.launch else self._baseline

    def _check_other_compilations(self, progress: _CandidateProgress) -> StepVerdict:
        """Check what other compiler passes produce: the host pass, and passes with a different file name."""
        complaint = translation_units.host_difference(
            self._host_source(progress), progress.source_to_keep, self._builder
        ) or depends_on_location(
            self._baseline, progress.source, progress.own_text, progress.without_line_directives, self._builder
        )
        return rejected(application_check.STEP, complaint) if complaint else _SAME_HOST

    def _run_whole_program(self, progress: _CandidateProgress) -> StepVerdict:
        if self._whole_program is None:
            but = ", but for its launches" if progress.launch else ""
            return skipped(application_check.STEP, f"not asked for; {_SAME_HOST.reason}{but}")
        verdict = self._whole_program(progress.source_to_keep, progress.claim)
        if verdict.outcome is not StepOutcome.PASSED or self._options.equivalence.level == "program":
            return verdict
        return verdict if self._recapture is None else self._compare_in_program(progress, verdict, self._recapture)

    def _compare_in_program(self, progress: _CandidateProgress, verdict: StepVerdict, recapture: Recapture) -> StepVerdict:
        """Compare one dispatch, chosen by the seed, in the program itself."""
        index = self._options.equivalence.seed % len(self._captures)
        try:
            captured = recapture(progress.source_to_keep, index)
            recapture_baseline = functools.partial(recapture, self._baseline, index)
            difference, varying = self._equivalence.compare_in_program(index, captured, recapture_baseline, progress.rules)
        except RocmPerfError as error:
            reason = f"its dispatch in the program cannot be captured: {error.problem}"
            return rejected(application_check.STEP, reason, verdict.evidence)
        if difference is not None:
            reason = f"in the program itself {difference.reason}"
            where = difference.where or DifferenceSection()
            return rejected(application_check.STEP, reason, verdict.evidence.model_copy(update={"difference": where}))
        progress.not_compared = varying
        but = f", except for {', '.join(varying)}, which varies from run to run" if varying else ""
        message = f"the same as after the baseline's dispatch{but}"
        return replace(verdict, evidence=verdict.evidence.model_copy(update={"memory_after_its_dispatch": message}))


@dataclass
class _StartedCandidate:
    """A candidate that has been through the first steps. progress: None if the first step rejected it."""

    verdicts: list[StepVerdict]
    progress: _CandidateProgress | None


@dataclass
class _CandidateProgress:
    """State of one candidate between steps.

    own_text: the candidate's own file. without_line_directives: see SplicedSource. code_object_file: path of its code object.
    launch, rules: how launches change, and the resulting rules for this kernel; None if they do not change. concern: a
    disadvantage that only its time can outweigh. too_slow: the verdict on its time if it was timed first and rejected for being
    too slow. times: its modelled times so far. claim: its gain in replay. not_compared: memory whose contents vary between runs
    of the baseline's program. source_to_keep: until Judge._source_to_keep() has chosen it, the judged one.
    """

    source: HipSource
    own_text: bytes
    without_line_directives: bytes
    promises: Promises
    code_object_file: Path
    launch: LaunchChange | None = None
    rules: LaunchRules | None = None
    code_object_bytes: bytes = b""
    concern: str | None = None
    too_slow: StepVerdict | None = None
    times: KnownTimes = field(default_factory=dict)
    claim: ClaimedGain | None = None
    not_compared: Sequence[str] = ()
    source_to_keep: HipSource = field(init=False)

    def __post_init__(self) -> None:
        self.source_to_keep = self.source

    @property
    def rule_before(self) -> LaunchRule | None:
        return self.rules.before if self.rules else None

    @property
    def code(self) -> ReplayableCode:
        return ReplayableCode(self.code_object_file, self.rules.after if self.rules else None)


def _verdict_with_adopted(verdict: Verdict, kept_source: HipSource) -> Verdict:
    """The verdict, with the text to keep if the candidate was accepted."""
    if not verdict.accepted or verdict.adopted == kept_source.state:
        return verdict
    source_step, *other_steps = verdict.steps
    reason = f"{source_step.reason}; #line is kept with it, as other code depends on its line numbers (__LINE__, assert)"
    return replace(verdict, steps=(replace(source_step, reason=reason), *other_steps), adopted=kept_source.state)


def _resident_waves(target: str, kernel: KernelMetadata, threads: int, dynamic_lds: int) -> int:
    """Resident waves per CU for this launch; 1 if the target is not known. `vgprs` already includes AGPRs where the two share a
    register file.
    """
    family = family_of(target)
    if family is None:
        return 1
    resources = KernelResources(kernel.vgprs, 0, kernel.sgprs, kernel.lds_bytes + max(0, dynamic_lds), threads)
    return family.occupancy(resources).resident_waves_per_cu
