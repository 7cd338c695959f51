"""Folders in which others may have written anything: gone through by descriptors, so that no link leads elsewhere."""

from __future__ import annotations

import contextlib
import os

TYPE_CHECKING = False  # as of typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def opened(name: str, parent: int | None = None) -> Iterator[int | None]:
    """A descriptor of a folder that can be read and changed, whatever its permissions were; None if it is no folder (now)."""
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
    """Of its entries, without . and .. ."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
