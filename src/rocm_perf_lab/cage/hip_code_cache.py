"""The user's cache of code that HIP compiles at run time, for programs that cannot see the user's home folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

FOLDER_VARIABLE = "AMD_COMGR_CACHE_DIR"
_MAX_ENTRIES, _MAX_BYTES = 64, 1 << 20  # each of HIP's own kernels takes less than 100 KB


def copy_of_cache(folder: Path) -> dict[str, str]:
    """Make the folder, copy the newest small entries of the user's cache to it, and return the variable that points HIP to it.

    Each process that launches a kernel needs HIP's own kernels for copying memory, which take a quarter of a second to compile.
    The folder is a copy so that nothing that a program in the cage writes there can reach any other program.
    """
    folder.mkdir(exist_ok=True)
    for entry in _newest_entries(_folder_of_user(os.environ)):
        _copy(entry, folder / entry.name)
    return {FOLDER_VARIABLE: str(folder)}


def _copy(entry: Path, copy: Path) -> None:
    """Copy the whole entry or nothing: HIP recompiles code that has no entry."""
    try:
        shutil.copyfile(entry, copy)
    except OSError:  # another program has just removed it, it is not readable, or the disk is full
        copy.unlink(missing_ok=True)


def _folder_of_user(environment: Mapping[str, str]) -> Path:
    if named := environment.get(FOLDER_VARIABLE):
        return Path(named)
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache", "comgr")


def _newest_entries(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            files = [(entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in entries if _is_entry(entry)]
    except OSError:  # no cache, or another program has just removed an entry: HIP recompiles the code
        return []
    return [Path(path) for _, size, path in sorted(files, reverse=True) if size <= _MAX_BYTES][:_MAX_ENTRIES]


def _is_entry(entry: os.DirEntry[str]) -> bool:
    return entry.name.startswith("llvmcache-") and entry.is_file(follow_symlinks=False)
