"""Opens a rocpd database for reading, without ever changing the file or any file next to it."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd import validate
from rocm_perf_lab.rocpd.file_uri import file_uri

SCHEMA_VERSION = "3"
_SQLITE_MAGIC = b"SQLite format 3\0"


class Connection(sqlite3.Connection):
    """suffix: the suffix of the tables for the process to read; '' if they have none; None for the views over all processes."""

    suffix: str | None = None


@contextmanager
def connect(path: Path, suffix: str | None = None) -> Iterator[Connection]:
    """A connection to the rocpd database at `path`, after checking that its schema is version 3.

    suffix: one of suffixes(), which selects a process of a merged database.

    A database with a journal next to it was left by a writer that died. Reading such a database rolls the journal back, which
    would change both files, so a copy is opened instead.

    Raises TraceError for a file that is missing, empty, damaged or not a SQLite database, or that has a different schema.
    """
    path = Path(path)
    _check_is_sqlite(path)
    with tempfile.TemporaryDirectory(prefix="rocpd-") as scratch:
        readable = _copy_with_journal(path, Path(scratch)) if _sidecars(path) else path
        # immutable: SQLite takes no locks and looks for no journal, so a read-only directory works as well.
        mode = "mode=ro&immutable=1" if readable is path else "mode=rw"
        connection = sqlite3.connect(file_uri(readable.resolve(), mode), uri=True, factory=Connection)
        connection.suffix = suffix
        # rocprofv3 writes UTF-8; text in other encodings should not prevent the rest from being read.
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        try:
            validate.intact(connection, readable)
            _check_schema(connection, path)
            yield connection
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # an error message may quote bytes that are not text
            raise _unreadable(path, error) from error
        finally:
            connection.close()


def was_interrupted(path: Path) -> bool:
    """Whether a writer left its rollback journal next to the database, which means that it died while writing."""
    return bool(_sidecars(Path(path)))


def _sidecars(path: Path) -> list[Path]:
    beside = [path.with_name(path.name + suffix) for suffix in ("-journal", "-wal")]
    return [file for file in beside if file.exists() and file.stat().st_size > 0]


def _copy_with_journal(path: Path, scratch: Path) -> Path:
    for file in [path, *_sidecars(path)]:
        copy = scratch / file.name
        shutil.copyfile(file, copy)
    return scratch / path.name


def _check_is_sqlite(path: Path) -> None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for a writer
            raise TraceError(f"cannot read the trace {path} (it is not a file)", "give the path of a rocpd .db file")
        with path.open("rb") as file:
            head = file.read(len(_SQLITE_MAGIC))
    except OSError as error:
        raise TraceError(f"cannot read the trace {path} ({error.strerror})", "give the path of a rocpd .db file") from error
    if not head:
        raise TraceError(f"the trace {path} is empty", "profile the program again")
    if head != _SQLITE_MAGIC:
        raise TraceError(f"{path} is not a SQLite database", "give the .db file that rocprofv3 or rocm-perf wrote")


def _check_schema(connection: Connection, path: Path) -> None:
    try:
        rows = connection.execute(f'SELECT value FROM "{table(connection, "metadata")}" WHERE tag = ?', ("schema_version",))
        versions = [row[0] for row in rows]
    except MissingTableError as error:
        raise TraceError(f"{path} is not a rocpd database ({error})", "give the .db file that rocprofv3 wrote") from error
    if not versions or set(versions) != {SCHEMA_VERSION}:
        listed = ", ".join(map(str, versions))[:40] or "none"
        raise TraceError(f"{path} has rocpd schema version {listed}", f"write it with a profiler of schema {SCHEMA_VERSION}")


def suffixes(connection: Connection) -> list[str]:
    """The suffixes of the tables, one for each process whose trace is in the file; [''] for tables without a suffix.

    rocprofv3 writes one file per process; AMD's `rocpd merge` combines several into one, with views over all of them.
    """
    prefix = "rocpd_kernel_dispatch"
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?", (prefix + "_" + "[0-9a-f]" * 8 + "_*",)
    )
    return sorted(row[0].removeprefix(prefix) for row in rows) or [""]


class MissingTableError(Exception):
    """The database has neither the view rocpd_<name> nor exactly one table rocpd_<name>_<uuid>."""


def table(connection: Connection, name: str) -> str:
    """The table or view that holds rocpd_<name>: with the connection's suffix if it has one; otherwise without a suffix or, if
    there is no such table, the only one with a uuid suffix. Raises MissingTableError.
    """
    unsuffixed = f"rocpd_{name}"
    if connection.suffix is not None:
        return unsuffixed + connection.suffix
    # '_' is a wildcard in LIKE; GLOB takes it literally. A uuid suffix starts with 8 hexadecimal digits.
    suffixed = unsuffixed + "_" + "[0-9a-f]" * 8 + "_*"
    rows = connection.execute("SELECT name FROM sqlite_master WHERE name = ? OR name GLOB ?", (unsuffixed, suffixed))
    candidates: list[str] = sorted(row[0] for row in rows)
    if unsuffixed in candidates:
        return unsuffixed
    if len(candidates) != 1:
        raise MissingTableError(f"{len(candidates)} tables named {unsuffixed}")
    return candidates[0]


def _unreadable(path: Path, error: sqlite3.DatabaseError | UnicodeDecodeError) -> TraceError:
    """If a column is missing that every collector of this schema writes, the file is not damaged but was written by a different
    tool.
    """
    if str(error).startswith("no such column"):
        return TraceError(
            f"{path} has rocpd's tables, but not its columns ({error})", "give a .db file that rocprofv3 or rocm-perf wrote"
        )
    return TraceError(f"{path} is damaged ({error})", "profile the program again")
