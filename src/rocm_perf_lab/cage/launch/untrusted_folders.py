"""Folders with untrusted contents, traversed by file descriptor so that no link can lead elsewhere."""

from __future__ import annotations

import os


class OpenFolder:
    """A context manager for the descriptor of a folder; None if `name` is not, or is no longer, a folder that can be opened. If
    the folder's owner lacks any permission, its mode is changed to 0700.
    """

    def __init__(self, name: str, parent: int | None = None):
        self._descriptor = _opened(name, parent)

    def __enter__(self) -> int | None:
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _opened(name: str, parent: int | None) -> int | None:
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags | os.O_PATH, dir_fd=parent)
    except OSError:
        return None
    try:
        if os.fstat(descriptor).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{descriptor}", 0o700)
        return os.open(".", flags, dir_fd=descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def names(folder: int) -> list[str]:
    """The names of a folder's entries, without . and ..; empty if it cannot be read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
