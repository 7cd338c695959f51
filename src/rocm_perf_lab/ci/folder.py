"""Temporarily works in a different folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Make `folder` the current folder, including for programs started inside the block. For single-threaded commands only."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)
