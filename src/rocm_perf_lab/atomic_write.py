"""Files that are either complete or absent, and outputs that cannot be such files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`. On a normal end, the file there replaces `path`; otherwise it is removed.

    Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


def stream_of(path: Path) -> int | Path | None:
    """The path or descriptor to open if the file must not be replaced, such as one that our output currently goes to, else
    None.
    """
    if not path.exists():
        return None
    for descriptor in (1, 2):
        if os.path.samestat(path.stat(), os.fstat(descriptor)):
            return os.dup(descriptor)
    return None if path.is_file() else path
