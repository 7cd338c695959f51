"""Each limit ends a command that exceeds it with all its processes, is named, and does not affect commands within it."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest

from processes import command_lines

MIB = 1 << 20
SMALL = {"seconds": 20.0, "memory_bytes": 200 * MIB, "processes": 60, "file_bytes": 50 * MIB, "disk_bytes": 80 * MIB,
         "files": 15_000}  # fmt: skip

BREAKING = {
    "its own memory": ("memory", "x = b'1' * (400 << 20)"),
    "shared memory": ("memory", "import mmap; m = mmap.mmap(-1, 400 << 20)\nfor i in range(0, 400 << 20, 4096): m[i] = 1"),
    "files that nobody maps": (
        "memory",
        """
        import os
        files = [os.memfd_create("x") for _ in range(10)]
        for file in files:
            os.write(file, bytes(40 << 20))
        """,
    ),
    "/dev/shm": ("memory", "for i in range(10): open(f'/dev/shm/{i}', 'wb').write(bytes(40 << 20))"),
    "/tmp": ("memory", "for i in range(10): open(f'/tmp/{i}', 'wb').write(bytes(40 << 20))"),
    "the layer on the current folder": ("memory", "for i in range(10): open(f'{i}', 'wb').write(bytes(40 << 20))"),
    "many processes' memory": (
        "memory",
        """
        import os, time
        for _ in range(10):
            if os.fork() == 0:
                x = b"1" * (40 << 20); time.sleep(100)
        time.sleep(100)
        """,
    ),
    "processes": (
        "processes",
        "import os, time\nfor _ in range(100):\n if os.fork() == 0:\n  os.setsid(); time.sleep(100)\ntime.sleep(100)",
    ),
    "threads": (
        "processes",
        "import threading, time\nfor _ in range(100): threading.Thread(target=time.sleep, args=(3,)).start()",
    ),
    "many files": ("wrote", "import sys\nfor i in range(100): open(f'{sys.argv[1]}/{i}', 'wb').write(bytes(1 << 20))"),
    "empty files": (
        "made more than 15,000 files and folders",
        "import sys\nfor i in range(200000): open(f'{sys.argv[1]}/{i}', 'wb')",
    ),
    "files in a folder that is hidden": (
        "wrote",
        """
        import os, sys
        os.mkdir(sys.argv[1] + "/d"); os.chmod(sys.argv[1] + "/d", 0o300)
        for i in range(100):
            open(f"{sys.argv[1]}/d/{i}", "wb").write(bytes(1 << 20))
        """,
    ),
    "folders in folders": (
        "nested more than",
        "import os, sys, time\nos.chdir(sys.argv[1])\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\ntime.sleep(1)",
    ),
    "deleted files": (
        "wrote",
        """
        import os, sys, time
        files = [open(f"{sys.argv[1]}/{i}", "wb") for i in range(4)]
        for i, file in enumerate(files):
            os.unlink(f"{sys.argv[1]}/{i}")
            file.write(bytes(40 << 20)); file.flush()
        time.sleep(100)
        """,
    ),
}


def empty(folder: Path) -> None:
    """Fails if the remaining folders are nested too deeply, as a clean-up would."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("name", BREAKING)
def test_a_command_that_exceeds_a_limit_is_ended(caged, name):
    word, code = BREAKING[name]
    ended = caged.python(code, caged.out, **SMALL)
    empty(caged.out)
    refused = name in ("processes", "threads") and (b"unavailable" in ended.stderr or b"can't start" in ended.stderr)
    # A file system in memory may be full before the watcher looks.
    refused |= name in ("/dev/shm", "/tmp", "the layer on the current folder") and b"No space left on device" in ended.stderr
    if name == "the layer on the current folder" and not caged.overlays:
        return
    assert (word in ended.limit and ended.status == -signal.SIGKILL) or refused, ended
    assert ended.seconds < 15 and (refused or f"rocm-perf cage: it {ended.limit}".encode() in ended.stderr)


def test_what_a_program_writes_immediately_counts(caged):
    """This holds however long it takes to scan the earlier contents of the writable folders."""
    for number in range(10_000):
        (caged.elsewhere / str(number)).touch()
    code = "fallocate -l 45M $1/first && fallocate -l 45M $1/second"
    ended = caged.run(["sh", "-c", code, "sh", str(caged.out)], {"writable": [str(caged.elsewhere), str(caged.out)]}, **SMALL)
    empty(caged.out)
    empty(caged.elsewhere)
    assert "wrote more than 80 MiB" in ended.limit, ended


