"""Progress on a terminal: what the device reports about its current dispatch, at the bottom; nothing without a terminal."""

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

from rocm_perf_lab.collect import progress_line
from slow_variants import every

PAGE = struct.Struct("<IIQQQQ256s")
LINE = re.compile(r"([^\x1b]*?)(\d+) s: dispatch (\d+) (\S+), ([\d,]+) of ([\d,]+) workgroups")


@given(st.binary(min_size=PAGE.size, max_size=PAGE.size))
def test_whatever_a_page_holds_is_harmless_on_a_terminal(page):
    found = progress_line.progress_in(page)
    assert found is None or (found.text(80).isprintable() and found.done <= found.total)


@given(st.text(min_size=1, max_size=150), st.integers(0, 10**9), st.integers(90, 200))
def test_numbers_are_never_cut_at_any_width(name, done, width):
    text = progress_line.Progress(7, name, done, 10**9, 5 * 10**12).text(width)
    assert (
        text.startswith("dispatch 7 ")
        and text.endswith(f", {done:,} of 1,000,000,000 workgroups, 5,000,000 M instructions")
        and len(text) <= width
    )


def test_a_page():
    page = PAGE.pack(2, 77, 3, 312, 2048, 123_456, b"softmax_naive(float const*, float*)")
    assert progress_line.progress_in(page).text(80) == "dispatch 3 softmax_naive, 312 of 2,048 workgroups, 123,456 instructions"
    assert progress_line.progress_in(PAGE.pack(3, 77, 3, 312, 2048, 9, b"k")) is None, "is being written"
    assert progress_line.progress_in(PAGE.pack(2, 77, 3, 312, 0, 9, b"k")) is None, "no dispatch is under way"


@pytest.mark.parametrize(
    "width, line",
    [
        (120, "run 1 of 2: ./app, 14 s: dispatch 2 softmax_naive, 3 of 2,048 workgroups, 141 M instructions"),
        (90, "run 1 of 2, 14 s: dispatch 2 softmax_naive, 3 of 2,048 workgroups, 141 M instructions"),
        (89, "run 1 of 2, 14 s: dispatch 2 softmax_naive, 3 of 2,048 workgroups, 141 M instructions"),
        (80, "14 s: dispatch 2 softmax_naive, 3 of 2,048 workgroups, 141 M instructions"),
        (70, "14 s: dispatch 2 softm…aive, 3 of 2,048 workgroups, 141 M instructions"),
    ],
)
def test_which_parts_are_dropped_where_the_terminal_is_narrow(width, line):
    assert (
        progress_line._line("run 1 of 2: ./app", 14.2, progress_line.Progress(2, "softmax_naive", 3, 2048, 141 * 10**6), width)
        == line
    )


def test_a_long_step_is_truncated_and_code_may_have_no_name():
    line = progress_line._line("make in, out __restrict__ in softmax_naive", 7, progress_line.Progress(3, "", 0, 2, 97_928), 80)
    assert line == "make in, out __restr..., 7 s: dispatch 3, 0 of 2 workgroups, 97,928 instructions"


@pytest.fixture
def on_a_terminal(tmp_path):
    """on_a_terminal("profile", ...): all output to a terminal of 24 lines and 100 columns."""

    def run(*arguments: object) -> tuple[int, str]:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        command = [sys.executable, "-m", "rocm_perf_lab", *map(str, arguments)]
        environment = os.environ | {"TERM": "xterm", "ROCM_PERF_DEVICE_THREADS": "1"}
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        shown, deadline = b"", time.monotonic() + 240
        with contextlib.suppress(OSError):  # the last writer is gone
            while time.monotonic() < deadline:
                if select.select([master], [], [], 1)[0]:
                    shown += os.read(master, 1 << 16)
        os.close(master)
        return process.wait(10), shown.decode()

    return run


@pytest.fixture(scope="module")
def slow(testbed) -> list:
    """A program whose one long kernel has many more workgroups than fit on the device at once."""
    return [testbed("softmax_testbed"), "--rows", 50_000, "--cols", 512, "--kernel", "lds"]


@pytest.mark.parametrize(
    "command", every(3, [["profile", "--no-deep-analysis"], ["isolate", "--kernel", "softmax_lds"], ["run"]])
)
def test_how_far_the_dispatch_is(on_a_terminal, slow, command):
    status, shown = on_a_terminal(*command, "--device", "gfx942", *slow)
    assert status == 0, shown
    found = [line for line in LINE.findall(shown) if line[3] == "softmax_lds"]
    done = [int(line[4].replace(",", "")) for line in found]
    assert {line[5] for line in found} == {"50,000"}, shown
    # Nothing else is written at the bottom, and the program's output is complete.
    assert done == sorted(done) and done[-1] > done[0] and done[-1] <= 50_000
    assert shown.count("\x1b[1;23r") == 1 and shown.rindex("\x1b[r") > shown.rindex("workgroups")
    assert "PASS" in shown


def test_nothing_without_a_terminal(rocm_perf, slow):
    done = rocm_perf("profile", "--no-deep-analysis", "--device", "gfx942", *slow)
    assert done.returncode == 0 and "workgroups" not in done.stderr and "\x1b" not in done.stderr
