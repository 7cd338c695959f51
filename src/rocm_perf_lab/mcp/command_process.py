"""Runs one `rocm-perf` command as a child process: returns its JSON, reports its progress, and ends its whole session if the
call is cancelled.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import ByteReceiveStream, Process

from rocm_perf_lab.process.piped import piped

_GRACE_SECONDS = 10.0  # how long the command has to stop the program that it runs
_KEPT_BYTES = 64 * 1024  # how much of the end of stderr is kept
_PREFIX, _ERROR = "rocm-perf: ", "rocm-perf: error: "


@dataclass(frozen=True)
class CommandResult:
    """A command that has ended.

    exit_code: the command's exit code, negative for a signal. document: its JSON, None if it printed none. error: its error
    line or, if it printed none, the end of its stderr.
    """

    exit_code: int
    document: Any
    error: str


Progress = Callable[[str], Awaitable[None]]
"""Receives each line about the command's progress."""


async def run(words: Sequence[str], folder: Path, progress: Progress) -> CommandResult:
    """Run `rocm-perf words` in `folder`, without a shell. If the call is cancelled, the command is stopped first."""
    stderr = bytearray()
    stdout = bytearray()
    async with await anyio.open_process(
        [sys.executable, "-m", "rocm_perf_lab", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_gather, piped(process.stdout), stdout)
                group.start_soon(_follow, piped(process.stderr), stderr, progress)
            exit_code = await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process)
    return CommandResult(exit_code, _document(stdout), _error(stderr.decode(errors="replace"), exit_code))


async def _gather(stream: ByteReceiveStream, content: bytearray) -> None:
    async for chunk in stream:
        content += chunk


async def _follow(stream: ByteReceiveStream, content: bytearray, progress: Progress) -> None:
    """Keep the end of the stream; pass on the command's own lines, but neither its errors nor the program's output."""
    unfinished = b""
    async for chunk in stream:
        content += chunk
        del content[:-_KEPT_BYTES]
        *lines, unfinished = (unfinished + chunk).split(b"\n")
        unfinished = unfinished[-_KEPT_BYTES:]
        for line in lines:
            text = line.decode(errors="replace")
            if text.startswith(_PREFIX) and not text.startswith(_ERROR):
                await progress(text.removeprefix(_PREFIX))


async def _stop(process: Process) -> None:
    """If the command is still running, send it a signal, so that it stops its program; then kill the rest of its session."""
    if process.returncode is not None:
        return
    process.terminate()
    with anyio.move_on_after(_GRACE_SECONDS):
        await process.wait()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def _document(stdout: bytearray) -> Any:
    try:
        return json.loads(stdout)
    except ValueError:
        return None


def _error(stderr: str, exit_code: int) -> str:
    lines = stderr.splitlines()
    errors = [line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)]
    return errors[-1] if errors else "\n".join(lines[-5:]) or f"it ended with status {exit_code}, without a message"
