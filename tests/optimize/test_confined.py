"""Each limit ends what breaks it, and leaves nothing running."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import needs
from rocm_perf_lab.optimize.confined import Limits, run

SMALL = Limits(seconds=20, memory_bytes=256 << 20, file_bytes=1 << 20)


def python(tmp_path, code: str, limits: Limits = SMALL):
    return run([sys.executable, "-c", textwrap.dedent(code)], tmp_path, os.environ, limits)


def _command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


def test_an_honest_program_is_not_hindered(tmp_path):
    ended = python(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); open('f', 'w').write('x' * 1000)")
    assert (ended.succeeded, ended.stdout, ended.stderr) == (True, b"out\n", b"err\n") and (
        tmp_path / "f"
    ).stat().st_size == 1000


@pytest.mark.parametrize(
    "code, complaint",
    [
        ("import sys; sys.exit(7)", "status 7"),
        ("import os; os.abort()", "SIGABRT"),
        ("x = bytearray(1 << 30)", "status 1"),
        ("open('big', 'wb').write(bytes(4 << 20))", "status 1|SIGXFSZ"),
        ("import os\nwhile True: os.write(1, bytes(65536))", "SIGXFSZ|status 1"),
    ],
)
def test_each_limit_has_its_end(tmp_path, code, complaint):
    ended = python(tmp_path, code)
    assert not ended.succeeded and any(part in ended.complaint for part in complaint.split("|")), (
        ended.complaint,
        ended.stderr[-300:],
    )
    assert not (tmp_path / "big").exists() or (tmp_path / "big").stat().st_size <= 1 << 20


def test_a_hang_ends_with_all_its_children(tmp_path):
    ended = run(["sh", "-c", "sleep 4321.5 & echo started; wait"], tmp_path, os.environ, Limits(seconds=6))
    assert ended.timed_out and "did not end" in ended.complaint and ended.stdout == b"started\n"
    assert not any(b"4321.5" in arguments for arguments in _command_lines())


def test_no_network_where_the_system_allows_to_say_so(tmp_path):
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
        needs.lacking("no right to make a network namespace")
    ended = python(
        tmp_path, "import os; print(sorted(os.listdir('/sys/class/net')) and open('/proc/net/dev').read().count(':'))"
    )
    assert ended.stdout == b"1\n"  # lo alone, and that is down


def test_a_missing_program_is_said_so(tmp_path):
    ended = run(["/absent/compiler"], tmp_path, os.environ)
    assert ended.status == 127 and b"/absent/compiler: No such file" in ended.stderr
