"""Files that are either complete or absent, and outputs that must be written in place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`. On a normal exit, the file written there replaces `path`; on an error, that file
    is removed.

    Raises OSError if `path` cannot be replaced.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def stream_of(path: Path) -> int | Path | None:
    """What to open instead of replacing `path`: a descriptor if `path` is where this process's output goes, `path` itself if
    it is something other than a regular file (such as a pipe), else None.
    """
    if not path.exists():
        return None
    for descriptor in (1, 2):
        if os.path.samestat(path.stat(), os.fstat(descriptor)):
            return os.dup(descriptor)
    return None if path.is_file() else path
