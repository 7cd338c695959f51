"""Uses AMD's rocprofv3 as the collector on machines with a GPU, with one run of the program per pass.

The base pass must succeed, because times and the critical path come from it alone. Whatever a counter pass or the thread trace
fails to yield is reported as unknown, with a reason; nothing else is affected.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from rocm_perf_lab.collect import rocprofv3_options, rocprofv3_output
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.collect.execute import Stream, execute
from rocm_perf_lab.collect.rocprofv3_log import LogMessage, complaint, doubt, last_words, missing_counters
from rocm_perf_lab.collect.rocprofv3_watch import Rocprofv3Watch, to_descriptor
from rocm_perf_lab.errors import (
    ProgramFailedError,
    ProgramKilledError,
    ProgramTimeoutError,
    RocmPerfError,
    TraceError,
    UnsuitableEnvironmentError,
)
from rocm_perf_lab.passes import COUNTERS, THREAD_TRACE, Pass, ThreadTraceTarget

_NOT_TRIED = "not tried after an earlier pass failed: "
_FAILURES_IN_A_ROW = 6  # halving finds one bad counter among 16 within five failures
_STDERR = 2
_TEMPORARY = "temporary"

# rocprofv3 expands "%pid%", "{pid}" and "$ENV{NAME}" in any path that it is given.
_EXPANDED = re.compile(r"[%{$]")


@dataclass(frozen=True)
class Rocprofv3:
    """executable: the rocprofv3 to use. passes: counter names; each inner sequence requires one run of the program.

    note: receives one line for each reason why data could not be collected. scratch: a folder for links.
    timeout: seconds for the base run.
    """

    device: Device
    executable: Path
    passes: Sequence[Sequence[str]]
    note: Callable[[str], None]
    scratch: Path
    timeout: float | None = None
    kernels: Sequence[str] | None = None

    name = "rocprofv3"

    def trace(
        self,
        command: Command,
        environment: Mapping[str, str],
        database: Path,
        output: Stream | None,
        errors: IO[bytes] | None = None,
    ) -> None:
        """Run `command` once and leave its trace in `database`; its standard output goes to `output`, its errors to `errors`.

        errors: None for our own standard error. If several processes of the program leave databases, `database` comes from
        the first process that launched a kernel, and the others are put next to it, with the process id in their names. Raises
        whatever execute() raises, and CollectionError.
        """
        folder, log = _emptied(database.with_suffix(".rocprofv3")), database.with_suffix(".log")
        show = to_descriptor(_STDERR if errors is None else errors.fileno())
        try:
            self._run(rocprofv3_options.BASE, command, environment, folder, "rocpd", output, log, self.timeout, show)
            rocprofv3_output.adopt(folder, database, command.program)
        except (ProgramFailedError, ProgramKilledError) as error:
            _explain(error, _text(log))
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            log.unlink(missing_ok=True)

    def restricted_to(self, kernels: Sequence[str] | None) -> Rocprofv3:
        """The same collector, counting only kernels with these demangled names; None for all."""
        return replace(self, kernels=kernels)

    def collect_counters(self, command: Command, environment: Mapping[str, str], folder: Path, limit: float) -> list[Pass]:
        """Run the program once per pass, for at most `limit` seconds; return one result per set of counters, in order.

        A set of counters that the GPU cannot collect together is split and retried. After a failure that is bound to recur,
        such as a missing permission or a timeout, or after several failures in a row, the remaining passes are not tried, and
        their results say so.
        """
        results: list[Pass] = []
        pending = [tuple(names) for names in self.passes]
        failures = 0
        while pending:
            names = pending.pop(0)
            database = folder / f"counters_{len(results) + 1}{rocprofv3_output.SUFFIX}"
            result, trouble = self._counter_pass(names, command, environment, database, limit)
            failures = failures + 1 if trouble else 0
            hopeless = trouble is not None and (trouble.hopeless or failures == _FAILURES_IN_A_ROW)
            if trouble and trouble.divisible and len(names) > 1 and not hopeless:
                pending[:0] = [names[: len(names) // 2], names[len(names) // 2 :]]
                continue
            results.append(result)
            if trouble and hopeless:
                results += [Pass.failed_counters(untried, _NOT_TRIED + trouble.reason) for untried in pending]
                break
        for text in dict.fromkeys([*_notes(results), *(result.doubt for result in results if result.doubt)]):
            self.note(text)
        return results

    def _counter_pass(
        self, names: tuple[str, ...], command: Command, environment: Mapping[str, str], database: Path, limit: float
    ) -> tuple[Pass, LogMessage | None]:
        log = database.with_name(database.name.removesuffix(rocprofv3_output.SUFFIX) + ".log")
        scratch = _emptied(database.with_suffix(".rocprofv3"))
        try:
            self._run_quietly(
                rocprofv3_options.counters(names, self.kernels), command, environment, scratch, "rocpd", log, limit
            )
            rocprofv3_output.adopt(scratch, database, command.program)
            collected = rocprofv3_output.counters_in(database)
        except RocmPerfError as error:
            database.unlink(missing_ok=True)
            trouble = _trouble(error, _text(log))
            absent = missing_counters(_text(log))
            if absent >= set(names):
                trouble = LogMessage("rocprofv3 has no such counter on this GPU")
            return Pass.failed_counters(names, trouble.reason), trouble
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        missing = {name: _why_missing(name, _text(log)) for name in names if name not in collected}
        if len(missing) == len(names):
            database.unlink()
            return Pass.failed_counters(names, missing[names[0]]), LogMessage(missing[names[0]])
        return Pass(COUNTERS, database, None, names, missing, doubt=doubt(_text(log))), None

    def record_thread_trace(
        self, target: ThreadTraceTarget, command: Command, environment: Mapping[str, str], folder: Path, limit: float
    ) -> Pass:
        """Trace one dispatch into `folder`: stats_*.csv and ui_output_agent_*_dispatch_*/, as rocprofv3 names them.

        If no wave ran on the compute unit, the trace is empty. A second run then traces one shader engine in four.
        """
        reason = ""
        for every_engine in (False, True):
            _emptied(folder)
            options = rocprofv3_options.thread_trace(target, environment, every_engine)
            log = folder / "thread_trace.log"
            try:
                self._run_quietly(options, command, environment, folder, "csv", log, limit)
            except RocmPerfError as error:
                reason = _trouble(error, _text(log)).reason
                break
            if rocprofv3_output.holds_thread_trace(folder):
                return Pass(THREAD_TRACE, folder, kernel=target.name)
            known = complaint(_text(log))
            reason = known.reason if known else rocprofv3_output.why_no_thread_trace(folder, target.cu)
            if (known and known.hopeless) or not rocprofv3_output.is_empty_thread_trace(folder):
                break
        self.note(f"no thread trace: {reason}")
        return Pass(THREAD_TRACE, None, reason, kernel=target.name)

    def _run_quietly(
        self,
        options: Sequence[str],
        command: Command,
        environment: Mapping[str, str],
        folder: Path,
        form: str,
        log: Path,
        limit: float,
    ) -> None:
        log.unlink(missing_ok=True)
        with log.open("ab") as stream:  # append mode, because stderr is appended to the same file
            self._run(options, command, environment, folder, form, stream, log, limit)

    def _run(
        self,
        options: Sequence[str],
        command: Command,
        environment: Mapping[str, str],
        folder: Path,
        form: str,
        stdout: Stream | None,
        log: Path,
        limit: float | None,
        show: Callable[[bytes], None] | None = None,
    ) -> None:
        """Run the program once, with stderr going to `log`; `show` receives what the program itself writes there."""
        literal_folder = self._literal_path(folder)
        temporary = _emptied(folder / _TEMPORARY)
        # Each process writes its own file; if they shared a name, the last process would overwrite the others' files.
        argv = (
            str(self.executable),
            *options,
            *rocprofv3_options.output(str(literal_folder), "%pid%", form),
            "--",
            *command.argv,
        )
        wrapped = Command(argv, self.executable, command.program)
        variables = self.device.environment(environment) | rocprofv3_options.variables(literal_folder / _TEMPORARY)
        watch = Rocprofv3Watch(log, command.program, show)
        try:
            with log.open("ab") as stderr:
                execute(wrapped, variables, stdout=stdout, stderr=stderr, timeout=limit, on_poll=watch.look)
        finally:
            watch.finish()
            shutil.rmtree(temporary, ignore_errors=True)

    def _literal_path(self, folder: Path) -> Path:
        """A path to `folder` that rocprofv3 takes literally. Raises UnsuitableEnvironmentError if there can be none in
        `scratch`.
        """
        if not _EXPANDED.search(str(folder)):
            return folder
        if _EXPANDED.search(str(self.scratch)):
            raise UnsuitableEnvironmentError(
                f"rocprofv3 substitutes %, {{ and $ in paths; {folder} has such characters, and so has {self.scratch}",
                "name another folder: TMPDIR=/path",
            )
        link = Path(tempfile.mkdtemp(dir=self.scratch)) / "folder"
        link.symlink_to(folder)
        return link


def _explain(error: ProgramFailedError | ProgramKilledError, log: str) -> None:
    """Add the log's last words to the error. The exit status may be rocprofv3's own."""
    words = last_words(log)
    error.problem += f" ({words})" if words else ""
    error.hint += "; if it succeeds, rocprofv3 is at fault: try --no-rocprof"


def _trouble(error: RocmPerfError, log: str) -> LogMessage:
    """Why a pass failed, from its log if possible: an exit status or a signal says little about the cause."""
    if known := complaint(log):
        return known
    words = last_words(log)
    reason = f"{error.problem} ({words})" if words else error.problem
    return LogMessage(reason, divisible=not isinstance(error, ProgramTimeoutError | TraceError),
                     hopeless=isinstance(error, ProgramTimeoutError))  # fmt: skip


def _why_missing(name: str, log: str) -> str:
    if name in missing_counters(log):
        return "rocprofv3 has no such counter on this GPU"
    return "rocprofv3 wrote no value for it"


def _notes(results: Sequence[Pass]) -> list[str]:
    """One line for each reason, naming the counters concerned (only the first few if there are many)."""
    counters: dict[str, list[str]] = {}
    for result in results:
        for name, reason in result.missing.items():
            counters.setdefault(reason, []).append(name)
    return [f"not collected: {_first_names(names)}: {reason}" for reason, names in counters.items()]


def _first_names(names: Sequence[str], limit: int = 4) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _text(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
