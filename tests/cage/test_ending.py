"""Whatever ends the process that requested a cage, or its launcher, ends the cage; nothing in it outlives its command."""

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
    """A cage's launcher, running a command that ignores every signal that can be caught."""
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
    if name == "SIGKILL":  # then the kernel ends the rest
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


def test_another_users_folder_is_not_touched(caged):
    """Where it cannot be read, nothing else is used instead, not even the launcher's current folder."""
    private, link = caged.out / "private", caged.out.parent / "link"
    private.mkdir(0o700)
    link.symlink_to("here")
    try:
        assert caged.run(["true"]).succeeded
        assert private.is_dir() and link.is_symlink()
    finally:
        private.rmdir()
        link.unlink(missing_ok=True)


def test_standard_streams_belong_to_the_command(caged):
    words = caged.ask(["sh", "-c", "read line; echo got $line; cat >&2; exit 3"], only_words=True)["words"]
    done = subprocess.run(words, input=b"one\ntwo\n", capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (3, b"got one\n", b"two\n")


def test_a_cage_ends_with_the_process_that_requested_it(tmp_path):
    """A separate process builds the command line, starts it, and is killed."""
    marker, script = f"8{os.getpid()}.5", Path(__file__).with_name("asking.py")
    asking = subprocess.Popen([sys.executable, script, tmp_path, marker], stdout=subprocess.PIPE)
    assert asking.stdout.readline() == b"started\n"
    until(lambda: is_there(marker))
    asking.kill()
    asking.wait()
    asking.stdout.close()
    until(lambda: not is_there(marker))


def test_the_writer_turns_notes_into_databases_and_nothing_else_gets_time(caged, native_dir):
    """A traced program's daemon is gone before the writer starts; a file that is not a note causes an error, and no note is
    left."""
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
