"""Finds the files that rocprofv3 leaves, whichever folder its version puts them in, and checks them."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path

from rocm_perf_lab.errors import CollectionError, RocmPerfError, TraceError

SUFFIX = "_results.db"


def adopt(folder: Path, database: Path, program: str) -> None:
    """Find the database that rocprofv3 wrote under `folder` and move it to `database`.

    If several processes left databases, `database` comes from the first process that launched a kernel, and the others are put
    next to it. Raises CollectionError if there is no database, or if one is incomplete.
    """
    written = sorted(folder.glob(f"**/*{SUFFIX}"))  # Versions differ in whether a pass gets a folder of its own.
    if not written:
        raise CollectionError(
            f"rocprofv3 left no database for {program}",
            "check that the program launches GPU kernels; rocprofv3 loses the data of processes that end by "
            "_exit, quick_exit or "
            "exec (as those of Python's multiprocessing do): try --no-rocprof, whose tracer keeps it",
        )
    if any(folder.glob(f"**/*{SUFFIX}-journal")):  # Happens when a ROCTx message contains a quote or a semicolon.
        raise CollectionError(
            f"rocprofv3 stopped while it wrote the database of {program}",
            "try --no-rocprof, which uses the built-in tracer",
        )
    first = min(written, key=_order) if len(written) > 1 else written[0]
    for other in written:
        process = other.name.removesuffix(SUFFIX)
        other.replace(database if other == first else database.with_name(f"{database.stem}_{process}.db"))


def _order(database: Path) -> tuple[bool, int, str]:
    """Sort key: processes with kernels first, then by start time."""
    from rocm_perf_lab.rocpd.connect import MissingTableError, connect, table

    try:
        with connect(database) as connection:
            dispatches, processes = table(connection, "kernel_dispatch"), table(connection, "info_process")
            (launched,) = connection.execute(f'SELECT EXISTS (SELECT 1 FROM "{dispatches}")').fetchone()
            (start,) = connection.execute(f'SELECT MIN(start) FROM "{processes}"').fetchone()
    except (RocmPerfError, MissingTableError):
        return True, 0, database.name
    return not launched, start or 0, database.name


def counters_in(database: Path) -> set[str]:
    """The counters that have values in a database. Raises TraceError if the database is damaged."""
    from rocm_perf_lab.rocpd.connect import MissingTableError, connect, table

    with connect(database) as connection:
        (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if state != "ok":
            raise TraceError(f"{database.name} is damaged ({state})", "profile the program again")
        try:
            rows = connection.execute(
                f'SELECT name FROM "{table(connection, "info_pmc")}" WHERE id IN '
                f'(SELECT DISTINCT pmc_id FROM "{table(connection, "pmc_event")}")'
            )
            return {str(name) for (name,) in rows}
        except MissingTableError as error:
            raise TraceError(f"{database.name} is incomplete ({error})", "profile the program again") from error


def holds_thread_trace(folder: Path) -> bool:
    """Whether any instruction was traced: there must be an output folder, and a stats file with a row."""
    return any(folder.glob("ui_output_agent_*")) and any(map(_has_a_row, folder.glob("stats_*.csv")))


def is_empty_thread_trace(folder: Path) -> bool:
    """Whether there are stats files but no rows, which is normal if no wave ran on the traced compute unit."""
    stats = list(folder.glob("stats_*.csv"))
    return bool(stats) and not any(map(_has_a_row, stats))


def _has_a_row(stats: Path) -> bool:
    with stats.open(newline="", errors="replace") as file:
        return len([*islice(csv.reader(file), 2)]) == 2


def why_no_thread_trace(folder: Path, cu: int) -> str:
    """Why a folder has no thread trace."""
    if is_empty_thread_trace(folder):
        return f"the thread trace is empty: no wave of the kernel ran on compute unit {cu} of the traced shader engines"
    return "no thread trace was written"
