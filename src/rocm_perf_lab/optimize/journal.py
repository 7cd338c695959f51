"""The run's journal: one JSON line per step. The lines of what is about to be done, such as a change to a file, are on disk
before it is done.

If the process is killed, only the last line can be truncated; readers ignore such a line, and it is removed before the next one
is appended.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, TypeVar

from rocm_perf_lab.errors import OutputError
from rocm_perf_lab.optimize.journal_lines import Line
from rocm_perf_lab.utf8 import utf8

FILE = "journal.jsonl"
Kind = TypeVar("Kind", bound=Line)


def event_of(kind: type[Line]) -> str:
    """The event's name, as written in the journal's lines."""
    event: str = kind.model_fields["event"].default
    return event


class Entries:
    """The journal of one run directory, for reading only. entries: all complete lines in order, as parsed JSON."""

    def __init__(self, directory: Path):
        self.path = directory / FILE
        self.entries, self._whole = read(self.path)

    def last(self, kind: type[Kind]) -> Kind | None:
        """The last line of this kind; None if there is none. Raises OutputError if it is damaged."""
        event = event_of(kind)
        return next((self._parse(kind, entry) for entry in reversed(self.entries) if entry["event"] == event), None)

    def of(self, kind: type[Kind]) -> list[Kind]:
        """All lines of this kind. Raises OutputError if one is damaged."""
        event = event_of(kind)
        return [self._parse(kind, entry) for entry in self.entries if entry["event"] == event]

    def of_any(self, *kinds: type[Line]) -> list[Line]:
        """The lines of several kinds, in order. Raises OutputError if one is damaged."""
        known = {event_of(kind): kind for kind in kinds}
        return [self._parse(known[entry["event"]], entry) for entry in self.entries if entry["event"] in known]

    def _parse(self, kind: type[Kind], entry: dict[str, Any]) -> Kind:
        try:
            return kind.model_validate(entry)
        except ValueError as error:
            message = f"{self.path} is damaged in line {self.entries.index(entry) + 1}, {entry['event']}"
            raise OutputError(message, "move it away and start over") from error


class Journal(Entries):
    """The journal, open for writing by one process at a time (run_folder.lock_run); a truncated last line is removed."""

    def __init__(self, directory: Path):
        super().__init__(directory)
        self._lock = threading.Lock()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            # Unbuffered: a failed write must not be retried at exit, when nobody would notice a failure.
            self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - stays open for the whole run
            self._file.truncate(self._whole)
        except OSError as error:
            raise OutputError(f"cannot write {self.path} ({error.strerror})", "choose another run directory") from error

    def append(self, record: Line) -> None:
        """Write one line and wait until it is on disk. Raises OutputError."""
        with self._lock:
            entry = {"number": len(self.entries)} | record.as_json()
            line = utf8(json.dumps(entry, ensure_ascii=False, allow_nan=False)) + b"\n"
            try:
                while line:
                    line = line[self._file.write(line) :]
                os.fsync(self._file.fileno())
            except OSError as error:
                raise OutputError(f"cannot write {self.path} ({error.strerror})", "free some space and use --resume") from error
            self.entries.append(entry)


def read(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The entries and their total size in bytes; another process may be writing the journal.

    Raises OutputError if a line other than the last is damaged.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise OutputError(f"cannot read {path} ({error.strerror})", "move it away and start over") from error
    entries, position = [], 0
    while (end := data.find(b"\n", position)) >= 0:
        try:
            entry = json.loads(data[position:end])
            if not isinstance(entry, dict) or not isinstance(entry.get("event"), str):
                raise ValueError("no event")
            entries.append(entry)
        except (ValueError, RecursionError) as error:
            raise OutputError(f"{path} is damaged at byte {position}", "move it away and start over") from error
        position = end + 1
    return entries, position
