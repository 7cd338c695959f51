"""Errors that the user can act on, and their exit codes.

An error says what went wrong, naming the thing concerned, and how to fix it. The command line prints both as one line on stderr
and exits with the class's `exit_code`; `exit_codes()` lists all codes, and `rocm-perf --help` prints that list. The numbers
from 64 on follow sysexits.h where one of its meanings fits; 31 to 36 are about the profiled program and its source, 37 to 42
about captures and replays, 43 about the optimizer, 44 about the cage, 45 about the gate, 46 and 47 about search spaces, 48 to
50 about models, 51 and 52 about kernels that access foreign memory or fail, 53 about code for another GPU, 54 about
comparisons, and 55 about builds.
"""

from __future__ import annotations

import signal
from pathlib import Path

from rocm_perf_lab.text.escaping import visible

_MAX_PROBLEM_LENGTH = 1000  # characters; a longer message, which may quote a file, is cut in the middle


class RocmPerfError(Exception):
    """Base class of the errors that end a command with one clear line; raise a subclass.

    problem: what went wrong, naming the file, program or value concerned; no full stop, no line breaks.
    hint: what the user can do about it, in the imperative; empty only if there is nothing to suggest.
    """

    exit_code = 70
    meaning = "internal error: a defect in rocm-perf (run again with --debug for the traceback)"

    def __init__(self, problem: str, hint: str = ""):
        super().__init__(problem, hint)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        half = _MAX_PROBLEM_LENGTH // 2
        shortened = (
            self.problem if len(self.problem) <= _MAX_PROBLEM_LENGTH else f"{self.problem[:half]} ... {self.problem[-half:]}"
        )
        text = " ".join((f"{shortened}; {self.hint}" if self.hint else shortened).split())
        return visible(text)


class UsageError(RocmPerfError):
    exit_code = 2
    meaning = "wrong command line"


class ProgramFailedError(RocmPerfError):
    exit_code = 31
    meaning = "the program ended with a non-zero exit status"

    def __init__(self, program: str, status: int):
        super().__init__(
            f"{program} exited with status {status}",
            f"make it succeed first (`rocm-perf run {program}` runs it without profiling)",
        )
        self.status = status


class ProgramKilledError(RocmPerfError):
    exit_code = 32
    meaning = "the program was killed by a signal"

    def __init__(self, program: str, number: int):
        super().__init__(
            f"{program} was killed by {signal_name(number)}",
            f"make it run to its end first (`rocm-perf run {program}` runs it without profiling)",
        )
        self.signal = number


class ProgramTimeoutError(RocmPerfError):
    exit_code = 33
    meaning = "the program did not end within --timeout"

    def __init__(self, program: str, seconds: float):
        super().__init__(
            f"{program} was still running after {seconds:g} s and was stopped", "raise --timeout or give it less work"
        )


class NoKernelsError(RocmPerfError):
    exit_code = 34
    meaning = "the program launched no GPU kernel"


class RacesFoundError(RocmPerfError):
    exit_code = 35
    meaning = "the program succeeded, but the race check found races (`rocm-perf run --device-option race-check`)"

    def __init__(self, program: str, count: int):
        super().__init__(
            f"the race check found {count} races in {program}", "see the lines above: each names the two instructions"
        )


class SourceError(RocmPerfError):
    exit_code = 36
    meaning = "a source file does not compile, or cannot be changed safely"


class NoCaptureError(RocmPerfError):
    exit_code = 37
    meaning = "the program succeeded, but no dispatch was captured"


class CaptureError(RocmPerfError):
    exit_code = 38
    meaning = "a capture is incomplete or damaged"


class PlacementError(RocmPerfError):
    exit_code = 39
    meaning = "the captured address range cannot be mapped (see `rocm-perf replay reserve-check`)"


class ReplayDiffersError(RocmPerfError):
    exit_code = 40
    meaning = "memory after the replayed kernel differs from the captured memory (`rocm-perf replay full-vm --compare`)"


class UnfitCodeError(RocmPerfError):
    exit_code = 41
    meaning = "the replacement code object does not fit the captured dispatch"


class ReplayFailedError(RocmPerfError):
    exit_code = 42
    meaning = "the replayed kernel failed, or did not end"


