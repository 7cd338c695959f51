"""Cleans up a writable folder after its cage has ended: only files and folders remain, so that no reader is misled."""

import os
import stat

import folder_growth
import untrusted_folders


def tidy(path: str, of_traces: bool) -> None:
    """Remove links, pipes, sockets, device files, set-id bits and anything nested too deep; in trace folders, also spool files
    that were not converted.
    """
    with untrusted_folders.OpenFolder(path) as folder:
        if folder is not None:
            _tidy(folder, of_traces, folder, 1)


def _tidy(folder: int, of_traces: bool, top: int, depth: int) -> None:
    for name in untrusted_folders.names(folder):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            if depth >= folder_growth.MAX_DEPTH:
                _remove_deep(name, folder, top)
                continue
            with untrusted_folders.OpenFolder(name, folder) as below:
                if below is not None:  # otherwise it is another user's, and the cage could not write to it either
                    _tidy(below, of_traces, top, depth + 1)
        elif not stat.S_ISREG(status.st_mode) or (of_traces and name.endswith(".spool")):
            os.unlink(name, dir_fd=folder)
        elif status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            os.chmod(name, status.st_mode & 0o777, dir_fd=folder)


def _remove_deep(name: str, folder: int, top: int) -> None:
    """Remove a folder with its contents, however deeply nested: each folder below it is moved to `top` first."""
    waiting = [_move_to_top(name, folder, top)]
    while waiting:
        entry = waiting.pop()
        with untrusted_folders.OpenFolder(entry, top) as descriptor:
            if descriptor is not None:
                waiting += _empty_folder(descriptor, top)
        os.rmdir(entry, dir_fd=top)


def _empty_folder(folder: int, top: int) -> list[str]:
    """Move the folder's subfolders up and return their new names; remove all other entries."""
    moved = []
    for name in untrusted_folders.names(folder):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            moved.append(_move_to_top(name, folder, top))
        else:
            os.unlink(name, dir_fd=folder)
    return moved


def _move_to_top(name: str, folder: int, top: int) -> str:
    with untrusted_folders.OpenFolder(name, folder):
        pass  # a folder must be writable to be moved; opening it makes it so
    new = f".removed-{os.urandom(8).hex()}"
    os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)
    return new
