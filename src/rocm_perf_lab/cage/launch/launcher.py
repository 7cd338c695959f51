"""Runs a command in a cage: launcher.py NAME=VALUE... -- MOUNTS... -- COMMAND...

MOUNTS are bubblewrap options. This process stays outside: it watches what the cage uses, and ends the cage if a limit is
exceeded, a terminating signal arrives, or the process `owner` ends. It then ends the way the command did, with the same status
or by the same signal; if a limit was exceeded, it writes a line that names the limit and ends by SIGKILL. Settings:

  mechanism   bubblewrap, namespaces, or trusted (no cage, only limits that can be set for a single process)
  program     bubblewrap's path; option: further options for it
  owner, folder, seconds, memory_bytes, processes, file_bytes, disk_bytes, files
  writable    folders whose contents persist; memory_folder: folders in memory
  keep        names of variables that are passed to the command in addition to the usual ones
  traces, writer   see cage_init.py
  report      a descriptor to write the outcome to: "status N", "limit WORDS" or "failed"
"""

from __future__ import annotations

import os
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command_line  # noqa: E402
from signal_without_enums import signal  # noqa: E402

TYPE_CHECKING = False  # like typing.TYPE_CHECKING, but typing is slow to import
if TYPE_CHECKING:
    from typing import NoReturn

    from command_line import Settings
    from watch import CommandEnd

FAILED = 126
_RESERVED_BY_GPU_RUNTIMES = 36 << 30  # address space that they never use: up to 9 x 4 GiB, depending on an uninitialised value


def main() -> NoReturn:
    options, words = command_line.split(sys.argv[1:])
    separator = words.index("--")
    mounts, command = words[:separator], words[separator + 1 :]
    report = int(options.get("report", [-1])[0])
    _close_all_but(report)
    if options["mechanism"] == ["trusted"]:
        _become(options, command)
    end = _run_watched(options, mounts, command)
    if end.over:
        sys.stderr.write(f"rocm-perf cage: it {end.over}\n")
        sys.stderr.flush()
    if report >= 0:
        os.write(report, os.fsencode(end.report))
    _end_as(end)


def _run_watched(options: Settings, mounts: list[str], command: list[str]) -> CommandEnd:
    import watch

    try:
        return watch.CommandMonitor(options, mounts, command).run()
    except Exception as error:
        sys.stderr.write(f"rocm-perf cage: {type(error).__name__}: {error}\n")
        return watch.CommandEnd(status=FAILED, failed=True)


def _close_all_but(report: int) -> None:
    if report >= 0:
        os.set_inheritable(report, False)
    for first, last in ((3, report), (report + 1, 1 << 30)) if report >= 0 else ((3, 1 << 30),):
        os.closerange(first, last)


def _become(options: Settings, command: list[str]) -> NoReturn:
    """Run a trusted command, without a cage."""
    command_line.lower_limit(resource.RLIMIT_CORE, 0)
    command_line.lower_limit(resource.RLIMIT_FSIZE, int(options["file_bytes"][0]))
    command_line.lower_limit(resource.RLIMIT_DATA, int(options["memory_bytes"][0]) + _RESERVED_BY_GPU_RUNTIMES)
    try:
        os.chdir(options["folder"][0])
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        os._exit(127)


def _end_as(end: CommandEnd) -> NoReturn:
    number = signal.SIGKILL if end.over else end.signal
    if number:
        command_line.lower_limit(resource.RLIMIT_CORE, 0)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(end.status)


main()