class NoSourceError(RocmPerfError):
    exit_code = 43
    meaning = "the source of the program was not found (`rocm-perf optimize --source`)"


class NoCageError(RocmPerfError):
    exit_code = 44
    meaning = (
        "this machine cannot provide a cage for candidates (see `rocm-perf doctor`; `--trust-candidates` runs without one)"
    )


class CandidateRejectedError(RocmPerfError):
    exit_code = 45
    meaning = "the gate rejected the candidate (`rocm-perf gate`)"


class SpaceError(RocmPerfError):
    exit_code = 46
    meaning = "a search space or a template of `rocm-perf autotune` is wrong, or no configuration is valid"


class NothingRanError(RocmPerfError):
    exit_code = 47
    meaning = "every configuration that was tried failed"


class LanguageModelError(RocmPerfError):
    exit_code = 48
    meaning = "the model of `rocm-perf llm-optimize` could not be asked, or did not answer in time"


class UnusableAnswersError(RocmPerfError):
    exit_code = 49
    meaning = "no answer of the model contained a usable kernel, so nothing could be judged"


class JournalDiffersError(RocmPerfError):
    exit_code = 50
    meaning = "`rocm-perf llm-optimize --replay-journal` made decisions that differ from the journal"


class ForeignAccessError(RocmPerfError):
    exit_code = 51
    meaning = "a kernel accessed memory that is not its program's (`rocm-perf run --device-option memory-check`)"

    def __init__(self, program: str, access: str):
        super().__init__(
            f"{program} accesses memory outside its own: {access}", "make the kernel access only its program's memory"
        )


class KernelFailedError(RocmPerfError):
    exit_code = 52
    meaning = "a kernel failed on the software device, although the program succeeded"

    def __init__(self, program: str, why: str):
        super().__init__(
            f"a kernel of {program} failed: {why}",
            f"fix it first (`rocm-perf run {program}` runs it without profiling); the program does not check for errors",
        )


class WrongTargetError(RocmPerfError):
    exit_code = 53
    meaning = "the program, or a library that it loads, has no code for this GPU"

    def __init__(self, problem: str, target: str, other_device: str | None = None):
        """other_device: the value of `--device` for which the code was compiled; None if there is none."""
        other = f", or run it with --device {other_device}" if other_device else ""
        super().__init__(problem, f"compile with --offload-arch={target}{other}")


class LimitExceededError(RocmPerfError):
    exit_code = 54
    meaning = "a change exceeds a limit (`--fail-on` of `rocm-perf compare` and `rocm-perf ci`)"


class BuildFailedError(RocmPerfError):
    exit_code = 55
    meaning = "a revision could not be built (`rocm-perf ci`)"

    def __init__(self, command: str, log: Path):
        super().__init__(f"the build command `{command}` failed", f"see {log}")


class TraceError(RocmPerfError):
    exit_code = 65
    meaning = "a trace or another input file cannot be read"


class MissingInputError(RocmPerfError):
    exit_code = 66
    meaning = "the program or an input file is missing or cannot be executed"


class UnavailableError(RocmPerfError):
    exit_code = 69
    meaning = "no usable device, collector or native library (see `rocm-perf doctor`)"


class CollectionError(RocmPerfError):
    exit_code = 71
    meaning = "the program succeeded, but the collector left no trace"


class UnsuitableEnvironmentError(RocmPerfError):
    exit_code = 72
    meaning = "the environment of this process keeps GPU programs from running: TMPDIR, or the limit of the address space"


class OutputError(RocmPerfError):
    exit_code = 73
    meaning = "the output cannot be written"


INTERRUPTED = 128 + signal.SIGINT


def _classes() -> list[type[RocmPerfError]]:
    return [RocmPerfError, *RocmPerfError.__subclasses__()]


def exit_codes() -> list[tuple[int, str]]:
    """Every exit code of rocm-perf with its meaning, in ascending order."""
    table = {
        0: "success",
        1: "the reader of the output closed the pipe",
        INTERRUPTED: "interrupted by Ctrl-C (143: by SIGTERM)",
    }
    table |= {error.exit_code: error.meaning for error in _classes()}
    return sorted(table.items())


def signal_name(number: int) -> str:
    """'SIGKILL (signal 9)', or 'signal 40' for a number without a name."""
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"
