"""Hides home folders: if a requested folder is or contains a home folder, only its non-hidden entries are shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_NEVER_SHOWN = ("/", "/proc", "/sys", "/dev", "/run", "/var", "/var/run")


def parts_to_show(path: Path, homes: frozenset[Path] | None = None) -> Iterator[Path]:
    """`path` itself or, if it is /tmp, a home folder or an ancestor of one, the entries in it that may be shown.

    Hidden entries of such folders are omitted, as is everything that is not a file, folder or link. Links are shown as links;
    their targets, which may be hidden, are not examined. Nothing in system folders (_NEVER_SHOWN) is shown.
    """
    homes = home_folders() if homes is None else homes
    if not is_open(path, homes):
        for entry in _entries(path):
            if entry.name.startswith(".") or str(path) in _NEVER_SHOWN:
                continue
            if entry.is_symlink():
                yield Path(entry.path)
            else:
                yield from parts_to_show(Path(entry.path), homes)
    elif path.is_file() or path.is_dir():
        yield path


def is_open(path: Path, homes: frozenset[Path] | None = None) -> bool:
    """Whether the whole folder may be shown."""
    homes = home_folders() if homes is None else homes
    return str(path) not in (*_NEVER_SHOWN, "/tmp") and not any(home.is_relative_to(path) for home in homes)


def home_folders() -> frozenset[Path]:
    """The home folders of this user, root, and users in /etc/passwd with homes in /home; also with all links resolved."""
    homes = {Path("/root"), Path(os.path.expanduser("~"))}
    fields = [line.split(":") for line in _users()]
    homes |= {Path(field[5]) for field in fields if len(field) > 5 and field[5].startswith(("/home/", "/root"))}
    return frozenset(homes | {Path(os.path.realpath(home)) for home in homes}) - {Path("/")}


def _users() -> list[str]:
    try:
        return Path("/etc/passwd").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _entries(path: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
