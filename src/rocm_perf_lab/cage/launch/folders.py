"""Folders in which others may have written anything: gone through by descriptors, so that no link leads elsewhere."""

import contextlib
import os


@contextlib.contextmanager
def opened(name, parent=None):
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


def names(folder):
    """Of its entries, without . and .. ."""
    try:
        return os.listdir(folder)
    except OSError:
        return []
