"""The user's source while it is being changed: at any moment, the file holds either the old or the new contents, and both are
on record.

put() replaces the file atomically, after the original has been saved and both versions have been recorded in the journal. A
source that somebody else has changed in the meantime is never overwritten.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from rocm_perf_lab.atomic_write import stream_of
from rocm_perf_lab.errors import OutputError, SourceError
from rocm_perf_lab.hip_source.source import content_of
from rocm_perf_lab.optimize.journal import Journal, JournalReader
from rocm_perf_lab.optimize.journal_lines import BackupLine, PutLine


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


class SourceFile:
    """The user's source file during a run.

    path: the user's file. backup: the copy of its original contents in the run directory.
    """

    def __init__(self, path: Path, directory: Path, journal: Journal):
        self.path = path.resolve()  # a symbolic link is kept: its target is replaced
        self.backup = directory / "backup" / path.name
        self._journal = journal

    def save(self) -> bytes:
        """Save the original contents, once per run, and return them. Raises OutputError, SourceError."""
        text = self._read_content()
        if not any(line.source == str(self.path) for line in self._journal.of(BackupLine)):
            write_whole(self.backup, text)
            self._journal.append(BackupLine(source=str(self.path), digest=digest(text)))
        return text

    def put(self, text: bytes, why: str, before: Path | None = None) -> None:
        """Replace the contents permanently. before: a file with the previous contents, if several files change together and
        this is not the last of them. Raises OutputError, or SourceError if somebody else changed the file in the meantime.
        """
        self._expect_known()
        line = PutLine(digest=digest(text), why=why, source=str(self.path), before=None if before is None else str(before))
        self._journal.append(line)
        write_whole(self.path, text)

    def copy_to_run_folder(self) -> Path:
        """Copy the present contents to the run directory, and return the copy's path. Raises OutputError, SourceError."""
        self._expect_known()
        copy = self.backup.with_name(f"before-{self.backup.name}")
        write_whole(copy, self._read_content())
        return copy

    def _expect_known(self) -> None:
        """Check that the contents are the original ones or were written by this run."""
        known = {line.digest for line in self._journal.of(BackupLine)} | {line.digest for line in self._journal.of(PutLine)}
        if digest(self._read_content()) not in known:
            raise self._changed_meanwhile_error()

    def _changed_meanwhile_error(self) -> SourceError:
        return SourceError(
            f"{self.path} was changed by another program during the run", f"the original is {self.backup}; start a new run"
        )

    def _read_content(self) -> bytes:
        try:
            return content_of(self.path)
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}", "name an existing source file") from error


def replace_all_or_none(texts: Mapping[SourceFile, bytes], why: str) -> None:
    """Replace several files or none: if one cannot be replaced, the files before it are restored. If the process is killed
    partway, restore() restores them later.

    Raises whatever SourceFile.put() raises.
    """
    copies = {file: file.copy_to_run_folder() for file in texts} if len(texts) > 1 else {}
    done: list[SourceFile] = []
    try:
        for number, (file, text) in enumerate(texts.items(), 1):
            done.append(file)
            file.put(text, why, copies[file] if number < len(texts) else None)
    except BaseException:
        for file in done if copies else ():
            if file.path.read_bytes() == texts[file]:
                write_whole(file.path, copies[file].read_bytes())
        raise


def restore(journal: JournalReader) -> list[Path]:
    """If a killed process replaced only some of the files that change together, restore those and return their paths. A file
    that somebody changed in the meantime is left as it is. Raises OutputError, OSError.
    """
    puts = journal.of(PutLine)
    restored = []
    while puts and puts[-1].before is not None and puts[-1].source is not None:
        last = puts.pop()
        path, before = Path(last.source or ""), Path(last.before or "")
        if before.is_file() and path.is_file() and digest(path.read_bytes()) == last.digest:
            write_whole(path, before.read_bytes())
            before.unlink()  # restore only once: if the same change is made again later, it is intentional
            restored.append(path)
    return restored


def write_whole(path: Path, text: bytes) -> None:
    """Write all of `text`, or leave the file as it was; its permissions are kept. A symbolic link is kept, and its target is
    replaced; a pipe or a device is written in place. Raises OutputError.
    """
    try:
        stream = stream_of(path)
        if stream is None:
            _replace(path.resolve(), text)
        else:
            with open(stream, "wb") as file:
                file.write(text)
    except OSError as error:
        raise OutputError(f"cannot write {path} ({error.strerror})", "free some space or change its permissions") from error


def _replace(path: Path, text: bytes) -> None:
    """Raises OSError."""
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
    finally:
        temporary.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove the temporary files that write_whole() left next to `path` when its process was killed."""
    path = path.resolve()
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
