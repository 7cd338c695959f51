"""The user's source under change: every state of the disk, at any moment, is the old content or the new, and known.

`put` replaces it atomically after the original has been saved and the journal says so. A run that was killed between
two steps leaves what the journal names; `repair` puts the original back. A source that somebody else changed in the
meantime is never overwritten.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from rocm_perf_lab.errors import OutputError, SourceError

from .journal import Journal


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
        if self._journal.last("backup") is None:
            write_whole(self.backup, text)
            self._journal.append("backup", source=str(self.path), digest=digest(text))
        return text

    def put(self, text: bytes, why: str) -> None:
        """Replace the content for good. Errors: OutputError; SourceError where somebody else changed it meanwhile."""
        self._expect_known()
        self._journal.append("put", digest=digest(text), why=why)
        write_whole(self.path, text)

    @contextlib.contextmanager
    def borrowed(self, text: bytes) -> Iterator[None]:
        """Have `text` in place while a build runs that can read no other file; whatever ends it, the content before is back."""
        before = self._content()
        self._expect_known()
        self._journal.append("borrow", digest=digest(text), before=digest(before))
        write_whole(self.path, text)
        try:
            yield
        finally:
            write_whole(self.path, before)
            self._journal.append("return", digest=digest(before))

    def repair(self, accepted: bytes | None = None) -> bool:
        """Undo what a killed run left: a borrowed or unfinished content. Returns whether the file was changed.

        accepted: the best content so far, put there by the run itself; None where that is the original.
        """
        open_change = next((e for e in reversed(self._journal.entries) if e["event"] in ("borrow", "return", "put")), None)
        if open_change is None or open_change["event"] != "borrow":
            return False
        content = self._content()
        if digest(content) == open_change["before"]:
            self._journal.append("return", digest=open_change["before"])
            return False
        if digest(content) != open_change["digest"]:
            raise self._foreign()
        wanted = next(t for t in (accepted, self.backup.read_bytes()) if t is not None and digest(t) == open_change["before"])
        write_whole(self.path, wanted)
        self._journal.append("return", digest=digest(wanted))
        return True

    def _expect_known(self) -> None:
        """The content is one that this run put there, or the original."""
        known = {entry["digest"] for entry in self._journal.entries if entry["event"] in ("backup", "put", "return")}
        if digest(self._content()) not in known:
            raise self._foreign()

    def _foreign(self) -> SourceError:
        return SourceError(
            f"{self.path} was changed by somebody else during the run", f"the original is {self.backup}; start a new run"
        )

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
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
