"""The backend for HIP sources: builds with the user's compiler, profiles on a device, captures dispatches, and has the gate
judge candidates.
"""

from __future__ import annotations

import contextlib
import functools
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rocm_perf_lab import __version__, cage
from rocm_perf_lab.cage import CageLimits, CageResult, View
from rocm_perf_lab.code_object import parse
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.errors import NoCaptureError, RocmPerfError, SourceError, UsageError
from rocm_perf_lab.gate import seeds
from rocm_perf_lab.gate.code_object.translation_units import machine_code
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
from rocm_perf_lab.gate.verdict import StepVerdict, Verdict
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.demangle import demangled
from rocm_perf_lab.kernel_pattern import exactly
from rocm_perf_lab.optimize import builders
from rocm_perf_lab.optimize.backend import BackendOptions, Gate, Log, ProfileSummary
from rocm_perf_lab.optimize.build_target import BuildTarget
from rocm_perf_lab.optimize.captured_unit import unit_of
from rocm_perf_lab.optimize.journal_lines import ApplicationBaselineLine, BuildLine, BuildRepeatsLine, CaptureLine, GateLine
from rocm_perf_lab.optimize.rejections import fingerprint_of
from rocm_perf_lab.optimize.source_file import digest
from rocm_perf_lab.optimize.suggested_arguments import other_arguments
from rocm_perf_lab.optimize.targets import Target, spread_dispatches, targets_of
from rocm_perf_lab.process.side_by_side import side_by_side

if TYPE_CHECKING:
    from rocm_perf_lab.gate.application.application_check import BaselineProgram
    from rocm_perf_lab.gate.application.gain_in_program import ClaimedGain
    from rocm_perf_lab.gate.change import KernelChange
    from rocm_perf_lab.gate.judge import GateOptions, Judge
    from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
    from rocm_perf_lab.isolate import Capture

_CAPTURES = "captures-"
_MAX_INSTANTIATIONS = 16  # how many instantiations that the program does not launch are tried with the arguments of --also
_MAX_NAMED = 4
_LOG_BYTES = 4000  # the journal keeps this much of a compiler's output


def _kernel_names(symbols: Sequence[str]) -> str:
    more = f" and {len(symbols) - _MAX_NAMED} more" if len(symbols) > _MAX_NAMED else ""
    return ", ".join(f"`{demangled(symbol)}`" for symbol in symbols[:_MAX_NAMED]) + more


@contextlib.contextmanager
def _naming_in_errors(program: str, name: str) -> Iterator[None]:
    """Make errors use the name by which the user knows the program: by the time the user reads them, the built copy is gone."""
    try:
        yield
    except RocmPerfError as error:
        error.problem, error.hint = error.problem.replace(program, name), error.hint.replace(program, name)
        raise


def _also_arguments(build_target: BuildTarget, command: Sequence[str]) -> tuple[str, ...]:
    """The arguments given by one --also. Raises UsageError if it names a different program."""
    if not command or Path(command[0]).name != build_target.name:
        message = f"--also {shlex.join(command)!r} does not begin with the program"
        raise UsageError(message, f"write it as --also './{build_target.name} ARGUMENTS'")
    return tuple(command[1:])


