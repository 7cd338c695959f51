"""A running script that answers requests about its launches of one kernel."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocm_perf_lab.process.child import DeferredInterrupts, raise_if_stopped
from rocm_perf_lab.process.piped import piped

_LOOK_SECONDS = 0.5
_SHOWN_CHARACTERS = 600  # how many characters of the script's last output are shown
_SLICE = 1 << 20

Message = dict[str, Any]


class ScriptExitedError(Exception):
    """The script's process has ended without an answer. The message says how it ended and quotes its last output."""


class ScriptTimeoutError(Exception):
    """No answer came in time, so the process was killed."""


class ServedScript:
    """One process. Must not be used by more than one thread at a time.

    command: as returned by ScriptKernel.command() or by a cage. stderr: the file that receives everything the script prints.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], stderr: Path):
        self._stderr, self._buffer = stderr, b""
        with stderr.open("wb") as stream, DeferredInterrupts():
            self._process = subprocess.Popen(
                list(command),
                env=dict(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stream,
                start_new_session=True,
            )

    def __enter__(self) -> ServedScript:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, timeout: float | None = None, **request: Any) -> Message:
        """The answer to a request. Raises ScriptExitedError, ScriptTimeoutError, and KeyboardInterrupt as described in
        process.child.stoppable().
        """
        self.send(**request)
        return self.receive(timeout)

    def send(self, **request: Any) -> None:
        """Send a request that gets no answer of its own."""
        with contextlib.suppress(BrokenPipeError):  # receive() then says why
            stdin = piped(self._process.stdin)
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()

    def receive(self, timeout: float | None = None) -> Message:
        """The next message. Raises as ask() does."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._buffer:
            raise_if_stopped()
            if deadline is not None and time.monotonic() > deadline:
                self.close()
                raise ScriptTimeoutError(f"did not answer within {timeout:g} s")
            if not self._read_more():
                self._process.wait()
                raise ScriptExitedError(self._end())
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message: Message = json.loads(line)
        except ValueError:
            self.close()
            raise ScriptExitedError("it wrote to a stream that does not belong to it") from None
        return message

    def close(self) -> None:
        """End the process and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                piped(stream).close()

    def output_tail(self) -> str:
        """The end of the script's output, on one line."""
        with self._stderr.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - 4 * _SHOWN_CHARACTERS))
            return " ".join(stream.read().decode("utf-8", "replace").split())[-_SHOWN_CHARACTERS:]

    def _read_more(self) -> bool:
        """Wait briefly for more output. Returns False at the end of the stream."""
        stdout = piped(self._process.stdout)
        if not select.select([stdout], [], [], _LOOK_SECONDS)[0]:
            return True
        more = os.read(stdout.fileno(), _SLICE)
        self._buffer += more
        return bool(more)

    def _end(self) -> str:
        status = self._process.returncode
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        output = self.output_tail()
        return f"{how}: {output}" if output else how
