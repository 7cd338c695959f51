"""Whatever ends the one who wants a cage, or its launcher, ends the cage; and nothing in it outlives its command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from processes import command_lines
from rocm_perf_lab.cage import CageLimits, start

PATIENCE_SECONDS = 10
LAUNCHER = Path(start.__file__).with_name("launch") / "launcher.py"


def begun(caged, marker: str) -> subprocess.Popen:
    """A cage's launcher, with a command in it that ends by nothing that can be caught."""
    code = f"trap '' TERM INT HUP; (setsid sleep {marker} &); echo started; while true; do sleep {marker}; done"
    words = caged.ask(["sh", "-c", code], only_words=True, seconds=60.0)["words"]
    user = None if caged.user == "own" else int(caged.user)
    launcher = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True, user=user, group=user,
        extra_groups=None if user is None else [],
    )  # fmt: skip
    assert launcher.stdout.readline() == b"started\n"
    until(lambda: is_there(marker))
    return launcher


def is_there(marker: str) -> bool:
    return any(f"sleep\0{marker}".encode() in arguments for arguments in command_lines())


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_a_signal_to_the_launcher_ends_the_cage(caged, name):
    marker = f"7{os.getpid()}.{signal.Signals[name]}"
    launcher = begun(caged, marker)
    launcher.send_signal(signal.Signals[name])
    assert launcher.wait(PATIENCE_SECONDS) == -signal.Signals[name]
    if name == "SIGKILL":  # then the system ends the rest
        until(lambda: not is_there(marker))
    assert not is_there(marker)
    launcher.stdout.close()


def test_a_signal_before_there_is_a_cage_ends_the_launcher(tmp_path):
    slow = tmp_path / "bwrap"
    slow.write_text("#!/bin/sh\necho started\nexec /bin/sleep 60\n")
    slow.chmod(0o755)
    limits = [f"{name}={value}" for name, value in vars(CageLimits()).items()]
    words = ["mechanism=bubblewrap", f"program={slow}", f"owner={os.getpid()}", f"folder={tmp_path}", *limits]
    launcher = subprocess.Popen(
        [sys.executable, "-I", "-S", LAUNCHER, *words, "--", "--", "true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert launcher.stdout.readline() == b"started\n"
    launcher.terminate()
    assert launcher.communicate(timeout=PATIENCE_SECONDS) == (b"", b"")
    assert launcher.returncode == -signal.SIGTERM


def test_another_user_s_folder_is_left_as_it_is(caged):
    """Where it cannot be read, nothing else is taken for it: not the launcher's current folder either."""
    private, link = caged.out / "private", caged.out.parent / "link"
    private.mkdir(0o700)
    link.symlink_to("here")
    try:
        assert caged.run(["true"]).succeeded
        assert private.is_dir() and link.is_symlink()
    finally:
        private.rmdir()
        link.unlink(missing_ok=True)


def test_standard_streams_are_the_command_s_own(caged):
    words = caged.ask(["sh", "-c", "read line; echo got $line; cat >&2; exit 3"], only_words=True)["words"]
    done = subprocess.run(words, input=b"one\ntwo\n", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"got one\n", b"two\n")


def test_the_end_of_who_asked_is_the_end_of_the_cage(tmp_path):
    """A process of its own makes the command line, starts it, and is killed."""
    marker, script = f"8{os.getpid()}.5", Path(__file__).with_name("asking.py")
    asking = subprocess.Popen([sys.executable, script, tmp_path, marker], stdout=subprocess.PIPE)
    assert asking.stdout.readline() == b"started\n"
    until(lambda: is_there(marker))
    asking.kill()
    asking.wait()
    asking.stdout.close()
    until(lambda: not is_there(marker))


def test_notes_become_databases_by_the_writer_and_nothing_else_gets_time(caged, native_dir):
    """A daemon of a traced program is gone before the writer starts; what is no note becomes an error, and no note is left."""
    code = """
        import os, sys, time
        open(sys.argv[1] + "/bad.spool", "w").write("no such thing")
        if os.fork() == 0:
            os.setsid()
            for number in range(100000):
                open(sys.argv[1] + "/beat", "w").write(str(number)); time.sleep(0.002)
        while not os.path.exists(sys.argv[1] + "/beat"): time.sleep(0.01)
    """
    ended = caged.python(code, caged.out, view={"traces": str(caged.out)})
    left = (caged.out / "beat").read_text()
    time.sleep(0.05)
    assert ended.succeeded and (caged.out / "beat").read_text() == left
    names = sorted(path.name for path in caged.out.iterdir())
    for path in caged.out.iterdir():
        path.unlink()
    assert names == ["bad.error", "beat"], ended