class HipBackend:
    """The backend for HIP programs. folder: the run directory, for programs, profiles and the gate's runs."""

    def __init__(self, build_target: BuildTarget, folder: Path, options: BackendOptions, log: Log, note: Callable[[str], None]):
        self._build_target, self._folder, self._options, self._log, self._note = build_target, folder, options, log, note
        self._cage_limits = CageLimits()
        self._say_how_caged()
        self._profiles = 0
        self._timing: str | None = None  # the timing parameters of the last profile; None if times are measured
        self._profile_device_options: tuple[str, ...] = ()  # device options for profiles
        self._baseline_program: BaselineProgram | None = None
        self._compared: bytes | None = None  # the source of the program with which candidates' programs are compared
        self._programs: dict[bytes, Path] = {}
        self._seed = seeds.fresh() if options.seed is None else options.seed
        self._suggests = options.suggest
        self._also = [_also_arguments(build_target, command) for command in options.also]
        self._building = threading.Lock()
        with tempfile.TemporaryDirectory(prefix="rocm-perf-") as scratch:
            self._device = devices.select(options.device, Path(scratch))
        self._gpu_target = self._device.target
        self._sources: dict[bytes, HipSource] = {}

    @functools.cached_property
    def view(self) -> View:
        """What the cage shows: in addition to the user's view, all files that the program's own sources include, wherever they
        are.
        """
        build = self._build_target.build
        try:
            headers = self.read(self._build_target.source.read_bytes()).included
            unit_files = frozenset().union(*build.files.values()) if len(build.units) > 1 else ()
        except (SourceError, OSError):
            headers = unit_files = ()  # the compiler will report the error
        return self._options.view.showing(
            readable=(*headers, *sorted(unit_files), *sorted(self._build_target.other_products.files))
        )

    @functools.cached_property
    def _builder(self) -> builders.SourceBuilder:
        return builders.SourceBuilder(self._gpu_target, self._cage_limits, self._log_build, self.view)

    @functools.cached_property
    def _program_builder(self) -> builders.ProgramBuilder:
        unit_folder = self._folder / "programs" / "units"
        return builders.ProgramBuilder(
            self._build_target.build, self._gpu_target, unit_folder, self._cage_limits, self._log_build, self.view
        )

    def _say_how_caged(self) -> None:
        """Print a note if candidates are trusted to run without a cage. Otherwise, check that there is a cage before any work
        is done, and raise NoCageError if there is none.
        """
        if self._options.view.trusted:
            self._note(
                "--trust-candidates: candidates are not confined by a cage; only time, memory and file sizes are limited"
            )
        else:
            cage.expect_mechanism()

    def read(self, state: bytes) -> HipSource:
        """Read a source. Reading takes a while, so the same state always yields the same object."""
        if state not in self._sources:
            self._sources[state] = self._build_target.read(state)
        return self._sources[state]

    def check_text(self, source: HipSource, kernel: SourceKernel, change: KernelChange | str) -> StepVerdict:
        """The verdict of the gate's first step, which only reads and preprocesses the text. change: see
        gate.source.source_check. Raises whatever preprocessing the baseline raises.
        """
        from rocm_perf_lab.gate.source.expanded_text_check import ExpandedTextCheck
        from rocm_perf_lab.gate.source.source_check import check_source

        expanded = ExpandedTextCheck(source, kernel, self._builder.preprocessed)
        return check_source(
            source, kernel, change, NO_PROMISES, lambda: self._builder.called_names(source), expanded.complaint
        ).verdict

    def profile(self, source: HipSource) -> ProfileSummary:
        """Build and profile. Raises whatever building or profiling.session.profile() raises."""
        from rocm_perf_lab.profiling.request import ProfileRequest
        from rocm_perf_lab.profiling.session import profile

        self._profiles += 1
        self._note(f"building {source.path}" if self._profiles == 1 else "profiling what was accepted")
        if self._profiles == 1 and (left_out := self._build_target.build.left_out):
            self._note(f"steps of --build that are not run (only compiling and linking are): {'; '.join(left_out)}")
        program = str(self._build_twice(source))
        request = ProfileRequest(
            [program, *self._build_target.arguments],
            runs=1,
            device=self._options.device,
            destination=self._folder / f"profile-{self._profiles}",
            timeout=self._options.timeout,
            device_options=self._profile_device_options,
        )
        with _naming_in_errors(program, f"./{self._build_target.name}"):
            documents, _ = profile(request, subprocess.DEVNULL, self._note)
        targets, skipped = targets_of(documents, source, self._options.pattern, self._options.min_improvement)
        profile_document = documents.profile
        self._timing = profile_document.timing_parameters
        if profile_document.timing == "modelled":  # the next profile runs accepted code, outside the cage
            self._profile_device_options = (devices.MEMORY_CHECK,)
        return ProfileSummary(
            profile_document.runtime_ms,
            profile_document.timing,
            profile_document.timing_parameters,
            profile_document.gpu.product,
            targets,
            skipped,
            documents,
            documents.dag.dominant_symbol,
            documents.dag.fraction,
        )

    @contextlib.contextmanager
    def gate(self, source: HipSource, target: Target) -> Iterator[Gate]:
        """A gate that judges candidates on captures of some of the kernel's dispatches.

        Raises whatever isolate.capture(), the Judge or the baseline's own runs raise.
        """
        from rocm_perf_lab.gate.application.text_in_program import holds_text
        from rocm_perf_lab.gate.judge import Judge
        from rocm_perf_lab.gate.source.candidate_reader import CandidateReader

        options = self._gate_options(target)
        if options.equivalence.level == "full":
            devices.expect_race_check(self._device)
        with contextlib.ExitStack() as stack:
            reader = stack.enter_context(CandidateReader(source, self.view))  # the reader starts up while the program runs
            program = self.program(source)
            body = source.kernel(target.kernel).body
            is_data = holds_text(program, source.text[body.start : body.end])
            whole_program = functools.partial(self._whole_program, self._baseline_for(source, program), is_data)
            self._suggest_sizes(program)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=_CAPTURES, dir=self._folder)))
            judges: dict[str, Judge] = {}
            for instantiation in (target, *target.siblings):
                captures_folder = folder / str(len(judges))
                captures = self._capture(
                    program, instantiation, self._build_target.arguments, instantiation.dispatches, captures_folder
                )
                is_target = instantiation is target
                # For other instantiations, only the results count; any gain shows in the program's time.
                judge = Judge(
                    baseline=unit_of(source, captures, self._builder),
                    kernel=instantiation.kernel,
                    captures=captures,
                    builder=self._builder,
                    reader=reader,
                    options=options if is_target else replace(options, with_measurement=False),
                    whole_program=whole_program if is_target else None,
                    captures_by_arguments=self._capture_other_arguments(program, instantiation, captures_folder),
                    recapture=functools.partial(self._recapture, instantiation) if is_target else None,
                )
                judges[instantiation.demangled] = stack.enter_context(judge)
            judged = {judge.symbol for judge in judges.values()}
            not_launched = [symbol for symbol in judges[target.demangled].instantiations if symbol not in judged]
            for symbol in not_launched[:_MAX_INSTANTIATIONS] if self._also else ():
                instantiation = Target(target.kernel, demangled(symbol), 1, None, None, None, None, "")
                captured = self._capture_other_arguments(program, instantiation, folder / str(len(judges)))
                if captured:
                    judge = self._judge_with_other_arguments(source, target.kernel, captured, reader, options)
                    judges[instantiation.demangled] = stack.enter_context(judge)
                    not_launched.remove(symbol)
            yield _AllInstantiationsGate(judges, self._what_is_not_judged(source, not_launched))

    def _judge_with_other_arguments(
        self, source: HipSource, kernel: str, captured: Mapping[str, Sequence[Capture]], reader: CandidateReader,
        options: GateOptions,
    ) -> Judge:  # fmt: skip
        """A judge for an instantiation that is launched only with other program arguments. captured: keyed by these."""
        from rocm_perf_lab.gate.judge import Judge

        first, *remaining = captured
        return Judge(
            baseline=unit_of(source, captured[first], self._builder),
            kernel=kernel,
            captures=captured[first],
            builder=self._builder,
            reader=reader,
            options=replace(options, with_measurement=False, equivalence=replace(options.equivalence, arguments=first)),
            captures_by_arguments={arguments: captured[arguments] for arguments in remaining},
        )

    def _what_is_not_judged(self, source: HipSource, not_launched: Sequence[str]) -> list[str]:
        """What else a change to the source affects, in words. not_launched: the kernel's instantiations without a judge."""
        parts = [f"{_kernel_names(not_launched)} (also changed, but not launched)"] if not_launched else []
        loaded = self._build_target.build.code_objects_of(source.path)
        not_rebuilt = (*self._build_target.other_products.names, *(file.name for file in loaded))
        return parts + [
            f"{name} (built from {source.path.name} as well, but not rebuilt with the change)" for name in not_rebuilt
        ]

    def fingerprint(self, source: HipSource, target: Target) -> str:
        """See Backend. A modelled time is part of the hash, because it depends on the program's sizes and data."""
        options = self._options
        image = self._builder.code_object(source)
        symbol = source.kernel(target.kernel).symbol
        code = machine_code(image, symbol) if symbol in parse(image).kernels else image
        gate = (options.equivalence, options.ulps, options.min_improvement, options.check, options.limits.document())
        program = (self._build_target.arguments, self._also, target.demangled, target.dispatches)
        times = (self._timing, target.time_ms if self._timing is not None else None)
        return fingerprint_of(__version__, self._gpu_target, repr(gate), repr(program), repr(times), repr(code))

    def _gate_options(self, target: Target) -> GateOptions:
        from rocm_perf_lab.gate.equivalence.equivalence_options import EquivalenceOptions
        from rocm_perf_lab.gate.judge import GateOptions
        from rocm_perf_lab.gate.measurement.measurement_check import MeasurementOptions

        options = self._options
        gate = GateOptions(
            resources=options.limits.resources,
            equivalence=EquivalenceOptions(
                level=options.equivalence,
                ulps=options.ulps,
                seed=self._seed,
                device=options.device,
                view=self.view,
                arguments=shlex.join(self._build_target.arguments),
            ),
            measurement=MeasurementOptions(
                min_improvement=options.min_improvement,
                seed=seeds.resampling(self._seed),
                device=options.device,
                view=self.view,
            ),
            time_first=options.time_first,
        )
        self._log(
            GateLine(
                kernel=target.demangled,
                level=gate.equivalence.level,
                seed=gate.equivalence.seed,
                race_seeds=list(gate.equivalence.orders),
                measurement_seed=gate.measurement.seed,
                max_regression=options.limits.document(),
                cage=cage.in_words(self.view),
            )
        )
        return gate

    def _baseline_for(self, source: HipSource, program: Path) -> BaselineProgram:
        """The program that a candidate's whole program is compared with: first the original, later the last accepted one."""
        from rocm_perf_lab.gate.application.application_check import ApplicationOptions, BaselineProgram, SourceText

        options = self._options
        if self._baseline_program is None:
            accepted = "running the accepted version twice, as the new baseline"
            self._note("running the unchanged program twice" if self._profiles < 2 else accepted)
            limits = ApplicationOptions(
                runtime=options.limits.runtime,
                dram_bytes=options.limits.dram,
                check=options.check,
                timeout=options.timeout,
                device=options.device,
                view=self.view,
            )
            self._baseline_program = BaselineProgram(
                program, self._build_target.arguments, self._folder / "application", limits, self._also
            )
        elif source.state != self._compared:
            self._baseline_program.take_as_baseline(program, SourceText({source.path: source.text, **source.other_files}))
        else:
            return self._baseline_program
        self._compared = source.state
        times, repeats = self._baseline_program.runtimes_ms, self._baseline_program.reproducible
        self._log(ApplicationBaselineLine(source=digest(source.state), runtimes_ms=times, stdout_repeats=repeats))
        return self._baseline_program

    def _capture_other_arguments(self, program: Path, target: Target, folder: Path) -> dict[str, list[Capture]]:
        """For each of the other argument lists that launch the kernel, a capture of the first dispatch only, since counting the
        dispatches would take another profile.
        """
        captured: dict[str, list[Capture]] = {}
        for number, arguments in enumerate(self._also):
            command_line = shlex.join(arguments)
            try:
                captured[command_line] = self._capture(program, target, arguments, 1, folder / f"also-{number}")
            except NoCaptureError:
                unlaunched = f"./{self._build_target.name} {command_line} does not launch {target.demangled}"
                self._note(f"{unlaunched}: only its output is compared")
        return captured

    def _suggest_sizes(self, program: Path) -> None:
        """Suggest other arguments, once per run."""
        if self._suggests and (suggested := other_arguments(program, self._build_target.arguments, self.view)):
            command_line = shlex.join((f"./{self._build_target.name}", *suggested))
            self._note(f"judged at these sizes only; try --also {shlex.quote(command_line)}")
        self._suggests = False

    def _capture(self, program: Path, target: Target, arguments: Sequence[str], dispatches: int, folder: Path) -> list[Capture]:
        from rocm_perf_lab.isolate import capture

        numbers = spread_dispatches(dispatches, 1 if self._options.equivalence == "sampled" else 3)
        self._note(f"capturing {len(numbers)} of {dispatches} dispatches of {target.kernel}")
        captures = []
        for number in numbers:
            capture_folder = folder / str(number)
            capture_folder.mkdir(parents=True)
            command = [str(program), *arguments]
            captured = capture(
                command,
                exactly(target.demangled),
                number,
                capture_folder,
                device=self._options.device,
                timeout=self._options.timeout,
            )
            gpu_time_ns, argument_list = captured.gpu_time_ns, list(arguments)
            self._log(CaptureLine(kernel=target.demangled, dispatch=number, gpu_time_ns=gpu_time_ns, arguments=argument_list))
            captures.append(captured)
        return captures

    def _recapture(self, target: Target, candidate: HipSource, index: int) -> Capture:
        """Run the program of a candidate, or of the baseline, in the cage and capture the same dispatch as in the baseline's
        capture `index`; the new capture is kept until the run's folder is cleared.
        """
        from rocm_perf_lab.isolate import capture

        number = spread_dispatches(target.dispatches, 1 if self._options.equivalence == "sampled" else 3)[index]
        capture_folder = Path(tempfile.mkdtemp(prefix=_CAPTURES, dir=self._folder))
        command = [str(self.program(candidate)), *self._build_target.arguments]
        options = self._options
        return capture(
            command,
            exactly(target.demangled),
            number,
            capture_folder,
            device=options.device,
            timeout=options.timeout,
            view=self.view,
        )

    def _whole_program(
        self, baseline: BaselineProgram, is_data: bool, candidate: HipSource, claim: ClaimedGain | None
    ) -> StepVerdict:
        """The verdict of the application step. is_data: whether the program contains the kernel's text as data."""
        from rocm_perf_lab.gate.application.application_check import STEP, SourceText
        from rocm_perf_lab.gate.code_object.translation_units import program_difference
        from rocm_perf_lab.gate.verdict import rejected

        if is_data:
            reason = "the program holds the kernel's text as data, and may compile it while it runs"
            return rejected(STEP, f"{reason}: what the change would do there is not judged")
        program = self.program(candidate)
        if complaint := program_difference(program, candidate, self._builder):
            return rejected(STEP, complaint)
        return baseline.check(program, claim, SourceText({candidate.path: candidate.text, **candidate.other_files}))

    def program(self, source: HipSource) -> Path:
        """The whole program for a source; built once per source."""
        with self._building:
            if source.state not in self._programs:
                path = self._folder / "programs" / str(len(self._programs)) / self._build_target.name
                self._program_builder.make(source, path)
                self._programs[source.state] = path
            return self._programs[source.state]

    def _build_twice(self, source: HipSource) -> Path:
        """The program. Also checks whether compiling the same text twice gives the same code object."""
        builder = self._builder
        _, first, again = side_by_side(
            [lambda: self.program(source), lambda: builder.code_object(source), lambda: builder.code_object_again(source)]
        )
        self._log(BuildRepeatsLine(same=first == again))
        if first != again:
            self._note("building twice gives two different code objects: the compiler is not deterministic here")
        return self.program(source)  # already built

    def _log_build(self, command: Sequence[str], ended: CageResult) -> None:
        log = ended.stderr.decode(errors="replace")[-_LOG_BYTES:]
        self._log(BuildLine(command=list(command), status=ended.status, seconds=round(ended.seconds, 3), log=log))

    def clear(self) -> None:
        """Remove programs, the gate's runs, and captures left by killed runs; profiles are kept."""
        for path in (self._folder / "programs", self._folder / "application", *self._folder.glob(f"{_CAPTURES}*")):
            shutil.rmtree(path, ignore_errors=True)


class _AllInstantiationsGate:
    """The gate for all instantiations of a kernel: returns the target's verdict, to which the first rejection by another
    instantiation's judge is added. judges: one for each instantiation's name, the target's first. unjudged: what else a change
    affects, in words.
    """

    def __init__(self, judges: Mapping[str, Gate], unjudged: Sequence[str]):
        (_, self._first), *self._others = judges.items()
        self._unjudged = unjudged

    def ratio_on_captured_inputs(self, candidate: bytes, promises: Promises = NO_PROMISES) -> float | None:
        return self._first.ratio_on_captured_inputs(candidate, promises)

    def judge(self, candidate: bytes, promises: Promises = NO_PROMISES) -> Verdict:
        verdict = self._first.judge(candidate, promises)
        unproven = list(self._unjudged)
        for name, judge in self._others if verdict.accepted else ():
            other_verdict = judge.judge(candidate, promises)
            if rejection := other_verdict.rejection:
                of_it = replace(rejection, reason=f"of {name}: {rejection.reason}")
                return replace(verdict, steps=(*verdict.steps, of_it))
            unproven += [f"{item} of {name}" for item in other_verdict.unproven]
        return verdict.with_unproven(unproven)
