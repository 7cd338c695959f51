"""Ways to damage a database: its bytes, its schema, its contents. Each takes a random generator and the file."""

from __future__ import annotations

import contextlib
import json
import random
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[random.Random, Path], None]

# ---- bytes ----


def truncate(rng: random.Random, path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: rng.choice([rng.randrange(len(data)), rng.randrange(0, len(data), 512), rng.randrange(200)])])


def flip_bits(rng: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 2, 8, 64])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def flip_bits_of_structure(rng: random.Random, path: Path) -> None:
    """Flips bits in the file's header and in page headers, where each bit matters most."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 2, 4])):
        page = rng.randrange(len(data) // 512) * 512
        data[min(page + rng.randrange(100 if page == 0 else 24), len(data) - 1)] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def overwrite(rng: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    start = rng.randrange(len(data))
    length = min(rng.choice([1, 4, 16, 512, 2048]), len(data) - start)
    data[start : start + length] = rng.choice([bytes(length), b"\xff" * length, rng.randbytes(length)])
    path.write_bytes(data)


def swap_pages(rng: random.Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    one, two = (rng.randrange(1, len(data) // 512) * 512 for _ in range(2))
    data[one : one + 512], data[two : two + 512] = data[two : two + 512], data[one : one + 512]
    path.write_bytes(data)


def insert_or_remove(rng: random.Random, path: Path) -> None:
    data = path.read_bytes()
    place, length = rng.randrange(len(data)), rng.choice([1, 7, 512])
    path.write_bytes(data[:place] + (rng.randbytes(length) + data[place:] if rng.random() < 0.5 else data[place + length :]))


def append(rng: random.Random, path: Path) -> None:
    path.write_bytes(path.read_bytes() + rng.randbytes(rng.choice([1, 511, 512, 5000])))


def other_file(rng: random.Random, path: Path) -> None:
    texts = [b"", b"S", b"SQLite format 3\0", b"SQLite format 3\0" + bytes(500), b'{"jobs": []}', rng.randbytes(4000)]
    path.write_bytes(rng.choice(texts))


# ---- schema ----


@contextlib.contextmanager
def _opened(path: Path):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    try:
        yield connection
    finally:
        connection.close()


def _tables(connection: sqlite3.Connection) -> list[str]:
    return sorted(
        name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table' AND name GLOB 'rocpd_*'")
    )


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def _quietly(connection: sqlite3.Connection, statement: str, values: tuple = ()) -> None:
    """SQLite refuses some damage, such as dropping a primary key; then the file stays unchanged."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute(statement, values)


def change_schema(rng: random.Random, path: Path) -> None:
    with _opened(path) as connection:
        table = rng.choice(_tables(connection))
        column = rng.choice(_columns(connection, table))
        statements = [
            f'DROP TABLE "{table}"',
            f'DELETE FROM "{table}"',
            f'ALTER TABLE "{table}" RENAME TO "{table}x"',
            f'ALTER TABLE "{table}" DROP COLUMN "{column}"',
            f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"',
            f'CREATE TABLE "{table}_00000000_1111_2222_3333_444444444444" AS SELECT * FROM "{table}"',
            f'CREATE VIEW "{table}_00000000_1111_2222_3333_444444444445" AS SELECT * FROM "{table}_no_such"',
            "UPDATE sqlite_master SET sql = 'CREATE'",
        ]
        _quietly(connection, rng.choice(statements))


def without_key(rng: random.Random, path: Path) -> None:
    """A table with ids that are not unique, since some row occurs twice."""
    with _opened(path) as connection:
        table = rng.choice(_tables(connection))
        for statement in (f'CREATE TABLE copy AS SELECT * FROM "{table}"', f'DROP TABLE "{table}"',
                          f'ALTER TABLE copy RENAME TO "{table}"',
                          f'INSERT INTO "{table}" SELECT * FROM "{table}" LIMIT 1'):  # fmt: skip
            _quietly(connection, statement)


def as_view(rng: random.Random, path: Path) -> None:
    """A view in place of a table: one like rocprofv3's, or one with different contents."""
    with _opened(path) as connection:
        table = rng.choice(_tables(connection))
        source = rng.choice(
            [f'SELECT * FROM "{table}_x"', "SELECT 1", f'SELECT * FROM "{table}"', f'SELECT * FROM "{table}_x" LIMIT 3']
        )
        _quietly(connection, f'ALTER TABLE "{table}" RENAME TO "{table}_x"')
        _quietly(connection, f'CREATE VIEW "{table}" AS {source}')


