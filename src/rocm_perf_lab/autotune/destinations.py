"""Where a search writes: looked at before it begins, since what cannot be written would be lost hours later."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from rocm_perf_lab.atomic_write import atomic_write
from rocm_perf_lab.errors import OutputError, UsageError

_HINT = "choose another file"


def expect_writable(written: Iterable[Path], read: Iterable[Path]) -> None:
    """written: files that will be. read: files that are needed. Raises OutputError; UsageError where two are the same."""
    seen = {path.resolve() for path in read}
    for path in written:
        place = path.resolve()
        is_file = place.is_file() or not place.exists()
        if is_file and place in seen:
            raise UsageError(f"{path} is named by two options", "give each a file of its own")
        seen.add(place)
        if not place.parent.is_dir():
            raise OutputError(f"the folder {place.parent} does not exist", f"run `mkdir -p {shlex.quote(str(place.parent))}`")
        if place.is_dir() or not os.access(place.parent if is_file else place, os.W_OK):
            raise OutputError(f"{path} cannot be written", _HINT)


def write_text(path: Path, text: str) -> None:
    """Whole or not at all, where it is a file; a pipe, a device or /dev/stdout stays what it is. Raises OutputError."""
    try:
        if (stream := _stream(path)) is not None:
            with open(stream, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        else:
            with atomic_write(path.resolve()) as temporary:  # a symbolic link stays one: what it points to is replaced
                temporary.write_text(text, "utf-8", "replace")
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", _HINT) from error


def _stream(path: Path) -> int | Path | None:
    """What to open if the path is no file to be replaced: also one that our own output goes to at this moment is none."""
    if not path.exists():
        return None
    for descriptor in (1, 2):
        if os.path.samestat(path.stat(), os.fstat(descriptor)):
            return os.dup(descriptor)
    return None if path.is_file() else path
