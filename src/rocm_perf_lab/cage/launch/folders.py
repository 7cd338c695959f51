"""Folders with untrusted contents: traversed by descriptors, so that no link can lead elsewhere."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def opened(name: str, parent: int | None = None) -> Iterator[int | None]:
    """A descriptor of a folder that can be read and changed, whatever its permissions were; None if it is not (or no longer) a
    folder.
    """
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = None
    with contextlib.suppress(OSError):
        place = os.open(name, flags | os.O_PATH, dir_fd=parent)
        try:
            if os.fstat(place).st_mode & 0o700 != 0o700:
                os.chmod(f"/proc/self/fd/{place}", 0o700)
            descriptor = os.open(".", flags, dir_fd=place)
        finally:
            os.close(place)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def names(folder: int) -> list[str]:
    """The names of its entries, without . and .."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
