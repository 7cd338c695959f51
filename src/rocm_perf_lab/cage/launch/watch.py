"""Starts a cage, watches it from outside, and ends it."""

from __future__ import annotations

import _socket
import os
import select
import struct
import sys
import time

import command_line
import environment
import folder_growth
import leftovers
import process_usage
from signal_without_enums import signal

TYPE_CHECKING = False  # like typing.TYPE_CHECKING, but typing is slow to import
if TYPE_CHECKING:
    from command_line import Settings

_TICK_SECONDS, _PAUSE_PER_CHECK = 0.03, 3  # even if the cage is full of processes, checks take at most a third of the time
_MAX_DESCRIPTORS = 16
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class CommandEnd:
    """How a caged command ended.

    status: exit status. signal: the signal that ended the command, 0 for none. over: the limit that it exceeded, in words.
    failed: whether building the cage failed.
    """

    def __init__(self, status: int = 0, signal: int = 0, over: str = "", failed: bool = False):
        self.status, self.signal, self.over, self.failed = status, signal, over, failed

    @property
    def report(self) -> str:
        if self.failed:
            return "failed"
        return f"limit {self.over}" if self.over else f"status {-self.signal or self.status}"


class CommandMonitor:
    def __init__(self, options: Settings, mounts: list[str], command: list[str]):
        self._options, self._mounts, self._command = options, mounts, command
        self._seconds = float(options["seconds"][0])
        limits = (int(options[name][0]) for name in ("memory_bytes", "processes", "disk_bytes", "files"))
        self._memory, self._tasks, self._disk, self._files = limits
        self._first: int | None = None  # descriptor of the cage's first process
        self._usage: process_usage.Usage | None = None  # set once the cage's first process has reported

    def run(self) -> CommandEnd:
        """Run the command until it ends or exceeds a limit, a signal arrives, or the owner ends; then end all its processes."""
        self._end_time = time.monotonic() + self._seconds
        self._poll = select.poll()
        self._catch_signals()
        self._owner = _descriptor_of(int(self._options["owner"][0]))
        self._poll.register(self._owner, select.POLLIN)
        self._storage = folder_growth.Storage(self._options.get("writable", []))  # before anything in the cage can write there
        self._channel, inner = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._poll.register(self._channel.fileno(), select.POLLIN)
        self._maker = self._start(inner)
        inner.close()
        _raise_priority()
        try:
            end = self._await_end()
        finally:
            self._end_all()
        if not end.over and not end.failed and (over := self._too_much_stored()):
            end = CommandEnd(over=over)
        for folder in self._options.get("writable", []):
            leftovers.tidy(folder, folder in self._options.get("traces", []))
        return end

    def _catch_signals(self) -> None:
        """Make signals wake the poll, so that none is missed."""
        self._signals, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(waker)
        for number in _ENDING_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        self._poll.register(self._signals, select.POLLIN)

    def _start(self, inner: _socket.socket) -> int:
        variables_inside = environment.environment_inside(os.environ, self._options.get("keep", []))
        variables = {os.fsencode(name): os.fsencode(value) for name, value in variables_inside.items()}
        if self._options["mechanism"] == ["namespaces"]:
            import namespaces

            channels = self._channel, inner
            return namespaces.start(self._mounts, channels, variables, self._options, self._command)
        return self._start_bubblewrap(inner, variables)

    def _start_bubblewrap(self, inner: _socket.socket, variables: dict[bytes, bytes]) -> int:
        file = os.memfd_create("environment")
        os.write(file, command_line.packed_environment(variables))
        settings = [f"{name}={value}" for name, values in self._options.items() for value in values if name != "option"]
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cage_init.py")
        first = [sys.executable, "-I", "-S", script, str(inner.fileno()), str(file), *settings, "--", *self._command]
        words = [self._options["program"][0], *self._options.get("option", []), *self._mounts, "--", *first]
        child = os.fork()
        if child == 0:
            try:
                for descriptor in (inner.fileno(), file):
                    os.set_inheritable(descriptor, True)
                _be_killed_first_by_kernel()
                os.execve(words[0], words, {})
            finally:
                os._exit(1)
        os.close(file)
        return child

    def _await_end(self) -> CommandEnd:
        next_look = 0.0
        while True:
            now = time.monotonic()
            if now >= self._end_time:
                return CommandEnd(over=f"did not end within {self._seconds:g} s")
            if self._usage and now >= next_look:
                if over := self._exceeded_limit(self._usage):
                    return CommandEnd(over=over)
                next_look = now + max(_TICK_SECONDS, _PAUSE_PER_CHECK * (time.monotonic() - now))
            if end := self._wait(min(self._end_time, next_look or self._end_time) - now):
                return end

    def _wait(self, seconds: float) -> CommandEnd | None:
        """How the command ended, or is to end because a signal arrived or the owner ended; None if it is still running."""
        ready = {descriptor for descriptor, _ in self._poll.poll(max(0.0, seconds) * 1000 + 1)}
        if self._signals in ready:
            return CommandEnd(signal=os.read(self._signals, 1)[0])
        if self._owner in ready:
            return CommandEnd(signal=signal.SIGKILL)
        return self._receive_message() if self._channel.fileno() in ready else None

    def _receive_message(self) -> CommandEnd | None:
        """Handle a message from the first process in the cage. Returns how the command ended; None if it is still running."""
        message, more, _, _ = self._channel.recvmsg(64, _socket.CMSG_SPACE(4 * _MAX_DESCRIPTORS))
        if message == b"hello":
            self._first, processes, *folders = struct.unpack(f"{len(more[0][2]) // 4}i", more[0][2])
            self._usage = process_usage.Usage(processes, folders, self._options.get("writable", []))
            return None
        if message.startswith(b"status "):
            status = int(message.split()[1])
            return (
                CommandEnd(os.waitstatus_to_exitcode(status))
                if os.WIFEXITED(status)
                else CommandEnd(signal=os.WTERMSIG(status))
            )
        # The first process ended without a message: the cage could not be built, or the process was killed from outside.
        return CommandEnd(signal=signal.SIGKILL) if self._usage else CommandEnd(status=126, failed=True)

    def _exceeded_limit(self, used: process_usage.Usage) -> str:
        """The limit that the cage exceeds, in words; empty if there is none."""
        tasks, memory, deleted = used.current_usage()
        if tasks > self._tasks:
            return f"had more than {self._tasks} processes and threads"
        if memory > self._memory and used.precise_memory() > self._memory:
            return f"used more than {self._memory / (1 << 20):,.0f} MiB of memory"
        return self._too_much_stored(deleted)

    def _too_much_stored(self, deleted: int = 0) -> str:
        """The limit on stored data that the cage exceeds, in words; empty if there is none.

        deleted: bytes of files without a directory entry.
        """
        used, files = self._storage.growth()
        if used >= folder_growth.ENDLESS // 2:
            return f"nested more than {folder_growth.MAX_DEPTH} folders"
        if files > self._files:
            return f"made more than {self._files:,} files and folders"
        return f"wrote more than {self._disk / (1 << 20):,.0f} MiB" if used + deleted > self._disk else ""

    def _end_all(self) -> None:
        """Kill the remaining processes, and wait until they are gone."""
        if self._first is not None:
            try:
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
            except ProcessLookupError:
                pass
            gone = select.poll()
            gone.register(self._first, select.POLLIN)
            gone.poll()
        else:
            os.kill(self._maker, signal.SIGKILL)
        os.waitpid(self._maker, 0)


def _descriptor_of(process: int) -> int:
    try:
        return os.pidfd_open(process)
    except ProcessLookupError:
        os._exit(126)  # nobody is waiting for this process any more


def _be_killed_first_by_kernel() -> None:
    """Make the kernel kill this process and its children first if memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def _raise_priority() -> None:
    """Raise this process's priority, if permitted, so that a cage full of processes cannot prevent its checks."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        pass
