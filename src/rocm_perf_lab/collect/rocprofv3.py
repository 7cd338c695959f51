"""AMD's rocprofv3 as the collector, on machines with a GPU: one run of the program a pass.

The base pass must succeed: times and the critical path come from it alone. What a counter pass or the thread trace does not
yield stays unknown, with the reason, and costs nothing else.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from rocm_perf_lab.collect import rocprofv3_options, rocprofv3_output
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.collect.device import Device
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.collect.passes import COUNTERS, THREAD_TRACE, Pass, ThreadTraceTarget
from rocm_perf_lab.collect.rocprofv3_log import Complaint, complaint, last_words, missing_counters
from rocm_perf_lab.errors import ProgramFailedError, ProgramTimeoutError, RocmPerfError, TraceError

_NOT_TRIED = "not tried after an earlier pass failed: "
_FAILURES_IN_A_ROW = 6  # five find one bad counter among 16 by halving


@dataclass(frozen=True)
class Rocprofv3:
    """executable: the rocprofv3 to use. passes: counter names, one run of the program for each inner sequence.

    note: told in one line about everything that could not be collected. timeout: seconds for the base run.
    """

    device: Device
    executable: Path
    passes: Sequence[Sequence[str]]
    note: Callable[[str], None]
    timeout: float | None = None
    kernels: Sequence[str] | None = None

    name = "rocprofv3"

    def trace(self, command: Command, environment: Mapping[str, str], database: Path, output: IO | int | None) -> None:
        """Run `command` once and leave its trace in `database`; its standard output goes to `output`.

        Of a program with several processes, the database of each other one stands beside, with the process id in its name.
        Raises what execute() raises, CollectionError.
        """
        scratch = _emptied(database.with_suffix(".rocprofv3"))
        try:
            self._run(rocprofv3_options.BASE, command, environment, scratch, "rocpd", output, None, self.timeout)
            rocprofv3_output.adopt(scratch, database, command.program)
        except ProgramFailedError as error:  # The status can be rocprofv3's own: it replaces itself by the program.
            error.mend += "; if it succeeds, rocprofv3 is at fault: try --no-rocprof"
            raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def of(self, kernels: Sequence[str] | None) -> Rocprofv3:
        """The same, with counters of the kernels with these demangled names alone; None for all."""
        return replace(self, kernels=kernels)

    def counters(self, command: Command, environment: Mapping[str, str], folder: Path, limit: float) -> list[Pass]:
        """Run once for each pass, `limit` seconds at most; one result a run, in order, whatever becomes of it.

        A set that the GPU cannot collect together is divided and tried again. After a failure that will repeat itself,
        such as a missing permission or a time-out, the rest is not tried.
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
            if hopeless:
                results += [Pass.failed_counters(rest, _NOT_TRIED + result.reason) for rest in pending]
                break
        for text in dict.fromkeys(_notes(results)):
            self.note(text)
        return results

    def _counter_pass(
        self, names: tuple[str, ...], command: Command, environment: Mapping[str, str], database: Path, limit: float
    ) -> tuple[Pass, Complaint | None]:
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
                trouble = Complaint("rocprofv3 has no such counter on this GPU")
            return Pass.failed_counters(names, trouble.reason), trouble
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        missing = {name: _why_missing(name, _text(log)) for name in names if name not in collected}
        if len(missing) == len(names):
            database.unlink()
            return Pass.failed_counters(names, missing[names[0]]), Complaint(missing[names[0]])
        return Pass(COUNTERS, database, None, names, missing), None

    def thread_trace(
        self, target: ThreadTraceTarget, command: Command, environment: Mapping[str, str], folder: Path, limit: float
    ) -> Pass:
        """Trace one dispatch into `folder`: stats_*.csv and ui_output_agent_*_dispatch_*/, as rocprofv3 names them.

        A compute unit that got no wave leaves an empty trace: then one shader engine in four is tried.
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

    def _run_quietly(self, options, command: Command, environment, folder: Path, form: str, log: Path, limit: float) -> None:
        with log.open("wb") as stream:
            self._run(options, command, environment, folder, form, stream, stream, limit)

    def _run(self, options, command: Command, environment, folder: Path, form: str, stdout, stderr, timeout) -> None:
        # Each process writes a file of its own; with one name for all, the last one's would replace the others'.
        where = rocprofv3_options.output(str(folder), "%pid%", form)
        argv = (str(self.executable), *options, *where, "--", *command.argv)
        wrapped = Command(argv, self.executable, command.program)
        execute(wrapped, self.device.environment(environment), stdout=stdout, stderr=stderr, timeout=timeout)


def _trouble(error: RocmPerfError, log: str) -> Complaint:
    """Why a pass failed, by its log first: a status or signal says little of the cause."""
    if known := complaint(log):
        return known
    words = last_words(log)
    reason = f"{error.what} ({words})" if words else error.what
    return Complaint(reason, divisible=not isinstance(error, ProgramTimeoutError | TraceError),
                     hopeless=isinstance(error, ProgramTimeoutError))  # fmt: skip


def _why_missing(name: str, log: str) -> str:
    if name in missing_counters(log):
        return "rocprofv3 has no such counter on this GPU"
    return "rocprofv3 wrote no value of it"


def _notes(results: Sequence[Pass]) -> list[str]:
    """One line for each reason, with its counters; the first few where there are many."""
    counters: dict[str, list[str]] = {}
    for result in results:
        for name, reason in result.missing.items():
            counters.setdefault(reason, []).append(name)
    return [f"not collected: {_few(names)}: {reason}" for reason, names in counters.items()]


def _few(names: Sequence[str], limit: int = 4) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _text(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
