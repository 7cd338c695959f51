"""The judge's link to the process that reads candidates: it turns whatever happens there into a change or a refusal."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from rocm_perf_lab import cage
from rocm_perf_lab.cage import CageLimits, View
from rocm_perf_lab.cage.needed_paths import installation
from rocm_perf_lab.errors import SourceError, UnavailableError
from rocm_perf_lab.gate.change import KernelChange, LaunchText
from rocm_perf_lab.gate.source.promises import Promises
from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.flags import parse_flags
from rocm_perf_lab.hip_source.source_state import split_state
from rocm_perf_lab.process.child import raise_if_stopped
from rocm_perf_lab.process.piped import piped

_SECONDS_TO_START = 120
_LOOK_SECONDS = 0.5
_WALL_PER_PROCESSOR_SECOND = 10  # wall seconds allowed per second of processor time, for busy machines
_LIMITS = CageLimits(seconds=7 * 86400.0, memory_bytes=4 << 30, processes=64, file_bytes=1 << 30, disk_bytes=1 << 30)
"""Limits of the process, which may serve many candidates for hours; the time per candidate is limited separately."""


class CandidateReader:
    """Reads candidates for one baseline. view: what the cage shows to the reading process. seconds: processor time allowed per
    candidate.

    Use as a context manager. Several threads may call change(); they are served one at a time.
    """

    def __init__(self, baseline: HipSource, view: View = View(), seconds: int = 30):
        self._baseline, self._seconds = baseline, seconds
        folders = (baseline.path.resolve().parent, baseline.main.resolve().parent, baseline.folder)
        compiler = installation(baseline.command[0], baseline.folder)  # the compiler reports where its own headers are
        self._view = view.showing(readable=(*folders, *compiler))
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False
        self._sender = threading.Thread()  # sends the first request
        self._lock = threading.Lock()

    def __enter__(self) -> CandidateReader:
        self._launch()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def change(self, candidate: bytes, kernel: str | None = None) -> KernelChange | str:
        """The change to take from the candidate, or why it is refused. candidate: as in hip_source.source_state. kernel:
        identity of the kernel to change, None for any.

        Raises SourceError if the baseline cannot be read, UnavailableError if the process does not start.
        """
        wall = self._seconds * _WALL_PER_PROCESSOR_SECOND
        own_text, other_texts = split_state(candidate)
        try:
            other_files = [(path, self._baseline.content(path), text) for path, text in other_texts.items()]
        except OSError as error:
            return f"it changes {error.filename}, which cannot be read: {error.strerror}"
        with self._lock:
            process = self._ready_process()
            request = {"text": own_text.decode("latin-1"), "kernel": kernel, "seconds": self._seconds, "wall_seconds": wall}
            encoded_files = [[str(path), *(text.decode("latin-1") for text in both)] for path, *both in other_files]
            _send_request(process, request | {"others": encoded_files})
            answer = self._answer(process, wall + 5)
        if answer is None:
            return f"it cannot be read within {wall} s and the cage's memory limit"
        return str(answer["refused"]) if "refused" in answer else _kernel_change(answer["change"])

    def _launch(self) -> subprocess.Popen[bytes]:
        """Start reading the baseline; the answer is awaited when the first candidate arrives."""
        command = [sys.executable, "-P", "-m", f"{__package__}.candidate_reader_process"]
        caged = cage.within(command, self._baseline.folder, self._view, _LIMITS)
        process = subprocess.Popen(caged, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._process, self._is_ready = process, False
        source = self._baseline
        path, main = (os.path.abspath(file) for file in (source.path, source.main))  # the process runs in the build's folder
        flags = parse_flags(source.command, source.main, source.folder)  # resolved outside the cage, which may hide links
        first = {"path": path, "main": main, "command": [source.command[0], *flags], "folder": str(source.folder)}
        first |= {"text": source.state.decode("latin-1")}
        self._sender = threading.Thread(target=_send_baseline, args=(process, first, source), daemon=True)
        self._sender.start()
        return process

    def _ready_process(self) -> subprocess.Popen[bytes]:
        process = self._process or self._launch()
        if self._is_ready:
            return process
        answer = self._answer(process, _SECONDS_TO_START)
        if answer is None:
            raise UnavailableError(
                "the process that reads candidates did not start, or was killed",
                "try again; if it printed an error, that is above; see also `rocm-perf doctor`",
            )
        self._sender.join()
        if "error" in answer:
            self._end()
            raise SourceError(answer["error"], "make it compile first, or give its flags with --build")
        self._is_ready = True
        return process

    def _answer(self, process: subprocess.Popen[bytes], seconds: float) -> dict[str, Any] | None:
        """The next answer; None if there is none, in which case the process has been stopped."""
        try:
            line = _read_line(piped(process.stdout).fileno(), time.monotonic() + seconds)
            if line is not None:
                answer: dict[str, Any] = json.loads(line)
                return answer
        except json.JSONDecodeError:
            pass
        except BaseException:
            self._end()
            raise
        self._end()
        return None

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        self._sender.join()  # the process has ended, and with it any write to its pipe
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(BrokenPipeError):
                piped(stream).close()
        process.wait()


def _send_baseline(process: subprocess.Popen[bytes], first: dict[str, Any], source: HipSource) -> None:
    """Send the first request, followed by the includes that this process has already precompiled for the source. That takes as
    long as the process takes to start, because it is more than fits into the pipe.
    """
    try:
        includes = source.precompiled_includes
    except OSError:  # the process will say what cannot be read
        includes = []
    _send_request(process, first | {"includes": [described | {"bytes": len(content)} for described, content in includes]})
    with contextlib.suppress(BrokenPipeError):
        for _, content in includes:
            piped(process.stdin).write(content)
        piped(process.stdin).flush()


def _send_request(process: subprocess.Popen[bytes], request: dict[str, Any]) -> None:
    requests = piped(process.stdin)
    with contextlib.suppress(BrokenPipeError):  # the process is gone, and _answer() returns None
        requests.write(json.dumps(request).encode() + b"\n")
        requests.flush()


def _read_line(descriptor: int, deadline: float) -> bytes | None:
    line = b""
    while time.monotonic() < deadline:
        raise_if_stopped()
        if not select.select([descriptor], [], [], min(_LOOK_SECONDS, max(0.0, deadline - time.monotonic())))[0]:
            continue
        part = os.read(descriptor, 1 << 16)
        line += part
        if not part or line.endswith(b"\n"):
            return line if part else None
    return None


def _kernel_change(value: dict[str, Any]) -> KernelChange:
    promises = value["promises"]
    return KernelChange(
        value["kernel"],
        value["head"].encode("latin-1"),
        value["body"].encode("latin-1"),
        tuple(text.encode("latin-1") for text in value["functions"]),
        tuple(value["names"]),
        Promises(tuple(promises["restrict"]), tuple(promises["unwritten"]), promises["threads"]),
        tuple(_launch(launch) for launch in value["launches"]),
    )


def _launch(value: dict[str, Any]) -> LaunchText:
    file = None if value["file"] is None else Path(value["file"])
    return LaunchText(value["start"], value["end"], value["line"], tuple(value["tokens"]), file)
