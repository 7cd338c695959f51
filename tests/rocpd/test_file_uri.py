"""URIs of files, against Python's own."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.rocpd.file_uri import file_uri


@given(st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name and b"/" not in name))
def test_the_uri_of_any_name_equals_that_of_python(name):
    path = Path("/folder", os.fsdecode(name))
    assert file_uri(path, "mode=ro") == f"{path.as_uri()}?mode=ro"


def test_sqlite_opens_the_named_file(tmp_path):
    path = tmp_path / "50 % off? #1 ü.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE here (x)")
    connection.close()
    read = sqlite3.connect(file_uri(path, "mode=ro&immutable=1"), uri=True)
    assert read.execute("SELECT name FROM sqlite_master").fetchall() == [("here",)]
    read.close()
