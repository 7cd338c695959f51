"""Run directories, which appear complete or not at all.

A run directory grows under a temporary name beside its destination and is renamed when it is complete. A lock distinguishes a
temporary directory that is still growing from one that a killed process left behind; the next run removes the latter.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rocm_perf_lab.errors import OutputError, ProgramFailedError, ProgramKilledError

TRACE_FOLDER = ".rocpd_profile"
_REMOVE_SECONDS = 5.0
_MIN_BYTES = 1 << 16  # less free space than this counts as none
_SIGNATURES = ("profile.json", "summary.json")  # either file marks a directory as an earlier run, which may be replaced

# Errors that the environment causes. Any other operating system error while a run directory grows is a bug in this program.
_OUTPUT_TROUBLE = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY,
    errno.ENAMETOOLONG,
}  # fmt: skip


@contextlib.contextmanager
def new_run_directory(destination: Path) -> Iterator[Path]:
    """Yield a new directory; move it to `destination` on success, replacing an earlier run, and remove it otherwise.

    Raises OutputError if the directory cannot be written, or if `destination` exists and is not an earlier run.
    """
    destination = destination.resolve()
    with _uninterrupted():
        try:
            expect_replaceable(destination)
            _clear_abandoned(destination)
            partial, lock = _make_partial(destination)
        except OSError as error:
            raise _cannot_write(destination, error) from error
    try:
        with _output_errors(destination):
            (partial / TRACE_FOLDER).mkdir()
            yield partial
            _publish(partial, destination)
    finally:
        with _uninterrupted():
            _remove(partial)
        os.close(lock)


def _make_partial(destination: Path) -> tuple[Path, int]:
    partial = Path(tempfile.mkdtemp(prefix=_partial_prefix(destination), dir=destination.parent))
    lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return partial, lock


def _publish(partial: Path, destination: Path) -> None:
    expect_replaceable(destination)
    partial.chmod(0o777 & ~_umask())
    with _uninterrupted():
        if not destination.exists():
            partial.rename(destination)
            return
        earlier = Path(tempfile.mkdtemp(prefix=_partial_prefix(destination), dir=destination.parent))
        destination.rename(earlier)
        try:
            partial.rename(destination)
        except OSError:
            earlier.rename(destination)
            raise
        shutil.rmtree(earlier, ignore_errors=True)


def expect_replaceable(destination: Path) -> None:
    """Check that `destination` is free or holds an earlier run. Raises OutputError if a run cannot be put there."""
    destination = destination.resolve()
    if not destination.parent.is_dir():
        raise OutputError(f"the folder {destination.parent} does not exist", f"run `mkdir -p {destination.parent}`")
    if not os.access(destination.parent, os.W_OK | os.X_OK):
        raise _cannot_write(destination, OSError(errno.EACCES, os.strerror(errno.EACCES)))
    if not destination.exists():
        return
    if Path.cwd().is_relative_to(destination):
        raise OutputError(f"{destination} is the folder you are in", "name another with -o; it becomes the run directory")
    if not destination.is_dir():
        raise OutputError(f"{destination} exists and is not a directory", "name another with -o")
    if any(destination.iterdir()) and not any((destination / name).is_file() for name in _SIGNATURES):
        raise OutputError(f"{destination} exists and contains something other than a run", "name another with -o")


def _clear_abandoned(destination: Path) -> None:
    for leftover in destination.parent.glob(f"{_partial_prefix(destination)}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(leftover, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(leftover, ignore_errors=True)
            finally:
                os.close(descriptor)


def _remove(directory: Path) -> None:
    """Delete the directory, even while the trace writer of a killed program is still adding its last files."""
    deadline = time.monotonic() + _REMOVE_SECONDS
    while directory.exists() and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)


def _partial_prefix(destination: Path) -> str:
    return f".{destination.name}.partial-"


@contextlib.contextmanager
def _output_errors(destination: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _OUTPUT_TROUBLE:
            raise
        raise _cannot_write(destination, error) from error
    except (ProgramFailedError, ProgramKilledError) as error:
        if shutil.disk_usage(destination.parent).free >= _MIN_BYTES:
            raise
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # the program died writing its mapped trace to the full disk
        raise _cannot_write(destination, full) from error


def _cannot_write(destination: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{destination} cannot be written ({error.strerror or error})",
        "free some space, or use -o to choose a folder that you can write to",
    )


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold signals back during the few steps that must not be interrupted halfway."""
    held = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