# ---- contents ----

_HUGE_TEXT = "x" * 2_000_000
_WORDS = [
    "", "x", "7", "-1", "nan", "1e400", "\n\r\t\x1b[31m", "kernel\0name", "a'b;c\"d`", "\ud7ff\u202e\U0010ffff", "<script>",
    _HUGE_TEXT,
    "[" * 5000, '{"depends_on": 7}', '{"depends_on": [[1, "queue"], [2], "x", [null, null], [1e99, "host"], [3, "nonsense"]]}',
    '{"depends_on": [[2, "queue"], [3, "signal"], [4, "host"]]}', "[]", "null", '"text"', '{"rocm_perf_lab": 1}',
    '{"rocm_perf_lab": {"dependencies": "exact", "timing": 3, "device": [], "timing_parameters": {}, "collector": null}}',
    json.dumps({"cu_count": -1, "num_xcc": 0, "max_engine_clk_fcompute": 1e300, "device_id": "x"}),
    json.dumps({"cu_count": 10**30, "num_xcc": True, "max_engine_clk_fcompute": [], "device_id": -5}),
]  # fmt: skip
_NUMBERS = [0, 1, -1, 2, 63, 64, 65, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 10**6, 1.5,
            -0.0, 1e300,
            float("inf"), float("-inf")]  # fmt: skip


def _value(rng: random.Random):
    kind = rng.randrange(5)
    if kind == 0:
        return None
    if kind == 1:
        return rng.choice(_WORDS)
    if kind == 2:
        return rng.choice([b"", b"\xff\xfe", b"\0" * 9])
    return rng.choice(_NUMBERS)


def change_values(rng: random.Random, path: Path) -> None:
    """Changes one to three columns in one row or in all rows: SQLite lets any column hold anything."""
    with _opened(path) as connection:
        for _ in range(rng.choice([1, 1, 2, 3])):
            table = rng.choice(_tables(connection))
            column = rng.choice(_columns(connection, table))
            rows = rng.choice(["", " WHERE rowid = (SELECT MIN(rowid) FROM t)", " WHERE rowid % 3 = 1"])
            rows = rows.replace(" t)", f' "{table}")')
            _quietly(connection, f'UPDATE "{table}" SET "{column}" = ?{rows}', (_value(rng),))


def change_times(rng: random.Random, path: Path) -> None:
    with _opened(path) as connection:
        table = rng.choice([name for name in _tables(connection) if re.match("rocpd_(kernel_dispatch|memory_copy)", name)])
        expression = rng.choice(
            ["start - 1", "start", "start + 1", '"end" * 1000000000', '"end" + 9000000000000000000', "-9223372036854775807",
             "NULL", '"end" + 0.5', "CAST(\"end\" AS TEXT)", "start - 9223372036854775807", "9223372036854775807"]
        )  # fmt: skip
        column = rng.choice(["start", "end", "end"])
        rows = rng.choice(["", " WHERE id = 5", " WHERE id % 2"])
        _quietly(connection, f'UPDATE "{table}" SET "{column}" = {expression}{rows}')


def not_utf8(rng: random.Random, path: Path) -> None:
    with _opened(path) as connection:
        table = rng.choice(_tables(connection))
        column = rng.choice(_columns(connection, table))
        _quietly(connection, f'UPDATE "{table}" SET "{column}" = CAST(x\'c3285b22\' AS TEXT)')


def other_schema_version(rng: random.Random, path: Path) -> None:
    with _opened(path) as connection:
        table = next((name for name in _tables(connection) if "metadata" in name), None)
        if table:
            _quietly(
                connection,
                f'UPDATE "{table}" SET value = ?',
                (rng.choice(["2", "4", "", None, 3, 3.0, b"3", "3.1", _HUGE_TEXT]),),
            )


OF_BYTES: list[Damage] = [
    truncate, flip_bits, flip_bits_of_structure, flip_bits_of_structure, overwrite, swap_pages, insert_or_remove, append,
    other_file,
]  # fmt: skip
OF_CONTENTS: list[Damage] = [
    change_schema, without_key, as_view, change_values, change_values, change_times, change_times, not_utf8,
    other_schema_version,
]  # fmt: skip
