"""Reads a rocpd database into a Trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd import validate
from rocm_perf_lab.rocpd.columns import integer_columns
from rocm_perf_lab.rocpd.connect import Connection, MissingTableError, connect, suffixes, table, was_interrupted
from rocm_perf_lab.rocpd.counter_values import read_counters
from rocm_perf_lab.rocpd.edges import exact_edges, inferred_edges, join_edges
from rocm_perf_lab.rocpd.estimates import read_estimates
from rocm_perf_lab.rocpd.factorize import factorize
from rocm_perf_lab.rocpd.hip_calls import read_hip_calls
from rocm_perf_lab.rocpd.host_edges import host_graph, share_a_clock
from rocm_perf_lab.rocpd.runtime_kernels import runtime_kernels
from rocm_perf_lab.rocpd.software_device_traces import software_device
from rocm_perf_lab.rocpd.trace import NO_ID, Agent, Calls, Copies, Dispatches, Edges, Kernel, Process, Trace
from rocm_perf_lab.rocpd.trace_part import WHOLE_TRACE, TracePart, restrict

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

_ROWS_AT_ONCE = 100_000  # bounds the number of live Python objects; the arrays themselves are compact


def read_trace(path: Path, suffix: str | None = None, part: TracePart = WHOLE_TRACE) -> Trace:
    """Read the trace at `path`, or a part of it. The file is a rocpd database of schema 3, from rocprofv3 or the built-in
    tracer, or converted from another profiler's file.

    suffix: the suffix of the tables to read, if the file holds several processes.

    Raises TraceError for a file that cannot be read, that holds no process (because its writer died before writing records) or
    that holds several although `suffix` is None; EmptyPartError for a part without dispatches. A whole trace without dispatches
    is valid.
    """
    path = Path(path)
    with connect(path, suffix) as connection:
        try:
            if suffix is None and (count := len(suffixes(connection))) > 1:
                raise TraceError(f"{path} contains the traces of {count} processes", "read it with `rocm-perf analyze`")
            process = _process(connection, path)
            agents = _agents(connection)
            dispatches = _dispatches(connection)
            copies = _copies(connection, agents)
            dispatches, copies = restrict(part, agents, dispatches, copies)
            calls, why_none, edges = _dependencies(connection, process, dispatches, copies)
            return Trace(
                path=path,
                process=process,
                agents=agents,
                kernels=_kernels(connection),
                dispatches=dispatches,
                copies=copies,
                edges=edges,
                counters=read_counters(connection, dispatches),
                estimates=read_estimates(connection, dispatches) if process.is_modelled else None,
                calls=calls,
                no_calls=why_none,
            )
        except MissingTableError as error:
            raise TraceError(f"{path} is not a complete rocpd database ({error})", "profile the program again") from error


def _process(connection: Connection, path: Path) -> Process:
    rows = connection.execute(
        f"""SELECT p.pid, p.command, n.hostname, p.extdata FROM "{table(connection, "info_process")}" p
            LEFT JOIN "{table(connection, "info_node")}" n ON n.id = p.nid ORDER BY p.id LIMIT 1"""
    ).fetchall()
    if not rows:
        why = "its writer was interrupted" if was_interrupted(path) else "it has a schema but no records"
        hint = "profile again; a ROCTx message that contains a quote or semicolon makes rocprofv3 fail like this"
        raise TraceError(f"the trace {path} is unfinished: {why}", hint)
    pid, command, host, extdata = rows[0]
    words = validate.text(command), validate.text(host), validate.json_object(extdata)
    return Process(validate.integer(pid, "pid"), *words, software_device(connection))


def _agents(connection: Connection) -> dict[int, Agent]:
    rows = connection.execute(
        f'SELECT id, type, name, product_name, uuid, extdata FROM "{table(connection, "info_agent")}" ORDER BY id'
    )
    return {validate.integer(row[0], "an agent's id"): _agent(*row) for row in rows}


def _agent(id: int, type: str, name: str, product: str, uuid: object, extdata: str) -> Agent:
    properties = validate.json_object(extdata)
    # rocprofv3 writes the PCI device id into the uuid column.
    pci_id = properties.get("device_id") or uuid
    pci_id = pci_id if isinstance(pci_id, int) and 0 < pci_id < 2**32 else None
    return Agent(id, validate.text(type), validate.text(name), validate.text(product), pci_id, properties)


def _kernels(connection: Connection) -> dict[int, Kernel]:
    rows = connection.execute(
        f"""SELECT id, kernel_name, display_name, arch_vgpr_count, accum_vgpr_count, sgpr_count, group_segment_size,
            private_segment_size FROM "{table(connection, "info_kernel_symbol")}" ORDER BY id"""
    )
    kernels = {row[0]: _kernel(*row) for row in rows}
    code_object = _code_objects(connection)
    return _with_origin(kernels, code_object, _uris(connection, code_object))


def _kernel(id: int, symbol: str, name: str | None, *resources: int | None) -> Kernel:
    symbol = (validate.text(symbol) or validate.text(name) or f"kernel {id}").removesuffix(".kd")
    name = (validate.text(name) or symbol).removesuffix(".kd")
    arch, accum, sgprs, lds, scratch = (validate.integer(number, "a kernel's resources") for number in resources)
    return Kernel(id, symbol, name, arch, accum, sgprs, lds, scratch)


def _code_objects(connection: Connection) -> dict[int, int | None]:
    """Kernel id -> the id of its code object; {} if the database does not contain this information."""
    symbols = table(connection, "info_kernel_symbol")
    if "code_object_id" not in {row[1] for row in connection.execute(f'PRAGMA table_info("{symbols}")')}:
        return {}
    return dict(connection.execute(f'SELECT id, code_object_id FROM "{symbols}"'))


def _uris(connection: Connection, code_object: dict[int, int | None]) -> dict[int, str]:
    """Kernel id -> where its code object was loaded from, if the database records it."""
    try:
        objects = table(connection, "info_code_object")
    except MissingTableError:
        return {}
    if not connection.execute(f'PRAGMA table_info("{objects}")').fetchall():
        return {}
    uris = {id: uri for id, uri in connection.execute(f'SELECT id, uri FROM "{objects}"') if isinstance(uri, str)}
    return {kernel: uris[code] for kernel, code in code_object.items() if code in uris}


def _with_origin(kernels: dict[int, Kernel], code_object: dict[int, int | None], uris: dict[int, str]) -> dict[int, Kernel]:
    """The same kernels, with their origins added and the HIP runtime's own kernels marked."""
    of_symbol: dict[str, set[int | None]] = {}
    for kernel in kernels.values():
        of_symbol.setdefault(kernel.symbol, set()).add(code_object.get(kernel.id))
    own = runtime_kernels(of_symbol)
    return {id: replace(kernel, is_runtime=kernel.symbol in own, uri=uris.get(id)) for id, kernel in kernels.items()}


