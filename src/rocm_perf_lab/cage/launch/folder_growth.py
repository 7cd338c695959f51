"""Measures what a cage's processes have stored in its writable folders."""

import os
import stat

import untrusted_folders

MAX_DEPTH = 100  # of nested folders
ENDLESS = 1 << 62  # the size reported for folders that are nested deeper
_ENTRY_BYTES = 4096  # the cost of a file in addition to its content


class Storage:
    """The growth of folders since this object was created; create it before anything in the cage can run."""

    def __init__(self, writable: list[str]):
        self._writable = writable
        self._stored_before = self._stored()

    def growth(self) -> tuple[int, int]:
        """Bytes added, and the number of files and folders added."""
        used, files = self._stored()
        return used - self._stored_before[0], files - self._stored_before[1]

    def _stored(self) -> tuple[int, int]:
        total = files = 0
        for path in self._writable:
            with untrusted_folders.OpenFolder(path) as folder:
                more = (0, 0) if folder is None else _stored_below(folder)
            total, files = total + more[0], files + more[1]
        return total, files


def _stored_below(folder: int, depth: int = 0) -> tuple[int, int]:
    """Bytes and entries below the folder with this descriptor, including the overhead of each entry. Links are not followed."""
    if depth > MAX_DEPTH:
        return ENDLESS, 0
    total = files = 0
    for name in untrusted_folders.names(folder):
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:  # it has just been removed
            continue
        total, files = total + _ENTRY_BYTES + status.st_blocks * 512, files + 1
        if stat.S_ISDIR(status.st_mode):
            with untrusted_folders.OpenFolder(name, folder) as below:
                more = (0, 0) if below is None else _stored_below(below, depth + 1)
            total, files = total + more[0], files + more[1]
    return total, files
