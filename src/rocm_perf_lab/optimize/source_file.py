"""The user's source under change: every state of the disk, at any moment, is the old content or the new, and known.

`put` replaces it atomically after the original has been saved and the journal says so. A source that somebody else
changed in the meantime is never overwritten.
"""

from __future__ import annotations

import glob
import hashlib
import os
from pathlib import Path

from rocm_perf_lab.errors import OutputError, SourceError
from rocm_perf_lab.hip_source.source import content_of
from rocm_perf_lab.optimize.journal import Journal
from rocm_perf_lab.optimize.journal_lines import BackupLine, PutLine


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


class SourceFile:
    """path: the user's file. backup: where its original content is kept, in the run directory."""

    def __init__(self, path: Path, directory: Path, journal: Journal):
        self.path = path.resolve()  # a symbolic link stays one: what it points to is replaced
        self.backup = directory / "backup" / path.name
        self._journal = journal

    def save(self) -> bytes:
        """Keep the content as the original, once a run. Returns it. Errors: OutputError, SourceError."""
        text = self._content()
        if self._journal.last(BackupLine) is None:
            write_whole(self.backup, text)
            self._journal.append(BackupLine(source=str(self.path), digest=digest(text)))
        return text

    def put(self, text: bytes, why: str) -> None:
        """Replace the content for good. Errors: OutputError; SourceError where somebody else changed it meanwhile."""
        self._expect_known()
        self._journal.append(PutLine(digest=digest(text), why=why))
        write_whole(self.path, text)

    def _expect_known(self) -> None:
        """The content is one that this run put there, or the original."""
        known = {line.digest for line in self._journal.of(BackupLine)} | {line.digest for line in self._journal.of(PutLine)}
        if digest(self._content()) not in known:
            raise self._foreign()

    def _foreign(self) -> SourceError:
        return SourceError(
            f"{self.path} was changed by somebody else during the run", f"the original is {self.backup}; start a new run"
        )

    def _content(self) -> bytes:
        try:
            return content_of(self.path)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}", "name an existing source file") from error


def write_whole(path: Path, text: bytes) -> None:
    """The file has all of `text`, or what it had before; its permissions stay. Errors: OutputError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            if path.exists():
                os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", "free some space or change its permissions") from error
    finally:
        temporary.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove what write_whole() left beside `path` in processes that were killed."""
    for temporary in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
        process = temporary.name.split(".")[-2]
        if process.isdigit() and not Path("/proc", process).exists():
            temporary.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