DISPATCH_COLUMNS = (
    "id", "event_id", "kernel_id", "agent_id", "queue_id", "stream_id", "start", '"end"', "group_segment_size",
    "private_segment_size", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y",
    "grid_size_z",
)  # fmt: skip


def _dispatches(connection: Connection) -> Dispatches:
    columns = integer_columns(connection, DISPATCH_COLUMNS, f'"{table(connection, "kernel_dispatch")}"', "id")
    grid = _take_three_columns(columns, 13)
    workgroup = _take_three_columns(columns, 10)
    id, event, kernel, agent, queue, stream, start, end, lds, scratch = columns
    validate.rows("dispatches", id, start, end)
    validate.sizes("dispatches", workgroup, grid, lds, scratch)
    return Dispatches(id, event, kernel, agent, queue, stream, start, end, lds, scratch, workgroup, grid)


def _take_three_columns(columns: list[Integers], first: int) -> Integers:
    """Three columns as (n, 3). They are removed from the list, because each takes 40 MB at ten million rows."""
    three = np.stack(columns[first : first + 3], axis=1)
    del columns[first : first + 3]
    return three


COPY_COLUMNS = ("id", "event_id", "stream_id", "start", '"end"', "size", "name_id")


def _copies(connection: Connection, agents: dict[int, Agent]) -> Copies:
    names = (*COPY_COLUMNS, *_optional(connection))
    columns = integer_columns(connection, names, f'"{table(connection, "memory_copy")}"', "id")
    id, event, stream, start, end, size, name_id = columns[:7]
    validate.rows("copies", id, start, end)
    texts = _strings(connection, name_id)
    ids, index = factorize(name_id)
    gpus = [agent.id for agent in agents.values() if agent.type == "GPU"]
    agent = np.full(len(id), gpus[0] if gpus else NO_ID, np.int32)
    for side in columns[7:]:  # the destination comes last and takes precedence
        agent = np.where(np.isin(side, gpus), side, agent)
    labels = tuple(texts.get(int(name)) or "MEMORY_COPY" for name in ids)
    return Copies(id, event, agent, stream, start, end, size, index, labels)