def test_memory_that_is_only_reserved_or_shared_does_not_count(caged):
    """GPU runtimes reserve many times what they use; children share their parent's memory."""
    code = """
        import mmap, os, time
        reserved = mmap.mmap(-1, 30 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_NORESERVE)
        used = b"1" * (100 << 20)
        shared = mmap.mmap(-1, 50 << 20)
        for i in range(0, 50 << 20, 4096): shared[i] = 1
        children = []
        for _ in range(8):
            child = os.fork()
            if child == 0:
                sum(shared[i] for i in range(0, 50 << 20, 4096)); time.sleep(1); os._exit(0)
            children.append(child)
        print([os.waitpid(child, 0)[1] for child in children])
    """
    ended = caged.python(code, **SMALL)
    assert ended.stdout == b"[0, 0, 0, 0, 0, 0, 0, 0]\n" and ended.succeeded, ended


def test_a_large_file_is_an_error_of_the_program(caged):
    ended = caged.python("import sys; open(sys.argv[1] + '/f', 'wb').write(bytes(60 << 20))", caged.out, **SMALL)
    size = (caged.out / "f").stat().st_size
    empty(caged.out)
    assert ended.status == 1 and b"File too large" in ended.stderr and size <= SMALL["file_bytes"]


def test_a_fork_bomb_ends(caged):
    """Root's fork bomb is stopped at the limit; another user's forks fail until it ends by itself or its time is up."""
    ended = caged.python("import os\nwhile True:\n try: os.fork()\n except OSError: pass", **SMALL | {"seconds": 1.0})
    assert ended.limit and ended.seconds < 20


def test_a_hang_ends_with_all_its_children(caged):
    code = "setsid sleep 4321.5 & (sleep 4321.5 &) ; echo started; trap '' TERM INT HUP; wait; sleep 4321.5"
    ended = caged.run(["sh", "-c", code], seconds=1.0)
    assert ended.timed_out and "did not end within 1 s" in ended.complaint and ended.stdout == b"started\n"
    assert not any(b"4321.5" in arguments for arguments in command_lines())


def test_nothing_is_left_of_a_daemon(caged):
    beat = caged.out / "beat"
    code = """
        import os, sys, time
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in range(100000):
                    open(sys.argv[1], "w").write(str(number)); time.sleep(0.005)
            os._exit(0)
        while not os.path.exists(sys.argv[1]): time.sleep(0.01)
    """
    ended = caged.python(code, beat)
    left = beat.read_text()
    time.sleep(0.1)
    now = beat.read_text()
    beat.unlink()
    assert ended.succeeded and left == now
    assert not any(str(beat).encode() in arguments for arguments in command_lines())


@pytest.mark.parametrize("status", [0, 1, 7, 126, 127, 128, 139, 255])
def test_an_exit_status_comes_through(caged, status):
    ended = caged.run(["sh", "-c", f"echo out; echo err >&2; exit {status}"])
    assert (ended.status, ended.stdout, ended.stderr, ended.limit) == (status, b"out\n", b"err\n", "")


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL", "SIGXFSZ"])
def test_a_signal_comes_through(caged, name):
    number = signal.Signals[name]
    ended = caged.python(
        f"import os, signal; signal.signal({number}, 0) if {number} != 9 else 0; os.kill(os.getpid(), {number})"
    )
    assert ended.status == -number and not ended.limit and ended.complaint == f"it was killed by {name}"


def test_the_first_process_cannot_be_harmed_from_inside(caged):
    code = """
        import os, signal
        for number in range(1, 65):
            try: os.kill(1, number)
            except OSError: pass
        for name in ("mem", "maps", "environ", "fd", "root", "cwd"):
            try: print(name, os.open(f"/proc/1/{name}", os.O_RDONLY))
            except PermissionError: pass
        os._exit(5)
    """
    assert (caged.python(code).status, caged.python(code).stdout) == (5, b"")


def test_a_missing_program_is_reported(caged):
    ended = caged.run(["/absent/compiler"])
    assert ended.status == 127 and b"/absent/compiler: No such file" in ended.stderr
