"""Executes a program without a shell, and leaves none of its processes running."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import IO

from rocm_perf_lab.collect import piped_input
from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.errors import MissingInputError, ProgramFailedError, ProgramKilledError, ProgramTimeoutError
from rocm_perf_lab.process.child import DeferredInterrupts, wait

_GRACE_SECONDS = 2.0

Stream = IO[bytes] | IO[str] | int  # a stream that a program reads or writes: a file, a descriptor, DEVNULL and the like


def execute(
    command: Command,
    environment: Mapping[str, str],
    *,
    stdout: Stream | None,
    stderr: Stream | None = None,
    timeout: float | None = None,
    stdin: Stream | None = None,
    on_poll: Callable[[int], None] | None = None,
) -> None:
    """Run a program to its end, in a new session, so that an interrupt can stop the whole process group.

    stdin: None for this process's own; every run reads it from the start if it is a file or a pipe, and gets an empty input
    otherwise.
    Raises ProgramFailedError, ProgramKilledError, ProgramTimeoutError, MissingInputError, or UsageError if the program
    read too much from a pipe on standard input. However this function ends (even with a KeyboardInterrupt), it leaves no
    process of the group running.

    on_poll: called twice a second with the process id while the program runs; an exception that it raises ends the run.
    """
    with _input(stdin) as stream, DeferredInterrupts() as interrupts:
        process = _spawn(command, environment, stdin=stream, stdout=stdout, stderr=stderr, own_session=True)
        try:
            interrupts.deliver()
            status = wait(process, timeout, on_poll and partial(on_poll, process.pid))
        except subprocess.TimeoutExpired as expired:
            raise ProgramTimeoutError(command.program, expired.timeout) from expired
        finally:
            _stop_group(process)
    if status < 0:
        raise ProgramKilledError(command.program, -status)
    if status > 0:
        raise ProgramFailedError(command.program, status)


def execute_attached(
    command: Command, environment: Mapping[str, str], stdout: Stream | None = None, *, interruptible: bool = False
) -> int:
    """Run a program with this terminal and standard input, in this process group; return its exit status as a shell would.

    stdout: where the program's standard output goes; None for this process's own.

    Ctrl-C reaches the program through the terminal; signals sent to this process are passed on. interruptible: once the program
    has ended, for whatever reason, these signals also take effect in this process, as KeyboardInterrupt or SystemExit.
    """
    received: list[int] = []
    process: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _frame: object) -> None:
        received.append(number)
        if process is not None and not (number == signal.SIGINT and _is_in_the_foreground()):
            process.send_signal(number)

    numbers = [n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if callable(signal.getsignal(n))]
    previous = {number: signal.signal(number, pass_on) for number in numbers}
    try:
        process = _spawn(command, environment, stdout=stdout)
        for number in received:  # received before there was a process to pass them on to
            process.send_signal(number)
        status = wait(process)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    if interruptible:
        for number in received:
            signal.raise_signal(number)
    return status if status >= 0 else 128 - status


def _is_in_the_foreground() -> bool:
    """Whether a terminal sends its Ctrl-C to this process group."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            return os.tcgetpgrp(descriptor) == os.getpgrp()
    return False


def _spawn(
    command: Command,
    environment: Mapping[str, str],
    *,
    stdout: Stream | None,
    stderr: Stream | None = None,
    stdin: Stream | None = None,
    own_session: bool = False,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command.argv,
            executable=command.executable,
            env=dict(environment),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=own_session,
        )
    except OSError as error:
        raise MissingInputError(
            f"{command.program} cannot be executed ({error.strerror})",
            "check that it is a program for this machine (or a script whose first line names its interpreter)",
        ) from error


@contextlib.contextmanager
def _input(requested: Stream | None) -> Iterator[Stream]:
    if requested is not None:
        yield requested
        return
    if (piped := piped_input.of_standard_input()) is not None:
        with piped.for_a_run() as stream:
            yield stream
        return
    if not _is_regular(0):
        yield subprocess.DEVNULL
        return
    # Reopening the file gives the program an offset of its own, which starts at 0; ours does not move.
    with open("/proc/self/fd/0", "rb") as stream:
        yield stream


def _is_regular(descriptor: int) -> bool:
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _stop_group(process: subprocess.Popen[bytes]) -> None:
    """Kill whatever is left of the process group. A program that is still running is first asked to stop."""
    if process.poll() is None:
        _signal_group(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
