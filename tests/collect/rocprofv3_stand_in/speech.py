"""What rocprofv3 prints, and how it ends: its own lines on stderr, in every run and when something is wrong.

Facts from rocprofiler-sdk 1.0: logging goes through glog at level "warning". Each step of its own work is logged as a warning,
and the name of each file that it writes as an error. A fatal message aborts the process. The tool's handler for fatal signals
calls the previous one, LLVM's, which raises the signal again: the process then waits for itself forever. Without the tool's
handlers (ROCPROF_SIGNAL_HANDLERS, --disable-signal-handlers) an abort by the program ends it; an abort within the tool, and a
kernel that faulted, hang even so.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from pathlib import Path

FOR_EVER = 600
LEVELS = ("trace", "info", "warning", "error", "fatal")
SEVERITIES = {"info": "I", "warning": "W", "error": "E", "fatal": "F"}


class Speech:
    def __init__(self, level: str | None, handlers: bool):
        self._lowest = LEVELS.index(level or os.environ.get("ROCPROF_LOG_LEVEL") or "warning")
        self._handlers = handlers

    def say(self, level: str, where: str, text: str) -> None:
        if LEVELS.index(level) >= self._lowest:
            write(f"{SEVERITIES[level]}20260101 00:00:00.000000 {os.getpid()} {where}] {text}\n")

    def timed(self, label: str) -> None:
        self.say("warning", "simple_timer.cpp:55", f"{label} :: {0.012345:12.6f} sec")

    def begin(self) -> None:
        self.say("warning", "tool.cpp:2182", "rocprofiler-sdk version 1.0.0 initialized (instance=0)")
        self.timed("[rocprofv3] tool initialization")

    def wrote(self, path: Path) -> None:
        self.say("warning", "generateRocpd.cpp:581", f"writing SQL database for process {os.getpid()} on node 1")
        self.say("error", "generateRocpd.cpp:603", f"Opened result file: {path} (UUID=00000000-0000-7000-8000-000000000000)")
        for step in ("rocpd_string", "rocpd_info_node", "rocpd_kernel_dispatch", "rocpd_region", "SQL indexing", "total"):
            self.timed(f"SQLite3 generation :: {step:24}")

    def end(self, application: list[str]) -> None:
        self.timed(f"[rocprofv3] '{' '.join(application)}'")
        self.timed("[rocprofv3] tool finalization")

    def fatal(self, expression: str, text: str) -> None:
        """As the tool reports a failed call of the SDK."""
        self.say("fatal", "tool.cpp:1194", f" :: [/src/tool.cpp:1194]\n\t{expression}\n\n{text}")
        write("*** Check failure stack trace: ***\n" + _backtrace(60))
        self._caught(signal.SIGABRT)
        hang()

    def gpu_fault(self) -> None:
        """ROCr aborts the program, whose dispatch never completes: the SDK waits for it."""
        write("Memory access fault by GPU node-1 (Agent handle: 0x55d0c0de) on address 0x7f0000000000. Reason: Unknown.\n")
        self._caught(signal.SIGABRT)
        hang()

    def die(self, number: int) -> None:
        """The tool's message about a signal that the program received."""
        if self._handlers:
            self._caught(number)
            self._caught(number)
            hang()
        now, pid, name = int(time.time()), os.getpid(), signal.Signals(number).name
        write(f'*** Aborted at {now} (unix time) try "date -d @{now}" if you are using GNU date ***\n')
        write(f"*** {name} (@0x1) received by PID {pid} (TID 0x7f0000000000) from PID {pid}; stack trace: ***\n")
        write(_backtrace(5))
        end_by(number)

    def _caught(self, number: int) -> None:
        process = f"[PPID={os.getppid()}][PID={os.getpid()}][TID={os.getpid()}][rocprofv3_error_signal_handler]"
        self.say("warning", "tool.cpp:2806", f"{process} rocprofv3 caught signal {int(number)}...")
        self.say("warning", "tool.cpp:2829", f"{process} rocprofv3 will wait for 0 children to exit")


def hang() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    time.sleep(FOR_EVER)


def _backtrace(frames: int) -> str:
    return "".join(f"    @     {0x7F0000000000 + frame:#x}  (unknown)\n" for frame in range(frames))


def write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def end_by(number: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(number, signal.SIG_DFL) if number != signal.SIGKILL else None
    os.kill(os.getpid(), number)
