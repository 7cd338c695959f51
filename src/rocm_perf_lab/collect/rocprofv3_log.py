"""Interprets the messages that rocprofv3 writes to stderr.

The program writes to the same stream, so only lines marked as rocprofv3's own are considered: lines with glog's prefix, and its
launcher's "Fatal error: ...".

Source: the messages in rocprofiler-sdk 1.0 and 1.1 (rocprofv3.py, rocprofiler-sdk-tool, att-tool) and in ROCr, and user
reports.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LogMessage:
    """reason: for users. divisible: fewer counters at once may work. hopeless: no other pass of this kind will work either."""

    reason: str
    divisible: bool = False
    hopeless: bool = False


@dataclass(frozen=True)
class LogRecord:
    """severity: I, W, E or F. thread: the id of the thread that wrote it, None for the launcher. text: without the prefix."""

    severity: str
    thread: int | None
    text: str


@dataclass(frozen=True)
class ProcessDeath:
    """A process that a signal is killing, or should have killed already. process: its id; None if the message has none."""

    signal: int
    process: int | None = None


_COMPLAINTS = (
    (r"rocprof-trace-decoder library path not found|Decoder library not found",
     LogMessage("rocprof-trace-decoder is not installed (https://github.com/ROCm/rocprof-trace-decoder)", hopeless=True)),
    (r"Error loading decoder", LogMessage("the library rocprof-trace-decoder cannot be loaded", hopeless=True)),
    (r"INVALID_SHADER_DATA|Agent not supported",
     LogMessage("the thread trace cannot be decoded: aqlprofile or rocprof-trace-decoder is too old", hopeless=True)),
    (r"Request exceeds the capabilities of the hardware",
     LogMessage("the GPU cannot collect these counters together", divisible=True)),
    (r"CAP_PERFMON|ERROR_PERMISSION_DENIED",
     LogMessage("permission denied: this user may not read the GPU's counters", hopeless=True)),
    (r"SQLite3 error|database (disk image is malformed|or disk is full)",
     LogMessage("rocprofv3 stopped while it wrote the database")),
)  # fmt: skip

_PREFIX = re.compile(r"([IWEF])\d{8} \d\d:\d\d:\d\d\.\d+ +(\d+) [^\s:]+:\d+\] ?")
_PREFIX_BEGUN = re.compile(rb"[IWEF](\d{0,8}|\d{8} .*)")
_LAUNCHER = re.compile(r"^Fatal error: ")
_TRAILER = re.compile(r"^(\*\*\* |    @ )")  # printed by glog: why and where the process was aborted
_MISSING_COUNTERS = re.compile(r"Unable to find all counters for agent.*?Missing: \[([^\]]*)\]", re.DOTALL)
_INACCURATE = "PMC Counters may be inaccurate"
_CHATTER = re.compile(
    r"Opened result file|writing SQL database|initialized \(instance| :: +\d+\.\d+ sec$|\[rocprofv3_error_signal_handler\]"
)

# ROCr and HIP abort after these messages, which do not name a process.
_GPU_FAULT = re.compile(r"(?i)^Memory access fault by GPU node|^:0:.*aborting with error")
_CAUGHT = re.compile(r"\[PID=(\d+)\].*rocprofv3 caught signal (\d+)")
_RECEIVED = re.compile(r"^\*\*\* (SIG[A-Z]+) .*received by PID (\d+)")
_FATAL_SIGNALS = {
    signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGQUIT, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP,
}  # fmt: skip


def records(log: str) -> Iterator[LogRecord]:
    """rocprofv3's messages, in order. A fatal message can span several lines; others are a single line."""
    record: LogRecord | None = None
    for line in log.splitlines():
        begun = _begun(line)
        if begun is None and record is not None and record.severity == "F" and not _TRAILER.match(line):
            record = LogRecord("F", record.thread, f"{record.text}\n{line}")
            continue
        if record is not None:
            yield record
        record = begun
    if record is not None:
        yield record


def _begun(line: str) -> LogRecord | None:
    # The program may have left an unfinished line of its own in front of the record.
    if match := _PREFIX.search(line):
        return LogRecord(match[1], int(match[2]), line[match.end() :])
    if match := _LAUNCHER.match(line):
        return LogRecord("F", None, line[match.end() :])
    return None


def complaint(log: str) -> LogMessage | None:
    """The first known complaint in the log, or None."""
    text = "\n".join(record.text for record in records(log))
    return next((known for pattern, known in _COMPLAINTS if re.search(pattern, text)), None)


def doubt(log: str) -> str | None:
    """Why the counters of a pass that succeeded may be wrong; None if the log gives no reason for doubt."""
    if not any(_INACCURATE in record.text for record in records(log)):
        return None
    return "rocprofv3 could not lock the GPU (which requires CAP_PERFMON and no other running profiler): counters may be wrong"


def missing_counters(log: str) -> set[str]:
    """Counters that, according to rocprofv3, no GPU in this machine has. rocprofv3 continues without them."""
    text = "\n".join(record.text for record in records(log))
    return {name.strip() for match in _MISSING_COUNTERS.finditer(text) for name in match[1].split(",") if name.strip()}


def last_words(log: str, limit: int = 200) -> str:
    """The message of rocprofv3 or ROCr that ended a run, in at most `limit` characters; '' if there is none."""
    messages = list(records(log))
    fatal = [_message(record.text) for record in messages if record.severity == "F"]
    faults = [line for line in log.splitlines() if _GPU_FAULT.search(line)]
    errors = [record.text for record in messages if record.severity == "E" and not _CHATTER.search(record.text)]
    return " ".join((fatal or faults or errors or [""])[-1].split())[:limit].rstrip()


def _message(fatal: str) -> str:
    """The message without the paragraph before it, which contains the source location and the expression."""
    return fatal.split("\n\n")[-1]


def death(line: str) -> ProcessDeath | None:
    """The process that, according to this line, a signal is killing; None if the line is about something else."""
    if match := _CAUGHT.search(line):
        return ProcessDeath(int(match[2]), int(match[1])) if int(match[2]) in _FATAL_SIGNALS else None
    if match := _RECEIVED.match(line):
        number = getattr(signal, match[1], signal.SIGABRT)
        return ProcessDeath(int(number), int(match[2])) if number in _FATAL_SIGNALS else None
    if (match := _PREFIX.search(line)) and match[1] == "F":
        return ProcessDeath(signal.SIGABRT, _process_of(int(match[2])))
    return ProcessDeath(signal.SIGABRT) if _GPU_FAULT.search(line) else None


def _process_of(thread: int) -> int | None:
    try:
        status = Path(f"/proc/{thread}/status").read_text()
    except OSError:
        return None
    match = re.search(r"^Tgid:\s+(\d+)$", status, re.MULTILINE)
    return int(match[1]) if match else None


def is_chatter(line: bytes) -> bool:
    """Whether rocprofv3 prints this line in every run."""
    text = line.decode(errors="replace").rstrip()
    match = _PREFIX.match(text)
    return match is not None and _CHATTER.search(text) is not None


def may_become_chatter(line: bytes) -> bool:
    """Whether this partial line could be the beginning of a line that rocprofv3 itself writes."""
    return _PREFIX_BEGUN.fullmatch(line) is not None
