"""Reads a rocpd database into a Trace."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd.connect import MissingTable, connect, table, was_interrupted
from rocm_perf_lab.rocpd.edges import exact_edges, inferred_edges
from rocm_perf_lab.rocpd.tables import NO_ID, Agent, Copies, Dispatches, Edges, Kernel, Process, Trace

_ROWS_AT_ONCE = 100_000  # bounds the Python objects alive at a time; the arrays themselves are compact


def read_trace(path: Path) -> Trace:
    """The whole trace at `path`, a rocpd database of schema 3 by rocprofv3 or by the built-in tracer.

    Raises TraceError for a file that cannot be read or that holds no process (its writer died before writing records).
    A trace without dispatches is a valid one.
    """
    path = Path(path)
    with connect(path) as connection:
        try:
            process = _process(connection, path)
            dispatches = _dispatches(connection)
            copies = _copies(connection)
            return Trace(
                path=path,
                process=process,
                agents=_agents(connection),
                kernels=_kernels(connection),
                dispatches=dispatches,
                copies=copies,
                edges=_edges(connection, process, dispatches, copies),
                counters=_counters(connection, dispatches),
            )
        except MissingTable as error:
            raise TraceError(f"{path} is not a complete rocpd database ({error})", "profile the program again") from error


def _process(connection: sqlite3.Connection, path: Path) -> Process:
    rows = connection.execute(
        f"""SELECT p.pid, p.command, n.hostname, p.extdata FROM "{table(connection, "info_process")}" p
            LEFT JOIN "{table(connection, "info_node")}" n ON n.id = p.nid ORDER BY p.id LIMIT 1"""
    ).fetchall()
    if not rows:
        why = "its writer was interrupted" if was_interrupted(path) else "it has a schema but no records"
        mend = "profile again; a ROCTx message with a quote or semicolon in it makes rocprofv3 fail like this"
        raise TraceError(f"the trace {path} is unfinished: {why}", mend)
    pid, command, host, extdata = rows[0]
    return Process(int(pid), command or "", host or "", _json_object(extdata))


def _agents(connection: sqlite3.Connection) -> dict[int, Agent]:
    rows = connection.execute(
        f'SELECT id, type, name, product_name, uuid, extdata FROM "{table(connection, "info_agent")}" ORDER BY id'
    )
    return {row[0]: _agent(*row) for row in rows}


def _agent(id: int, type: str, name: str, product: str, uuid: Any, extdata: str) -> Agent:
    properties = _json_object(extdata)
    # rocprofv3 writes the PCI device id into the column uuid.
    pci_id = properties.get("device_id") or uuid
    return Agent(id, type, name or "", product or "", pci_id if isinstance(pci_id, int) and pci_id else None, properties)


def _kernels(connection: sqlite3.Connection) -> dict[int, Kernel]:
    rows = connection.execute(
        f"""SELECT id, kernel_name, display_name, arch_vgpr_count, accum_vgpr_count, sgpr_count, group_segment_size,
            private_segment_size FROM "{table(connection, "info_kernel_symbol")}" ORDER BY id"""
    )
    return {row[0]: _kernel(*row) for row in rows}


def _kernel(id: int, symbol: str, name: str | None, *numbers: int | None) -> Kernel:
    symbol = (symbol or name or f"kernel {id}").removesuffix(".kd")
    return Kernel(id, symbol, (name or symbol).removesuffix(".kd"), *(number or 0 for number in numbers))


def _dispatches(connection: sqlite3.Connection) -> Dispatches:
    rows = _integers(
        connection,
        f"""SELECT id, event_id, kernel_id, agent_id, queue_id, stream_id, start, "end", group_segment_size,
            private_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y,
            grid_size_z FROM "{table(connection, "kernel_dispatch")}" ORDER BY id""",
        16,
    )
    return Dispatches(*rows.T[:10], workgroup=rows[:, 10:13], grid=rows[:, 13:16])


def _copies(connection: sqlite3.Connection) -> Copies:
    copies = table(connection, "memory_copy")
    rows = _integers(connection, f'SELECT id, event_id, stream_id, start, "end", size FROM "{copies}" ORDER BY id', 6)
    names = connection.execute(
        f'SELECT s.string FROM "{copies}" c LEFT JOIN "{table(connection, "string")}" s ON s.id = c.name_id ORDER BY c.id'
    )
    return Copies(*rows.T, name=[row[0] or "MEMORY_COPY" for row in names])


def _edges(connection: sqlite3.Connection, process: Process, dispatches: Dispatches, copies: Copies) -> Edges:
    """The dependencies that the collector recorded; where it records none, those that order in time suggests."""
    if not process.has_exact_dependencies:
        return inferred_edges(dispatches, copies)
    rows = connection.execute(
        f"""SELECT id, extdata FROM "{table(connection, "event")}" WHERE extdata LIKE '%"depends_on"%' ORDER BY id"""
    )
    return exact_edges(((event, _json_object(extdata)) for event, extdata in rows), dispatches, copies)


def _counters(connection: sqlite3.Connection, dispatches: Dispatches) -> dict[str, np.ndarray]:
    """Counter values per dispatch, summed over the hardware instances (rocprofv3 stores one row for each)."""
    rows = connection.execute(
        f"""SELECT p.name, e.event_id, SUM(e.value) FROM "{table(connection, "pmc_event")}" e
            JOIN "{table(connection, "info_pmc")}" p ON p.id = e.pmc_id GROUP BY p.name, e.event_id ORDER BY p.name"""
    ).fetchall()
    row_of_event = {int(event): row for row, event in enumerate(dispatches.event_id)} if rows else {}
    counters: dict[str, np.ndarray] = {}
    for name, event, value in rows:
        if event in row_of_event and value is not None:
            column = counters.setdefault(name, np.full(len(dispatches), np.nan))
            column[row_of_event[event]] = value
    return counters


def _integers(connection: sqlite3.Connection, query: str, width: int) -> np.ndarray:
    """The rows of a query of integer columns as an int64 array (n, width); NULL becomes NO_ID."""
    cursor = connection.execute(query)
    chunks = [np.empty((0, width), np.int64)]
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        try:
            chunks.append(np.array(rows, np.int64))
        except TypeError:  # a NULL somewhere
            chunks.append(np.array([[NO_ID if value is None else value for value in row] for row in rows], np.int64))
    return np.concatenate(chunks)


def _json_object(text: str | None) -> dict[str, Any]:
    """A JSON column's object. Anything else in it is treated as absent: the column is a free-form extension."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
