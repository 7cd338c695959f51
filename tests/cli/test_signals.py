"""A signal ends isolate and replay with its code, whenever it arrives, and leaves neither a process nor half a capture."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rocm_perf_lab.isolate import Capture
from slow_variants import every

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
PF_EXITING = 4  # from the kernel's include/linux/sched.h
WAYS = [0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]  # as fractions of the time of an undisturbed run


def started(*words: object, cwd) -> subprocess.Popen:
    command = [sys.executable, "-m", "rocm_perf_lab", *map(str, words)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=cwd, text=True, **quiet)


def interrupted(words: list[object], number: int, seconds: float, cwd) -> int | None:
    """The exit code; None where the process had ended before."""
    process = started(*words, cwd=cwd)
    while process.poll() is None and not handles(process.pid, signal.SIGTERM):
        time.sleep(0.01)  # nothing can be done about signals during the start of the interpreter
    time.sleep(seconds)
    late = process.poll() is not None
    process.send_signal(number)
    late |= is_exiting(process.pid)
    complaints = process.communicate(timeout=60)[1]
    assert "Traceback" not in complaints and "defect" not in complaints, complaints
    # The exit code as a shell reports it, also for a process that the signal kills, such as the interpreter at its very end.
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return None if late and code == 0 else code


def is_exiting(pid: int) -> bool:
    """Whether it has called exit(): signals are ignored from then on, though freeing its memory may take a while."""
    with contextlib.suppress(OSError):
        flags = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[6])
        return bool(flags & PF_EXITING)
    return True


def handles(pid: int, number: int) -> bool:
    with contextlib.suppress(OSError):
        caught = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
        return bool(int(caught.split()[1], 16) >> number - 1 & 1)
    return False


def duration(words: list[object], cwd) -> float:
    began = time.monotonic()
    assert started(*words, cwd=cwd).wait(120) == 0
    return time.monotonic() - began


@pytest.mark.parametrize("number", CODES)
def test_isolate_is_interrupted_at_any_time(testbed, tmp_path, number):
    words = ["isolate", "--device", "gfx942", "--kernel", "vecCopy", testbed("vcopy"), "-n", "200000"]
    whole = tmp_path / "whole"
    whole.mkdir()
    takes = duration(words, whole)
    codes = []
    for way in WAYS:
        folder = tmp_path / str(way)
        folder.mkdir()
        codes.append(interrupted(words, number, way * takes, folder))
        for capture in folder.glob("isolate_capture*"):
            Capture.open(capture)  # complete, and so is the link
        assert not list(folder.glob(".isolate_capture*"))
    assert set(codes) <= {CODES[number], None} and CODES[number] in codes, codes


@pytest.mark.parametrize("number", every(2, CODES))
def test_replay_is_interrupted_at_any_time(captured, testbed, tmp_path, number):
    case = captured("vcopy", "vecCopy", 0, "-n", "100000")
    words = ["replay", "full-vm", "--device", "gfx942", "--iterations", "20", "--json", "--capture-dir", case.path]
    takes = duration(words, tmp_path)
    codes = [interrupted(words, number, way * takes, tmp_path) for way in WAYS]
    assert set(codes) <= {CODES[number], None} and CODES[number] in codes, codes


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("number", [*CODES, signal.SIGHUP])
@pytest.mark.parametrize("place", ["weak reference", "destructor", "last destructor", "import"])
def test_a_signal_that_python_drops_comes_again(number, place, busy):
    """An exception that a handler raises in a destructor or in a callback of a weak reference does not propagate; libraries
    turn it into errors of their own. busy: whether the machine is, so that the signal comes again before it is waited for.
    """
    words = [place, str(int(number)), *(["busy"] if busy else [])]
    done = subprocess.run([sys.executable, "-c", DROPPED, *words], capture_output=True, text=True, timeout=60)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    assert code == 128 + number
    assert "Traceback" not in done.stderr and "ignored" not in done.stderr


DROPPED = """
import signal, sys, threading, time, weakref
from rocm_perf_lab import cli

class SlowTimer(threading.Timer):
    def start(self):
        threading.Timer, usual = Timer, super().start
        usual()
        time.sleep(0.1)

class Thing:
    def __del__(self):
        if place != "weak reference":
            signal.raise_signal(number)

def command(*_arguments, **_options):
    if place == "import":
        try:
            signal.raise_signal(number)
        except BaseException as error:
            raise ImportError("numpy failed to import") from error
    thing = Thing()
    if place == "weak reference":
        reference = weakref.ref(thing, lambda _gone: signal.raise_signal(number))
    del thing
    if place != "last destructor":
        time.sleep(30)

place, number = sys.argv[1], int(sys.argv[2])
Timer = threading.Timer
if len(sys.argv) > 3:
    threading.Timer = SlowTimer
cli.cli.main = command
cli.main()
"""


def test_a_program_that_exits_normally_on_a_signal_does_not_decide_the_status(tmp_path, native_dir, compile_c):
    """isolate itself was asked to end, however its program reacts."""
    program = compile_c(
        "polite",
        """
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <unistd.h>
        static void leave(int n) { _exit(0); }
        int main() { signal(SIGTERM, leave); fclose(fopen("ready", "w")); for (;;) pause(); }""",
    )
    for command, code in (["isolate", "--kernel", "x"], 143), (["run"], 0):
        process = started(*command, "--device", "gfx942", program, cwd=tmp_path)
        while not (tmp_path / "ready").exists():
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(30) == code
        process.stderr.close()
        (tmp_path / "ready").unlink()
