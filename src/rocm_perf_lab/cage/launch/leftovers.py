"""What a cage may leave in a writable folder: files and folders. Whoever reads them later must not be led elsewhere."""

import os
import stat


def remove(folder, traces):
    """Remove links, pipes, sockets and device files, and set-id bits; in folders of traces also notes without a writer."""
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except NotADirectoryError:
        return
    for entry in found:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            os.chmod(entry.path, stat.S_IMODE(status.st_mode) & 0o777 | 0o700)
            remove(entry.path, traces)
        elif not stat.S_ISREG(status.st_mode) or (folder in traces and entry.name.endswith(".spool")):
            os.unlink(entry.path)
        elif status.st_mode & (stat.S_ISUID | stat.S_ISGID):
            os.chmod(entry.path, stat.S_IMODE(status.st_mode) & 0o777)
