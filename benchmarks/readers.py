"""Compares ways to read the dispatches of a rocpd database into integer columns, which shows why rocpd/columns.py uses ADBC.

    python benchmarks/readers.py [--dispatches N] [--rounds N] [--cache DIR]

The readers take turns, each in a process of its own; those that are not installed (pip install apsw connectorx) are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import sqlite3
import statistics
import sys
from itertools import chain
from pathlib import Path

import numpy as np
from scale import CACHE, cached, measure

from rocm_perf_lab.rocpd.reader import DISPATCH_COLUMNS

QUERY = f"SELECT {', '.join(DISPATCH_COLUMNS)} FROM rocpd_kernel_dispatch"


def python_loop(path: str) -> list:
    columns: list[list[int]] = [[] for _ in DISPATCH_COLUMNS]
    for row in sqlite3.connect(path).execute(QUERY):
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return columns


def numpy_over_sqlite3(path: str) -> np.ndarray:
    return np.fromiter(chain.from_iterable(sqlite3.connect(path).execute(QUERY)), np.int64)


def apsw_rows(path: str) -> np.ndarray:
    import apsw

    return np.fromiter(chain.from_iterable(apsw.Connection(path).execute(QUERY)), np.int64)


def connectorx_arrow(path: str):
    import connectorx

    return connectorx.read_sql(f"sqlite://{path}", QUERY, return_type="arrow")


def adbc_arrow(path: str):
    from adbc_driver_sqlite import dbapi

    with dbapi.connect(f"file:{path}?mode=ro&immutable=1") as connection, connection.cursor() as cursor:
        cursor.execute(QUERY)
        return cursor.fetch_arrow_table()


def rocpd_columns(path: str) -> list[np.ndarray]:
    """How the analysis reads: through ADBC, with threads that read ranges of ids, and 32 bits per element if these suffice."""
    from rocm_perf_lab.rocpd.columns import integer_columns

    return integer_columns(sqlite3.connect(path), DISPATCH_COLUMNS, "rocpd_kernel_dispatch", "id")


READERS = {
    "Python loop over sqlite3": (python_loop, None),
    "NumPy over sqlite3": (numpy_over_sqlite3, None),
    "NumPy over apsw": (apsw_rows, "apsw"),
    "connectorx to Arrow": (connectorx_arrow, "connectorx"),
    "ADBC to Arrow": (adbc_arrow, "adbc_driver_sqlite"),
    "rocpd/columns.py": (rocpd_columns, "adbc_driver_sqlite"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--dispatches", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--read", nargs=2, metavar=("READER", "FILE"), help="read once and exit, as in each round")
    arguments = parser.parse_args()
    if arguments.read:
        READERS[arguments.read[0]][0](arguments.read[1])
        return
    database = cached(arguments.cache, arguments.dispatches, False)
    available = [name for name, (_, module) in READERS.items() if module is None or importlib.util.find_spec(module)]
    rounds = [
        {name: measure([sys.executable, __file__, "--read", name, database]) for name in available}
        for _ in range(arguments.rounds)
    ]
    print("| reader | processor, s | min | max | wall, s | memory, GB |\n|---|---|---|---|---|---|")
    for name in available:
        processor = [of[name].processor for of in rounds]
        wall, memory = (statistics.median(getattr(of[name], field) for of in rounds) for field in ("wall", "bytes"))
        spread = f"{statistics.median(processor):.2f} | {min(processor):.2f} | {max(processor):.2f}"
        print(f"| {name} | {spread} | {wall:.2f} | {memory / 1e9:.2f} |")


if __name__ == "__main__":
    main()