def _optional(connection: Connection) -> list[str]:
    """Which of the columns for a copy's agents this database's copy table has."""
    columns = {row[1] for row in connection.execute(f'PRAGMA table_info("{table(connection, "memory_copy")}")')}
    return [name for name in ("src_agent_id", "dst_agent_id") if name in columns]


def _strings(connection: Connection, ids: Integers) -> dict[int, str]:
    """Id -> string, for the ids that occur in a column."""
    strings = table(connection, "string")
    by_id = {}
    for id in factorize(ids)[0].tolist():
        row = connection.execute(f'SELECT string FROM "{strings}" WHERE id = ?', (id,)).fetchone()
        if row and isinstance(row[0], str):
            by_id[id] = row[0]
    return by_id


def _dependencies(
    connection: Connection, process: Process, dispatches: Dispatches, copies: Copies
) -> tuple[Calls | None, str, Edges]:
    """The host calls (or None), the reason if there are none, and all edges."""
    edges = _edges(connection, process, dispatches, copies)
    if process.is_modelled:
        return None, "the host's time is not modelled", edges
    calls = read_hip_calls(connection, np.r_[dispatches.event_id, copies.event_id]) if len(dispatches) else None
    if calls is None:
        return None, "the trace has no HIP calls: collect with `rocprofv3 --hip-trace`", edges
    if not share_a_clock(calls, dispatches, copies):
        return None, "the HIP calls do not share a clock with the GPU: most launches come after what they launched", edges
    rows, of_host = host_graph(calls, dispatches, copies)
    return rows, "", join_edges(edges, of_host)


def _edges(connection: Connection, process: Process, dispatches: Dispatches, copies: Copies) -> Edges:
    """The dependencies that the collector recorded or, if it recorded none, dependencies inferred from the order in time."""
    if not process.has_exact_dependencies:
        return inferred_edges(dispatches, copies)
    kinds = " ".join(f"WHEN '{name}' THEN {number}" for number, name in enumerate(Edges.KINDS))
    rows = connection.execute(
        f"""SELECT e.id, json_extract(d.value, '$[0]'), CASE json_extract(d.value, '$[1]') {kinds} ELSE -1 END
            FROM "{table(connection, "event")}" e, json_each(e.extdata, '$.depends_on') d
            WHERE e.extdata LIKE '%"depends_on"%' AND json_valid(e.extdata) AND d.type = 'array'"""
    )
    chunks = [np.empty((0, 3), np.int64)]
    while chunk := rows.fetchmany(_ROWS_AT_ONCE):
        chunks.append(np.array([row for row in chunk if isinstance(row[1], int)], np.int64).reshape(-1, 3))
    return exact_edges(np.concatenate(chunks), dispatches, copies)
