"""Reads integer columns of a table into NumPy arrays: a few rows through sqlite3, millions through ADBC.

Measurements (benchmarks/readers.py) show that reading rows as Python objects costs more than all later steps. ADBC's SQLite
driver fills Arrow columns without creating such objects and releases the interpreter lock, so threads read ranges of ids in
parallel, each with its own connection. Columns use 32 bits per element if that is enough.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.process.cores import available_cores
from rocm_perf_lab.rocpd.file_uri import file_uri

if TYPE_CHECKING:
    import pyarrow

    from rocm_perf_lab.arrays import Integers

NO_ID = -1
FEW_ROWS = 50_000  # loading ADBC takes as long as reading this many rows through sqlite3
_ROWS_AT_ONCE = 100_000
_MAX_THREADS = 4

_INT32 = np.iinfo(np.int32)


class NotAnIntegerError(sqlite3.DatabaseError):
    """A column that must hold integers contains something else: SQLite does not enforce types, and files may be damaged."""


def integer_columns(connection: sqlite3.Connection, columns: Sequence[str], source: str, key: str) -> list[Integers]:
    """Read `columns` (SQL expressions) from `source` (what follows FROM), each as (n,) int32 or int64, ordered by `key`.

    key: an integer column of `source` that is its table's primary key. NULL becomes NO_ID.
    Raises sqlite3.DatabaseError for a damaged file, NotAnIntegerError for a value that is neither an integer nor NULL.
    """
    # SQLite answers each of these queries without reading the rows' contents; one query for all three values would read them.
    wanted = ("COUNT(*)", f"MIN({key})", f"MAX({key})")
    count, low, high = (connection.execute(f"SELECT {expression} FROM {source}").fetchone()[0] for expression in wanted)
    result = [_Growing(count) for _ in columns]
    if count and not (isinstance(low, int) and isinstance(high, int)):
        raise NotAnIntegerError(f"{key} contains something other than integers")
    query = f"SELECT {', '.join(columns)} FROM {source}"
    # With consecutive ids, as collectors write them, the position of each range of rows is known in advance.
    bounds = _ranges(low, high + 1) if count and high - low + 1 == count else [low, (high or 0) + 1]
    if count < FEW_ROWS or not _through_adbc(connection, query, key, bounds, result):
        _through_sqlite3(connection, f"{query} ORDER BY {key}", columns, result)
    return [column.array for column in result]


class _Growing:
    """A column of known length that is filled piece by piece. It uses 32 bits per element until a value needs more."""

    def __init__(self, count: int):
        self.array = np.empty(count, np.int32)
        self._lock = threading.Lock()

    def put(self, position: int, values: Integers) -> None:
        if self.array.dtype == np.int32 and len(values) and (values.min() < _INT32.min or values.max() > _INT32.max):
            with self._lock:  # other threads write to other parts of the array, but must not while it is being replaced
                if self.array.dtype == np.int32:
                    self.array = self.array.astype(np.int64)
        with self._lock:
            if position + len(values) > len(self.array):
                raise sqlite3.DatabaseError("more rows than were counted")
            self.array[position : position + len(values)] = values


def _through_sqlite3(connection: sqlite3.Connection, query: str, columns: Sequence[str], result: list[_Growing]) -> None:
    cursor, position = connection.execute(query), 0
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        for name, values, into in zip(columns, zip(*rows, strict=True), result, strict=True):
            into.put(position, _integers(values, name))
        position += len(rows)
    _check_complete(position, len(result[0].array))


def _check_complete(read: int, expected: int) -> None:
    """Check that all rows were read: in a damaged B-tree, a scan can yield fewer rows than were counted and leave gaps."""
    if read != expected:
        raise sqlite3.DatabaseError(f"{read} rows where {expected} were counted")


def _integers(values: Iterable[Any], name: str) -> Integers:
    array = np.array(values)
    if array.dtype.kind == "O":
        array = np.array([NO_ID if value is None else value for value in values])
    if array.dtype.kind != "i":
        raise NotAnIntegerError(f"{name} contains something other than integers")
    return array


def _ranges(low: int, end: int) -> list[int]:
    threads = min(_MAX_THREADS, available_cores())
    return [low + (end - low) * n // threads for n in range(threads + 1)]


def _through_adbc(connection: sqlite3.Connection, query: str, key: str, bounds: list[int], result: list[_Growing]) -> bool:
    """Read the rows whose ids lie between consecutive bounds, one thread per range. Returns False if ADBC is not installed."""
    try:
        from adbc_driver_sqlite import dbapi
    except ImportError:
        return False
    from concurrent.futures import ThreadPoolExecutor

    uri = _uri(connection)

    def read(begin: int, end: int) -> None:
        with dbapi.connect(uri) as adbc, adbc.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_ROWS_AT_ONCE)})
            cursor.execute(f"{query} WHERE {key} >= {begin} AND {key} < {end} ORDER BY {key}")
            position = begin - bounds[0]
            for batch in cursor.fetch_record_batch():
                for name, values, into in zip(batch.schema.names, batch.columns, result, strict=True):
                    into.put(position, _arrow_integers(values, name))
                position += batch.num_rows
        _check_complete(position, end - bounds[0] if len(bounds) > 2 else len(result[0].array))

    try:
        with ThreadPoolExecutor(len(bounds) - 1) as pool:
            list(pool.map(read, bounds[:-1], bounds[1:]))
    except (dbapi.Error, OSError) as error:  # OSError: driver errors in the middle of a result, passed on by Arrow
        raise sqlite3.DatabaseError(str(error).splitlines()[0]) from error
    return True


def _arrow_integers(values: pyarrow.Array, name: str) -> Integers:
    import pyarrow

    if values.null_count == len(values):
        return np.full(len(values), NO_ID, np.int32)
    if not pyarrow.types.is_integer(values.type):
        raise NotAnIntegerError(f"{name} contains something other than integers")
    integers: Integers = (values.fill_null(NO_ID) if values.null_count else values).to_numpy()
    return integers


def _uri(connection: sqlite3.Connection) -> str:
    """The URI of the file behind a connection, for opening another connection that takes no locks."""
    (path,) = (row[2] for row in connection.execute("PRAGMA database_list") if row[1] == "main")
    return file_uri(Path(path), "mode=ro&immutable=1")
