"""Turns a database of the built-in tracer into what rocprofv3 would have written for the same run."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

# rocprofv3 writes a row for every instance of a counter's block on gfx942: 8 XCDs with 4 shader engines each.
INSTANCES = {"SQ": 32, "GRBM": 8}
SLOWER = 3  # how much longer a kernel takes while counters are collected: those times must never be used


def as_rocprofv3_writes_it(
    path: Path, *, counters: list[str], pmc: bool, hip: bool, copies: bool, clock: bool, scale: float = 1.0
) -> int:
    """Changes the database in place and returns the process id. Only what was requested stays in it.

    scale: the fraction of the counts that is reported.
    """
    connection = sqlite3.connect(path)
    tables = dict(_base_tables(connection))
    execute = connection.execute
    extdata = '{"output_path":"","kernel_rename":false,"group_by_queue":false,"rocpd_output":true}'
    execute(f'UPDATE "{tables["info_process"]}" SET extdata = ?', (extdata,))
    execute(f"UPDATE \"{tables['event']}\" SET extdata = '{{}}'")
    execute(f"UPDATE \"{tables['info_agent']}\" SET model_name = 'AMD Instinct MI300X' WHERE type = 'GPU'")
    if pmc or not hip:
        execute(f'DELETE FROM "{tables["arg"]}"')
        execute(f'DELETE FROM "{tables["region"]}"')
    if pmc or not copies:
        execute(f'DELETE FROM "{tables["memory_copy"]}"')
    if pmc:
        execute(f'UPDATE "{tables["kernel_dispatch"]}" SET "end" = start + {SLOWER} * ("end" - start)')
    if not clock:
        execute(f'UPDATE "{tables["kernel_dispatch"]}" SET "end" = start')
    _keep_counters(connection, tables, counters, scale)
    (pid,) = execute(f'SELECT pid FROM "{tables["info_process"]}"').fetchone()
    connection.commit()
    execute("VACUUM")
    connection.close()
    return pid


def _base_tables(connection: sqlite3.Connection):
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
        if match := re.fullmatch(r"rocpd_(\w+?)_[0-9a-f]{8}(_[0-9a-f]+)+", name):
            yield match[1], name


def _keep_counters(connection: sqlite3.Connection, tables: dict[str, str], counters: list[str], scale: float) -> None:
    execute = connection.execute
    marks = ", ".join("?" * len(counters))
    pmc, event = tables["info_pmc"], tables["pmc_event"]
    rows = execute(
        f'SELECT e.event_id, e.pmc_id, p.name, SUM(e.value) FROM "{event}" e JOIN "{pmc}" p ON p.id = e.pmc_id '
        f"WHERE p.name IN ({marks}) GROUP BY 1, 2 ORDER BY 1, 2", counters
    ).fetchall()  # fmt: skip
    execute(f'DELETE FROM "{event}"')
    execute(f'DELETE FROM "{pmc}" WHERE name NOT IN ({marks})', counters)
    for event_id, pmc_id, name, value in rows:
        instances = 1 if name.endswith("_sum") else INSTANCES.get(name.split("_")[0], 1)
        value *= scale
        even = value // instances
        parts = [even] * (instances - 1) + [value - even * (instances - 1)]
        connection.executemany(
            f'INSERT INTO "{event}" (event_id, pmc_id, value) VALUES (?, ?, ?)', [(event_id, pmc_id, part) for part in parts]
        )


def kernels(path: Path) -> list[tuple[str, str]]:
    """(symbol without '.kd', name that rocprofv3 filters by) for the kernels that were dispatched."""
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT DISTINCT kernel_name, display_name FROM rocpd_info_kernel_symbol s "
        "JOIN rocpd_kernel_dispatch d ON d.kernel_id = s.id"
    ).fetchall()
    connection.close()
    return [(symbol.removesuffix(".kd"), name) for symbol, name in rows]


def iterations(words: list[str]) -> tuple[int, int]:
    """First and last of a --kernel-iteration-range such as "[3]" or "[1-2]"."""
    numbers = [int(number) for number in re.findall(r"\d+", " ".join(words))]
    return numbers[0], numbers[-1]
