"""Writes a rocpd database: the tables of schema 3 that `rocm_perf_lab.rocpd` reads."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);
CREATE TABLE rocpd_info_node(id INTEGER PRIMARY KEY, hostname TEXT);
CREATE TABLE rocpd_info_process(id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, command TEXT, extdata TEXT);
CREATE TABLE rocpd_info_agent(id INTEGER PRIMARY KEY, type TEXT, name TEXT, product_name TEXT, uuid INTEGER, extdata TEXT,
  model_name TEXT);
CREATE TABLE rocpd_info_kernel_symbol(id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER,
  accum_vgpr_count INTEGER, sgpr_count INTEGER, group_segment_size INTEGER, private_segment_size INTEGER,
  code_object_id INTEGER);
CREATE TABLE rocpd_info_pmc(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE rocpd_event(id INTEGER PRIMARY KEY, extdata TEXT, stack_id INTEGER);
CREATE TABLE rocpd_region(id INTEGER PRIMARY KEY, tid INTEGER, start INTEGER, "end" INTEGER, name_id INTEGER, event_id INTEGER);
CREATE TABLE rocpd_arg(id INTEGER PRIMARY KEY, event_id INTEGER, name TEXT, value TEXT);
CREATE TABLE rocpd_pmc_event(id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value REAL);
CREATE TABLE rocpd_kernel_dispatch(id INTEGER PRIMARY KEY, agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER,
  stream_id INTEGER, start INTEGER, "end" INTEGER, group_segment_size INTEGER, private_segment_size INTEGER,
  workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER,
  grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);
CREATE TABLE rocpd_memory_copy(id INTEGER PRIMARY KEY, name_id INTEGER, stream_id INTEGER, start INTEGER, "end" INTEGER,
  size INTEGER, src_agent_id INTEGER, dst_agent_id INTEGER, event_id INTEGER);
INSERT INTO rocpd_metadata(tag, value) VALUES ('schema_version', '3');
"""
Size = tuple[int, int, int]
UNNAMED_GPU = ("unknown", "an unnamed GPU")  # target and product, if the files do not state them


@dataclass(frozen=True)
class ImportedKernel:
    """A kernel. name: demangled. The register counts are as allocated; None if the profiler did not record them."""

    symbol: str
    name: str
    arch_vgprs: int | None = None
    accum_vgprs: int | None = None
    sgprs: int | None = None
    lds_bytes: int | None = None
    scratch_bytes: int | None = None
    code_object: int | None = None


@dataclass(frozen=True)
class ImportedDispatch:
    """A dispatch. kernel: an id from RocpdDatabase.kernel. start, end: in ns. workgroup, grid: in work-items. call: the id of
    the call that launched it.
    """

    kernel: int
    agent: int
    start: int
    end: int
    workgroup: Size
    grid: Size
    lds_bytes: int = 0
    scratch_bytes: int = 0
    queue: int | None = None
    stream: int | None = None
    call: int | None = None


class RocpdDatabase:
    """A new database at `path`, complete once `close` has been called. source: the profiler that wrote `files`, for reports."""

    def __init__(self, path: Path, source: str, files: Path):
        self._own = {"collector": source, "imported_from": str(files)}
        self._connection = sqlite3.connect(path)
        # If writing is interrupted, the file is discarded, so nothing has to be flushed to disk.
        self._connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)
        self._strings: dict[str, int] = {}
        self._counters: dict[str, int] = {}
        self._kernels: dict[ImportedKernel, int] = {}
        self._events = 0

    def process(self, pid: int = 0, command: str = "", host: str = "") -> None:
        self._insert("info_node", 1, host)
        self._insert("info_process", 1, 1, pid, command, json.dumps({"rocm_perf_lab": self._own}))

    def agent(self, id: int, type: str, target: str, product: str, properties: Mapping[str, Any], model: str = "") -> None:
        """Add an agent. type: GPU or CPU. properties: named as in rocprofv3 (cu_count, num_xcc, device_id and so on). model:
        the driver's name for the device.
        """
        self._insert("info_agent", id, type, target, product, None, json.dumps(dict(properties)), model)

    def kernel(self, symbol: ImportedKernel) -> int:
        """The id of the kernel, which is added if it is new."""
        if symbol not in self._kernels:
            self._kernels[symbol] = id = len(self._kernels) + 1
            resources = (symbol.arch_vgprs, symbol.accum_vgprs, symbol.sgprs, symbol.lds_bytes, symbol.scratch_bytes)
            self._insert("info_kernel_symbol", id, symbol.symbol, symbol.name, *resources, symbol.code_object)
        return self._kernels[symbol]

    def dispatch(self, dispatch: ImportedDispatch) -> int:
        """Add a dispatch and return the id of its event, to which counters are attached."""
        event = self._event(dispatch.call)
        row = (
            dispatch.agent,
            dispatch.kernel,
            dispatch.queue,
            dispatch.stream,
            dispatch.start,
            dispatch.end,
            dispatch.lds_bytes,
            dispatch.scratch_bytes,
        )
        self._insert("kernel_dispatch", None, *row, *dispatch.workgroup, *dispatch.grid, event)
        return event

    def counter(self, event: int, name: str, value: float) -> None:
        """Add a counter's value to an event. Readers sum values with the same name, which come from different instances."""
        if name not in self._counters:
            self._counters[name] = id = len(self._counters) + 1
            self._insert("info_pmc", id, name)
        self._insert("pmc_event", None, event, self._counters[name], value)

    def copy(
        self, name: str, start: int, end: int, agents: tuple[int | None, int | None], bytes: int | None = None,
        stream: int | None = None, call: int | None = None,
    ) -> None:  # fmt: skip
        """Add a copy. name: for example, MEMORY_COPY_HOST_TO_DEVICE. agents: source and destination."""
        row = (self._string(name), stream, start, end, bytes, *agents, self._event(call))
        self._insert("memory_copy", None, *row)

    def call(self, id: int, thread: int, name: str, start: int, end: int, arguments: Sequence[tuple[str, str]] = ()) -> None:
        """Add a call to a HIP or HSA function. arguments: (name, value) pairs."""
        event = self._event(None)
        self._insert("region", id, thread, start, end, self._string(name), event)
        for argument, value in arguments:
            self._insert("arg", None, event, argument, value)

    def close(self) -> None:
        self._connection.commit()
        self._connection.close()

    def _event(self, call: int | None) -> int:
        self._events += 1
        self._insert("event", self._events, "{}", call)
        return self._events

    def _string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = id = len(self._strings) + 1
            self._insert("string", id, text)
        return self._strings[text]

    def _insert(self, table: str, *values: object) -> None:
        self._connection.execute(f"INSERT INTO rocpd_{table} VALUES ({','.join('?' * len(values))})", values)
