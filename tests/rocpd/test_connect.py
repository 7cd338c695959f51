"""Opening databases: unreadable ones give one clear error, and nothing on disk changes."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3

import pytest

import rocpd_database
from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Dispatch


def fingerprint(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_a_hot_journal_is_rolled_back_in_a_copy_only(shared_data, tmp_path):
    """rocprofv3 died while writing (a marker with a quote in it): only the schema was committed."""
    source = shared_data / "rocprofv3" / "ms_marker_quote"
    for file in source.glob("q_results.db*"):
        shutil.copyfile(file, tmp_path / file.name)
    assert (tmp_path / "q_results.db-journal").stat().st_size > 0
    before = fingerprint(tmp_path)
    with pytest.raises(TraceError, match="unfinished: its writer was interrupted.*ROCTx"):
        read_trace(tmp_path / "q_results.db")
    assert fingerprint(tmp_path) == before


def test_a_journal_restores_what_was_committed(tmp_path):
    """A transaction was interrupted after it had changed pages on disk: readers see the state before it."""
    path = rocpd_database.write(tmp_path / "a.db", [Dispatch("k", 10, 30)])
    committed = path.read_bytes()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN")
    connection.execute('UPDATE rocpd_kernel_dispatch SET "end" = 99')
    for number in range(2000):
        connection.execute("INSERT INTO rocpd_event(id, extdata) VALUES (?, ?)", (100 + number, "x" * 500))
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for file in tmp_path.glob("a.db*"):
        shutil.copyfile(file, crashed / file.name)
    connection.close()
    assert (crashed / "a.db").read_bytes() != committed, "the cut-off transaction must have reached the file"
    before = fingerprint(crashed)
    assert read_trace(crashed / "a.db").dispatches.end.tolist() == [30]
    assert fingerprint(crashed) == before


def test_a_database_in_a_read_only_folder_opens(tmp_path):
    path = rocpd_database.write(tmp_path / "a.db", [Dispatch("k", 10, 30)])
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert len(read_trace(path).dispatches) == 1
    finally:
        tmp_path.chmod(0o755)


def _schema_only(path):
    rocpd_database.write(path, [])
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM rocpd_info_process")
    connection.commit()


def _other_schema(path):
    rocpd_database.write(path, [])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE rocpd_metadata SET value = '2'")
    connection.commit()


def _without_dispatch_table(path):
    rocpd_database.write(path, [])
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE rocpd_kernel_dispatch")
    connection.commit()


def _damaged(path):
    rocpd_database.write(path, [Dispatch(f"kernel_{n}", n, n + 1) for n in range(500)])
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda path: None, "cannot read the trace .*No such file"),
        (lambda path: path.mkdir(), "cannot read the trace"),
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_text("Kind,Agent_Id\n"), "is not a SQLite database"),
        (lambda path: sqlite3.connect(path).executescript("CREATE TABLE t(x)"), "is not a rocpd database"),
        (_schema_only, "unfinished: it has a schema but no records"),
        (_other_schema, "rocpd schema version 2"),
        (_without_dispatch_table, "not a complete rocpd database"),
        (_damaged, "is damaged"),
    ],
)
def test_unreadable_traces_are_named(make, message, tmp_path):
    path = tmp_path / "the trace.db"
    make(path)
    with pytest.raises(TraceError, match=message) as error:
        read_trace(path)
    assert "the trace.db" in str(error.value) and error.value.hint


def test_tables_with_a_suffix_are_found_without_views(shared_data, tmp_path):
    """The names of rocprofv3's tables include the run's uuid; its views are a convenience that the reader does not need."""
    original = shared_data / "rocprofv3" / "ms_trace" / "ms_results.db"
    copy = tmp_path / "ms.db"
    shutil.copyfile(original, copy)
    copy.chmod(0o644)
    connection = sqlite3.connect(copy)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
        connection.execute(f'DROP VIEW "{name}"')
    connection.commit()
    connection.close()
    assert read_trace(copy).dispatches.start.tolist() == read_trace(original).dispatches.start.tolist()


def test_columns_of_another_schema_are_not_called_damage(tmp_path):
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 10, 30)])
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE rocpd_info_process DROP COLUMN extdata")
    with pytest.raises(TraceError, match="not its columns .*extdata.*; give a .db file that rocprofv3 or rocm-perf wrote"):
        read_trace(path)
