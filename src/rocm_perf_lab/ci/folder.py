"""Works in a different folder temporarily."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Programs that are started find their files relative to `folder`. For commands with one thread."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chdir(folder)
        yield
    finally:
        os.fchdir(before)
        os.close(before)
