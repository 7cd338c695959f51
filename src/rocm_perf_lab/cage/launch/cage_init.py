"""The first process in the cage: starts the command, reaps orphans, reports the exit status, and then ends the cage.

    cage_init.py CHANNEL ENVIRONMENT NAME=VALUE... -- COMMAND...

CHANNEL and ENVIRONMENT are file descriptors: a socket connected to the launcher, and a file with the environment variables.
When this process ends, every process in the cage ends. The command can neither signal nor trace this process.
"""

from __future__ import annotations

import os
import resource
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import command_line  # noqa: E402
import seccomp  # noqa: E402
import system_calls  # noqa: E402
from signal_without_enums import signal  # noqa: E402

TYPE_CHECKING = False  # like typing.TYPE_CHECKING, but typing is slow to import
if TYPE_CHECKING:
    import _socket
    from typing import NoReturn

    from command_line import Settings

_CAUGHT_BY_PYTHON = (1, 2, 13, 15, 25)  # HUP, INT, PIPE, TERM and XFSZ: handled or ignored by this program or its parent
_WRITERS_SECONDS = 120.0


def serve(channel: _socket.socket, environment: dict[bytes, bytes], options: Settings, command: list[str]) -> NoReturn:
    system_calls.prctl(system_calls.PR_SET_DUMPABLE, 0)  # no process in the cage may inspect this one
    for number in _CAUGHT_BY_PYTHON:  # the first process of a namespace receives only signals for which it has a handler
        signal.signal(number, signal.SIG_DFL)
    _say_hello(channel, options)
    child = os.fork()
    if child == 0:
        _become(command, environment, options, True)
    status = _reap(child)
    if options.get("traces"):
        _end_all_others()
        _write_databases(options)
    try:
        channel.send(b"status %d" % status)
    except OSError:  # the launcher has ended, and the cage with it
        pass
    os._exit(0)


def _say_hello(channel: _socket.socket, options: Settings) -> None:
    """Send the launcher the descriptors that it uses to watch the cage: for this process, for /proc, and for the in-memory file
    systems.
    """
    import _socket
    import struct

    paths = ["/proc", *options.get("memory_folder", [])]
    descriptors = [os.pidfd_open(os.getpid()), *(os.open(path, os.O_RDONLY | os.O_CLOEXEC) for path in paths)]
    packed = struct.pack(f"{len(descriptors)}i", *descriptors)
    channel.sendmsg([b"hello"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])
    for descriptor in descriptors:
        os.close(descriptor)


def _become(command: list[str], environment: dict[bytes, bytes], options: Settings, own_session: bool) -> NoReturn:
    try:
        if own_session:
            os.setsid()
        _limit(options)
        os.chdir(options["folder"][0])
        seccomp.install()
        os.execvpe(command[0], command, environment)
    except OSError as error:
        os.write(2, os.fsencode(f"{command[0]}: {error.strerror}\n"))
    finally:
        os._exit(127)


def _limit(options: Settings) -> None:
    command_line.lower_limit(resource.RLIMIT_CORE, 0)
    command_line.lower_limit(resource.RLIMIT_FSIZE, int(options["file_bytes"][0]))
    # This limit applies only inside the cage, and not to root, so the launcher checks the number of processes as well.
    command_line.lower_limit(resource.RLIMIT_NPROC, int(options["processes"][0]))


def _reap(child: int) -> int:
    """Wait for the command, reaping orphans in the meantime, and return its status as os.waitpid() does."""
    while True:
        process, status = os.waitpid(-1, 0)
        if process == child:
            return status


def _end_all_others() -> None:
    try:
        os.kill(-1, signal.SIGKILL)
        while True:
            os.waitpid(-1, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def _write_databases(options: Settings) -> None:
    """Convert the tracer's spool files into databases with our own program, after all processes of the command have ended.

    Files that are not converted within _WRITERS_SECONDS are left as they are.
    """
    (folder,), (writer,) = options["traces"], options["writer"]
    end = time.monotonic() + _WRITERS_SECONDS
    for name in sorted(entry for entry in os.listdir(folder) if entry.endswith(".spool")):
        child = os.fork()
        if child == 0:
            silent = os.open("/dev/null", os.O_RDWR)
            for number in range(3):
                os.dup2(silent, number)
            _become([writer, os.path.join(folder, name)], {}, options, True)
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                return
            time.sleep(0.002)


def main() -> NoReturn:
    import _socket

    channel = _socket.socket(fileno=int(sys.argv[1]))
    descriptor = int(sys.argv[2])
    for number in (channel.fileno(), descriptor):
        os.set_inheritable(number, False)
    os.lseek(descriptor, 0, os.SEEK_SET)
    environment = command_line.unpacked_environment(os.read(descriptor, os.fstat(descriptor).st_size + 1))
    os.close(descriptor)
    serve(channel, environment, *command_line.split(sys.argv[3:]))


if __name__ == "__main__":
    main()
