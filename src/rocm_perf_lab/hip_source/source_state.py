"""The state of a program's sources during a run, as one sequence of bytes: the text of the file with the kernel, and the texts
of other files affected by a change to the kernel's launches.

Most changes affect only the file with the kernel; the state is then the text of that file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_FILE = b"\0file "  # no source contains this: Clang warns about null characters
_END = b"\0"


def join_state(own: bytes, other_files: Mapping[Path, bytes]) -> bytes:
    """Join texts into a state. own: the text of the file with the kernel. other_files: texts of other files, keyed by real
    path.
    """
    return own + b"".join(_FILE + os.fsencode(path) + _END + other_files[path] for path in sorted(other_files))


def split_state(state: bytes) -> tuple[bytes, dict[Path, bytes]]:
    """The inverse of join_state()."""
    own, *other_files = state.split(_FILE)
    pairs = (other.partition(_END) for other in other_files)
    return own, {Path(os.fsdecode(path)): text for path, _, text in pairs}
