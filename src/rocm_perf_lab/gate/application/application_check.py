"""Step 6: the whole program, built with the candidate, must exit as before, print the same output and show no regression.

Baseline and candidate run from the same path with the same arguments, so that a program that prints its own name prints the
same name in both runs.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab import cage
from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.collect import device as devices
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.tracer import BuiltinTracer
from rocm_perf_lab.errors import (
    ForeignAccessError,
    KernelFailedError,
    NoKernelsError,
    ProgramFailedError,
    ProgramKilledError,
    ProgramTimeoutError,
    UsageError,
)
from rocm_perf_lab.gate.application.gain_in_program import ClaimedGain, ObservedGain
from rocm_perf_lab.gate.application.program_run import ProgramRun, read_program_run
from rocm_perf_lab.gate.verdict import StepVerdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import APPLICATION, ApplicationEvidence

STEP = APPLICATION
ENDS_BADLY = (
    ProgramFailedError, ProgramKilledError, ProgramTimeoutError, NoKernelsError, ForeignAccessError, KernelFailedError,
)  # fmt: skip

_MIN_COUNTER_CHANGE = 1e-3  # smaller relative changes of a counter are ignored
# A candidate may take this multiple of the baseline's wall time, and in any case this many seconds.
_TIMEOUT_FACTOR, _MIN_TIMEOUT_SECONDS = 20, 60.0
_DAY_SECONDS = 86400.0
_STDERR_FILE, _SHOWN_CHARACTERS = "stderr", 200  # file for error output, and how many characters of it are shown
_MEASURED_RUNS = 3  # runs of a candidate on a GPU; on the software device every run takes the same time


@dataclass(frozen=True)
class ApplicationOptions:
    """Limits and settings of the application step.

    runtime, dram_bytes: largest allowed growth over the baseline, as fractions; bytes beyond L2 may grow further if the time
    improves. check: a command that receives the program's standard output on its standard input and exits with 0 if that output
    is correct; it replaces the comparison with the baseline's output. timeout: seconds per run; with None, the baseline has no
    limit and a candidate gets 20 times the baseline's time, but at least a minute. view: what the cage shows to all programs.
    """

    runtime: float = 0.05
    dram_bytes: float = 0.10
    check: tuple[str, ...] = ()
    timeout: float | None = None
    device: str = devices.AUTO
    view: View = View()


@dataclass(frozen=True)
class SourceText:
    """The source texts that a program finds at the paths of its sources, since it may read and compile them while it runs."""

    texts: Mapping[Path, bytes]

    def written_to(self, folder: Path) -> list[tuple[Path, Path]]:
        """Write the texts to files in `folder`. Returns pairs of a path and the file that contains its text."""
        pairs = []
        for number, (path, text) in enumerate(self.texts.items()):
            file = folder / f"source-{number}"
            file.write_bytes(text)
            pairs.append((path, file))
        return pairs


class BaselineProgram:
    """The reference for whole-program runs: the baseline program, run twice. folder: holds the files of the runs, and is not
    deleted. other_arguments: further argument lists; with these, only the output is compared.

    Raises any error from running the baseline, and UsageError if the user's check fails on the baseline itself.
    """

    def __init__(
        self,
        baseline: Path,
        arguments: Sequence[str],
        folder: Path,
        options: ApplicationOptions = ApplicationOptions(),
        other_arguments: Sequence[Sequence[str]] = (),
    ):
        self._arguments, self._folder, self._options = tuple(arguments), folder, options
        self._runs, self._running = 0, threading.Lock()  # all programs run from the same path
        folder.mkdir(parents=True, exist_ok=True)
        self._program_path = folder / "program" / baseline.name
        self._limit = options.timeout
        began = time.monotonic()
        # Cache for code that HIP compiles at run time: the baseline's runs fill it, the candidates' runs only read it.
        self._code_cache = folder / "compiled"
        self._code_cache_environment = cage.copy_of_cache(self._code_cache)
        with self._with_error_output():
            first, second = (self._run(baseline, writable=(self._code_cache,)) for _ in range(2))
            if self._limit is None:
                self._limit = max(_MIN_TIMEOUT_SECONDS, _TIMEOUT_FACTOR * (time.monotonic() - began) / 2)
            self._set_baseline_runs([first, second])
            self.reproducible = first.stdout == second.stdout
            self._other_arguments = {tuple(words): self._reproducible_output(baseline, words) for words in other_arguments}
        if options.check and (complaint := self._check_complaint(first.stdout)):
            raise UsageError(f"--check rejects the unchanged program: {complaint}", "fix the check first")

    @contextlib.contextmanager
    def _with_error_output(self) -> Iterator[None]:
        """If the program fails, add the last line of its error output to the error. Not used for candidates, whose output is
        not trusted.
        """
        try:
            yield
        except (ProgramFailedError, ProgramKilledError) as error:
            error_lines = (self._folder / f"run-{self._runs}" / _STDERR_FILE).read_text("utf-8", "replace").split("\n")
            last = next((line for line in reversed(error_lines) if line.strip()), "")
            error.problem += f" (last line of its error output: {' '.join(last.split())[:_SHOWN_CHARACTERS]})" if last else ""
            raise

    def take_as_baseline(self, accepted: Path, source: SourceText | None = None) -> None:
        """Compare later candidates with this accepted program; the expected output is still the first baseline's.

        Raises any error from running the program.
        """
        self._set_baseline_runs([replace(run, stdout=self.baseline.stdout) for run in self._run_repeatedly(accepted, source)])

    def _set_baseline_runs(self, runs: Sequence[ProgramRun]) -> None:
        self._baselines, self.baseline = runs, runs[0]
        self.runtimes_ms = [run.runtime_ms for run in runs]

    def check(self, candidate: Path, claim: ClaimedGain | None = None, source: SourceText | None = None) -> StepVerdict:
        """Run the program built with a candidate and compare the runs with the baseline's.

        candidate: the whole program, built with the candidate. claim: the gain measured for its kernel in replay. source: the
        candidate's source text; None to leave the source files as they are.
        """
        try:
            runs = self._run_repeatedly(candidate, source)
        except ENDS_BADLY as error:
            return rejected(STEP, f"the program no longer succeeds: {error.problem}")
        after = runs[0]
        runtime_ms = statistics.median(self.runtimes_ms), statistics.median(run.runtime_ms for run in runs)
        gain = ObservedGain.of(claim, self._baselines, runs) if claim is not None else None
        evidence = self._evidence(after, runtime_ms, gain)
        if complaint := next(filter(None, (self.wrong_output(run.stdout) for run in runs)), None):
            return rejected(STEP, complaint, evidence)
        complaint = self._regression(after, runtime_ms) or (gain.complaint() if gain else None)
        if complaint := complaint or self._complaint_with_other_arguments(candidate, source):
            return rejected(STEP, complaint, evidence)
        before_ms, after_ms = runtime_ms
        time = f"{before_ms:.6f} -> {after_ms:.6f} ms on the GPU, {after.timing}"
        saved = f", {gain.saved:.2%} of the kernel's time saved there" if gain and gain.saved is not None else ""
        return passed(STEP, f"the program ends as before{self._comparison_text()}; {time}{saved}", evidence)

    def _run_repeatedly(self, program: Path, source: SourceText | None) -> list[ProgramRun]:
        with self._running:
            runs = [self._run(program, source=source)]
            if runs[0].timing == "measured":
                runs += [self._run(program, source=source) for _ in range(_MEASURED_RUNS - 1)]
            return runs

    def _reproducible_output(self, program: Path, words: Sequence[str]) -> bytes | None:
        """The program's output with other arguments; None if two runs print different output."""
        first, second = (self._run(program, words).stdout for _ in range(2))
        if self._options.check and (complaint := self._check_complaint(first)):
            message = f"--check rejects the unchanged program with {shlex.join(words)}: {complaint}"
            raise UsageError(message, "fix the check, or omit this --also")
        return first if first == second else None

    def _complaint_with_other_arguments(self, candidate: Path, source: SourceText | None) -> str | None:
        """Why the candidate fails or prints something else with one of the other argument lists; None if it does not."""
        for words, printed in self._other_arguments.items():
            try:
                with self._running:
                    stdout = self._run(candidate, words, source=source).stdout
            except ENDS_BADLY as error:
                return f"with {shlex.join(words)} the program no longer succeeds: {error.problem}"
            if self._options.check:
                if complaint := self._check_complaint(stdout):
                    return f"with {shlex.join(words)} --check rejects its output: {complaint}"
            elif printed not in (None, stdout):
                return f"with {shlex.join(words)} it prints something else: {_first_difference(printed, stdout)}"
        return None

    def _comparison_text(self) -> str:
        also = "".join(f", also with `{shlex.join(words)}`" for words in self._other_arguments)
        if self._options.check:
            return f", and --check accepts its output{also}"
        if not self.reproducible:
            return f" (its output differs between runs of the baseline: not compared){also}"
        return f", with the same output{also}"

    def run(self, program: Path, source: SourceText | None = None) -> ProgramRun:
        """Run a program once with its own arguments. Raises the errors in ENDS_BADLY."""
        with self._running:
            return self._run(program, source=source)

    def wrong_output(self, stdout: bytes) -> str | None:
        """What is wrong with a program's output; None if nothing is, or if, without --check, the baseline's output varies."""
        if self._options.check:
            return f"--check rejects its output: {complaint}" if (complaint := self._check_complaint(stdout)) else None
        if self.reproducible and stdout != self.baseline.stdout:
            return f"it prints something else: {_first_difference(self.baseline.stdout, stdout)}"
        return None

    def _regression(self, run: ProgramRun, runtime_ms: tuple[float, float]) -> str | None:
        """How the program exceeds the regression limits; None if it does not. run: the candidate's run. runtime_ms: (baseline,
        candidate).
        """
        options, (before, after) = self._options, runtime_ms
        if after > before * (1 + options.runtime):
            return f"the program's time on the GPU grows from {before:.6f} to {after:.6f} ms, beyond {options.runtime:.0%}"
        # The candidate claims a gain. If every run takes the same time, a slower program contradicts that claim, unless the
        # user has set how much slower it may be.
        if run.timing == "modelled" and after > before and options.runtime == ApplicationOptions.runtime:
            return f"the program's time on the GPU grows from {before:.6f} to {after:.6f} ms, although its kernel claims a gain"
        first, second = self.baseline.dram_bytes, run.dram_bytes
        if first is not None and second is not None and second > first * (1 + options.dram_bytes) and after >= before:
            return f"it moves {second:.0f} bytes beyond L2 (baseline: {first:.0f}) and is no faster"
        return None

    def _evidence(self, after: ProgramRun, runtime_ms: tuple[float, float], gain: ObservedGain | None) -> ApplicationEvidence:
        before = self.baseline
        moved = {symbol: _changed_counters(before.counters.get(symbol, {}), sums) for symbol, sums in after.counters.items()}
        return ApplicationEvidence(
            timing=after.timing,
            timing_parameters=after.timing_parameters,
            runtime_ms=runtime_ms,
            kernel_ms=gain.medians_ms if gain else None,
            saved_in_program=gain.saved if gain else None,
            saved_when_replayed=gain.claim.saved if gain else None,
            dram_bytes=(before.dram_bytes, after.dram_bytes),
            cage=cage.in_words(self._options.view),
            stdout_compared=self.reproducible and not self._options.check,
            arguments=[list(words) for words in (self._arguments, *self._other_arguments)],
            counters={symbol: counters for symbol, counters in moved.items() if counters},
            # For the kernels whose counters changed, also list the counters that did not: they are equally informative.
            unmoved_counters={
                symbol: sorted(name for name, value in after.counters[symbol].items() if value and name not in counters)
                for symbol, counters in moved.items()
                if counters
            },
        )

    def _check_complaint(self, stdout: bytes) -> str | None:
        """Why the user's check rejects an output; None if the check accepts the output."""
        try:
            ended = subprocess.run(self._options.check, input=stdout, capture_output=True, timeout=self._options.timeout)
        except subprocess.TimeoutExpired as error:
            message = f"--check {self._options.check[0]} was still running after {error.timeout:g} s and was stopped"
            raise UsageError(message, "raise --timeout, or name a program that ends") from error
        except OSError as error:
            raise UsageError(f"--check {self._options.check[0]} cannot be run ({error})", "name a program") from error
        if ended.returncode == 0:
            return None
        words = (ended.stderr or ended.stdout).decode(errors="replace").strip().splitlines()
        return f"exit status {ended.returncode}" + (f", {words[0][:200]}" if words else "")

    def _run(
        self,
        program: Path,
        arguments: Sequence[str] | None = None,
        writable: tuple[Path, ...] = (),
        source: SourceText | None = None,
    ) -> ProgramRun:
        """Run a program in the cage and trace it.

        arguments: None for the program's own. writable: folders that the program may write to in addition to its trace folder.
        source: None to leave the source files as they are.
        """
        self._runs += 1
        folder = self._folder / f"run-{self._runs}"
        shutil.rmtree(folder, ignore_errors=True)  # left over from a run that was killed
        folder.mkdir()
        self._program_path.parent.mkdir(exist_ok=True)
        shutil.copy2(program, self._program_path)
        device = devices.select(self._options.device, folder)
        if not device.is_hardware:
            device = devices.select(self._options.device, folder, [devices.MEMORY_CHECK])
        tracer = BuiltinTracer.on(device, folder, self._limit)
        database, output = folder / "trace" / "trace.db", folder / "stdout"
        database.parent.mkdir()
        foreign = database.parent / "foreign"  # placed in the only folder that the cage lets the program write to
        words = (str(self._program_path), *(self._arguments if arguments is None else arguments))
        replaced = () if source is None else tuple(source.written_to(folder))
        command = self._caged_command(words, folder, writable, replaced, device.is_hardware)
        environment = os.environ | {devices.FOREIGN_ACCESSES_VARIABLE: str(foreign)} | self._code_cache_environment
        try:
            with output.open("wb") as stdout, (folder / _STDERR_FILE).open("wb") as stderr:
                tracer.trace(command, environment, database, stdout, stderr)
        finally:  # also for a program that exits normally although its kernel failed
            if foreign.exists():
                raise ForeignAccessError(program.name, foreign.read_text().splitlines()[0])
        return read_program_run(program.name, database, output.read_bytes())

    def _caged_command(
        self,
        words: Sequence[str],
        folder: Path,
        writable: tuple[Path, ...],
        replaced: tuple[tuple[Path, Path], ...],
        on_gpu: bool,
    ) -> Command:
        """The command that runs a program in the cage.

        words: the program's path and its arguments. Apart from the folders in `writable`, only its trace folder is writable.
        replaced: see View.
        """
        seen = self._options.view.showing((folder, self._code_cache), writable, replaced)
        view = replace(seen, traces=folder / "trace", gpu=on_gpu)
        limits = CageLimits(seconds=_DAY_SECONDS if self._limit is None else self._limit + _MIN_TIMEOUT_SECONDS)
        caged = cage.within(words, Path.cwd(), view, limits)
        return Command(tuple(caged), Path(caged[0]), self._program_path.name)


def _changed_counters(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, list[float]]:
    """The counters that change noticeably, each with its values [before, after]."""
    both = {name: [before[name], value] for name, value in after.items() if name in before}
    return {name: pair for name, pair in both.items() if abs(pair[1] - pair[0]) > _MIN_COUNTER_CHANGE * max(abs(pair[0]), 1)}


def _first_difference(before: bytes, after: bytes) -> str:
    old, new = before.decode(errors="replace").splitlines(), after.decode(errors="replace").splitlines()
    for number, (old_line, new_line) in enumerate(zip(old, new, strict=False), start=1):  # one may be shorter
        if old_line != new_line:
            return f"line {number} is {new_line[:120]!r}, the baseline's {old_line[:120]!r}"
    return f"{len(new)} lines, the baseline {len(old)}"
