"""The CSV files of rocprofv3 (`--output-format csv`), from ROCm 6.2 to 7.

rocprofv3 writes one file per kind of record, all with the same prefix: PREFIX_kernel_trace.csv, PREFIX_counter_collection.csv,
PREFIX_memory_copy_trace.csv, PREFIX_hip_api_trace.csv, PREFIX_hsa_api_trace.csv, PREFIX_agent_info.csv. These files lack the
sizes of copies, mangled names, the command line and the host; the counter file gives the grid's number of work-items instead of
its shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.importing.csv_rows import Row, header, rows
from rocm_perf_lab.importing.database import UNNAMED_GPU, ImportedDispatch, ImportedKernel, RocpdDatabase, Size

SOURCE = "rocprofv3 (CSV)"
# The columns that identify each kind of file, whatever its name.
_COLUMNS = {
    "kernels": {"Kernel_Name", "Kernel_Id", "Start_Timestamp", "Workgroup_Size_X"},
    "counters": {"Kernel_Name", "Dispatch_Id", "Counter_Name", "Counter_Value"},
    "copies": {"Direction", "Source_Agent_Id", "Destination_Agent_Id", "Start_Timestamp"},
    "calls": {"Domain", "Function", "Correlation_Id", "Start_Timestamp"},
    "agents": {"Node_Id", "Agent_Type", "Cu_Count"},
}
_KIND_IN_NAME = re.compile(r"_(kernel_trace|counter_collection|memory_copy_trace|\w+_api_trace|agent_info)\.csv(\.gz)?$")


@dataclass
class Files:
    """The files of one process, grouped by kind."""

    name: str
    kernels: list[Path] = field(default_factory=list)
    counters: list[Path] = field(default_factory=list)
    copies: list[Path] = field(default_factory=list)
    calls: list[Path] = field(default_factory=list)
    agents: list[Path] = field(default_factory=list)


def kind_of(path: Path) -> str | None:
    """Which kind of rocprofv3 file this is; None for any other CSV file."""
    names = set(header(path))
    return next((kind for kind, columns in _COLUMNS.items() if columns <= names), None)


def processes(paths: Iterable[Path]) -> list[Files]:
    """The processes that wrote these files, identified by the prefix of the file names, except processes without dispatches."""
    by_prefix: dict[tuple[Path, str], Files] = {}
    for path in paths:
        if kind := kind_of(path):
            prefix = _KIND_IN_NAME.sub("", path.name)
            files = by_prefix.setdefault((path.parent, prefix), Files(prefix or path.parent.name))
            getattr(files, kind).append(path)
    return [files for files in by_prefix.values() if files.kernels or files.counters]


def siblings(path: Path) -> list[Path]:
    """The files with the same prefix, this one included."""
    prefix = _KIND_IN_NAME.sub("", path.name)
    return sorted(sibling for sibling in path.parent.glob("*.csv*") if _KIND_IN_NAME.sub("", sibling.name) == prefix) or [path]


def convert(files: Files, named_path: Path, database: Path) -> list[str]:
    """Convert one process, and return what such files leave out. named_path: what the user named. Raises TraceError."""
    into = RocpdDatabase(database, SOURCE, named_path)
    try:
        into.process(_pid(files))
        agents = _agents(files, into)
        _launches(files, agents, into)
        for row in _all_rows(files.copies):
            _copy(row, agents, into)
        seen: set[int] = set()
        for row in _all_rows(files.calls):
            _call(row, into, seen)
    finally:
        into.close()
    return [*_missing_data(files)]


def _missing_data(files: Files) -> Iterator[str]:
    yield "CSV files contain LDS sizes rounded up to what is allocated"
    if not files.kernels:
        yield "without *_kernel_trace.csv, grids and workgroups are known as numbers of work-items, without their shape"
    if not files.agents:
        yield "without *_agent_info.csv, the GPU is not known"
    if files.copies:
        yield "CSV files do not contain the sizes of copies"


def _all_rows(paths: Iterable[Path]) -> Iterator[Row]:
    for path in paths:
        yield from rows(path)


def _pid(files: Files) -> int:
    row = next(_all_rows([*files.counters, *files.calls]), None)
    return (row.optional_integer("Process_Id") if row else None) or 0


# ---- agents ----

_NAMES = {"Name", "Product_Name", "Agent_Type", "Vendor_Name", "Model_Name", "Node_Id", "Uuid"}


def _agents(files: Files, into: RocpdDatabase) -> dict[int, str]:
    """Add the agents and return a mapping from node to type. If there are none, add an unnamed GPU and return {}."""
    types = {}
    for path in files.agents:
        named = header(path)
        columns = [name for name in named if name not in _NAMES and name]
        for row in rows(path):
            node, type = row.integer("Node_Id"), row.text("Agent_Type")
            types[node] = type
            properties = {name.lower(): value for name in columns if (value := _property(row, name)) is not None}
            model = row.text("Model_Name") if "Model_Name" in named else ""
            into.agent(node, type, row.text("Name"), row.text("Product_Name"), properties, model)
    if not types:  # no file says which GPU it was
        into.agent(1, "GPU", *UNNAMED_GPU, {})
    return types


def _property(row: Row, name: str) -> int | None:
    try:
        return row.optional_integer(name)
    except TraceError:
        return None  # text, which the analysis does not use


def _agent(row: Row, agents: dict[int, str], *names: str) -> int | None:
    """The node of an agent, written 'Agent 1' (in old versions '1'); None if it is not in `agents`, 1 if `agents` is empty."""
    number = re.search(r"\d+$", row.text(*names))
    if not agents:
        return 1
    return int(number[0]) if number and int(number[0]) in agents else None


def _gpu(row: Row, agents: dict[int, str]) -> int:
    agent = _agent(row, agents, "Agent_Id")
    return agent if agent is not None else next((node for node, type in agents.items() if type == "GPU"), 1)


# ---- dispatches ----


def _launches(files: Files, agents: dict[int, str], into: RocpdDatabase) -> None:
    """Add the dispatches in the kernel trace, the dispatches that only the counter file contains, and the counters of both."""
    events = {}
    for row in _all_rows(files.kernels):
        event = into.dispatch(_launch(row, agents, into, _size(row, "Workgroup_Size"), _size(row, "Grid_Size")))
        if (id := row.optional_integer("Dispatch_Id")) is not None:
            events[id] = event
    for row in _all_rows(files.counters):
        id = row.integer("Dispatch_Id")
        if id not in events:
            shape = (row.integer("Workgroup_Size"), 1, 1), (row.integer("Grid_Size"), 1, 1)
            events[id] = into.dispatch(_launch(row, agents, into, *shape))
        into.counter(events[id], row.text("Counter_Name"), row.number("Counter_Value"))


def _launch(row: Row, agents: dict[int, str], into: RocpdDatabase, workgroup: Size, grid: Size) -> ImportedDispatch:
    name = row.text("Kernel_Name")
    registers = (row.optional_integer(column) for column in ("VGPR_Count", "Accum_VGPR_Count", "SGPR_Count"))
    return ImportedDispatch(
        kernel=into.kernel(ImportedKernel(name, name, *registers)),
        agent=_gpu(row, agents),
        start=row.integer("Start_Timestamp"),
        end=row.integer("End_Timestamp"),
        workgroup=workgroup,
        grid=grid,
        lds_bytes=row.optional_integer("LDS_Block_Size", "Group_Segment_Size") or 0,
        scratch_bytes=row.optional_integer("Scratch_Size", "Private_Segment_Size") or 0,
        queue=row.optional_integer("Queue_Id"),
        stream=row.optional_integer("Stream_Id"),
        call=row.optional_integer("Correlation_Id"),
    )


def _size(row: Row, name: str) -> Size:
    return row.integer(f"{name}_X"), row.integer(f"{name}_Y"), row.integer(f"{name}_Z")


# ---- copies and calls ----


def _copy(row: Row, agents: dict[int, str], into: RocpdDatabase) -> None:
    direction = row.text("Direction")
    into.copy(
        direction if direction.startswith("MEMORY_COPY") else f"MEMORY_COPY_{direction}",
        row.integer("Start_Timestamp"),
        row.integer("End_Timestamp"),
        (_agent(row, agents, "Source_Agent_Id"), _agent(row, agents, "Destination_Agent_Id")),
        stream=row.optional_integer("Stream_Id"),
        call=row.optional_integer("Correlation_Id"),
    )


def _call(row: Row, into: RocpdDatabase, seen: set[int]) -> None:
    id = row.integer("Correlation_Id")
    if id in seen:
        return
    seen.add(id)
    into.call(id, row.integer("Thread_Id"), row.text("Function"), row.integer("Start_Timestamp"), row.integer("End_Timestamp"))
