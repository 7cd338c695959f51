"""Progress on a terminal: what the device says of its present dispatch, at the bottom; nothing without a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.collect import live

PAGE = struct.Struct("<IIQQQ256s")
LINE = re.compile(r"rocm-perf: (.*?)(\d+) s: dispatch (\d+) (\S+?)[^,]*, ([\d,]+) of ([\d,]+) workgroups")


@given(st.binary(min_size=PAGE.size, max_size=PAGE.size))
def test_whatever_a_page_holds_is_harmless_on_a_terminal(page):
    found = live.progress_in(page)
    assert found is None or (str(found).isprintable() and found.done <= found.total)


def test_a_page():
    page = PAGE.pack(2, 77, 3, 312, 2048, b"softmax_naive(float const*, float*)")
    assert str(live.progress_in(page)) == "dispatch 3 softmax_naive(float const*, float*), 312 of 2,048 workgroups"
    assert live.progress_in(PAGE.pack(3, 77, 3, 312, 2048, b"k")) is None, "is being written"
    assert live.progress_in(PAGE.pack(2, 77, 3, 312, 0, b"k")) is None, "no dispatch is under way"


@pytest.fixture
def on_a_terminal(tmp_path):
    """on_a_terminal("profile", ...): all that a terminal of 24 lines and 100 columns gets."""

    def run(*arguments: object) -> tuple[int, str]:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        command = [sys.executable, "-m", "rocm_perf_lab", *map(str, arguments)]
        environment = os.environ | {"TERM": "xterm", "ROCM_PERF_DEVICE_THREADS": "1"}
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        shown, deadline = b"", time.monotonic() + 240
        with contextlib.suppress(OSError):  # the last who writes has gone
            while time.monotonic() < deadline:
                if select.select([master], [], [], 1)[0]:
                    shown += os.read(master, 1 << 16)
        os.close(master)
        return process.wait(10), shown.decode()

    return run


@pytest.fixture(scope="module")
def slow(testbed) -> list:
    """A program whose one long kernel has 64 workgroups."""
    return [testbed("softmax_testbed"), "--rows", 4096, "--cols", 2048, "--kernel", "naive"]


@pytest.mark.parametrize("command", [("profile", "--no-deep-analysis"), ("isolate", "--kernel", "softmax_naive"), ("run",)])
def test_how_far_the_dispatch_is(on_a_terminal, slow, command):
    status, shown = on_a_terminal(*command, "--device", "gfx942", *slow)
    assert status == 0, shown
    found = LINE.findall(shown)
    done = [int(line[4].replace(",", "")) for line in found]
    assert found and {(line[2], line[3], line[5]) for line in found} == {("1", "softmax_naive", "64")} or len(found) > 3
    assert done[-1] > done[0] and all(int(line[5].replace(",", "")) >= n for line, n in zip(found, done, strict=True))
    assert shown.count("\x1b[1;23r") == 1 and shown.rindex("\x1b[r") > shown.rindex("workgroups")
    assert "PASS" in shown


def test_nothing_without_a_terminal(rocm_perf, slow):
    done = rocm_perf("profile", "--no-deep-analysis", "--device", "gfx942", *slow)
    assert done.returncode == 0 and "workgroups" not in done.stderr and "\x1b" not in done.stderr
