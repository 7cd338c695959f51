"""Checks the output files of a search before it begins: a failure to write would otherwise surface hours later."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write, stream_of
from rocm_perf_lab.errors import OutputError, UsageError

_HINT = "choose another file"


def expect_writable(written: Iterable[Path], read: Iterable[Path]) -> None:
    """written: files to write. read: files to read.

    Raises OutputError for a file that cannot be written, and UsageError for a file (other than a device or pipe) that is also
    read or is named twice.
    """
    seen = {path.resolve() for path in read}
    for path in written:
        resolved = path.resolve()
        is_file = resolved.is_file() or not resolved.exists()
        if is_file and resolved in seen:
            raise UsageError(f"{path} is named by two options", "give each its own file")
        seen.add(resolved)
        if not resolved.parent.is_dir():
            raise OutputError(
                f"the folder {resolved.parent} does not exist", f"run `mkdir -p {shlex.quote(str(resolved.parent))}`"
            )
        if resolved.is_dir() or not os.access(resolved.parent if is_file else resolved, os.W_OK):
            raise OutputError(f"{path} cannot be written", _HINT)


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all; a pipe, a device or /dev/stdout is written in place. Raises OutputError."""
    try:
        if (stream := stream_of(path)) is not None:
            with open(stream, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        else:
            with atomic_write(path.resolve()) as temporary:  # a symbolic link is kept: its target is replaced
                temporary.write_text(text, "utf-8", "replace")
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", _HINT) from error
