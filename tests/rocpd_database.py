"""Writes small rocpd databases for tests: the tables of schema 3 that a reader needs, filled with what a test says."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TABLES = """
CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);
CREATE TABLE rocpd_info_node(id INTEGER PRIMARY KEY, hostname TEXT);
CREATE TABLE rocpd_info_process(id INTEGER PRIMARY KEY, nid INTEGER, pid INTEGER, command TEXT, extdata TEXT);
CREATE TABLE rocpd_info_agent(id INTEGER PRIMARY KEY, type TEXT, name TEXT, product_name TEXT, uuid INTEGER, extdata TEXT);
CREATE TABLE rocpd_info_kernel_symbol(id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER,
  accum_vgpr_count INTEGER, sgpr_count INTEGER, group_segment_size INTEGER, private_segment_size INTEGER,
  code_object_id INTEGER);
CREATE TABLE rocpd_info_pmc(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE rocpd_event(id INTEGER PRIMARY KEY, extdata TEXT, stack_id INTEGER DEFAULT 0);
CREATE TABLE rocpd_region(id INTEGER PRIMARY KEY, tid INTEGER, start INTEGER, "end" INTEGER, name_id INTEGER, event_id INTEGER);
CREATE TABLE rocpd_arg(id INTEGER PRIMARY KEY, event_id INTEGER, position INTEGER, name TEXT, value TEXT);
CREATE TABLE rocpd_pmc_event(id INTEGER PRIMARY KEY, event_id INTEGER, pmc_id INTEGER, value REAL);
CREATE TABLE rocpd_kernel_dispatch(id INTEGER PRIMARY KEY, agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER,
  stream_id INTEGER, start INTEGER, "end" INTEGER, private_segment_size INTEGER, group_segment_size INTEGER,
  workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER,
  grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);
CREATE TABLE rocpd_memory_copy(id INTEGER PRIMARY KEY, name_id INTEGER, stream_id INTEGER, start INTEGER, "end" INTEGER,
  size INTEGER, event_id INTEGER);
INSERT INTO rocpd_metadata(tag, value) VALUES ('schema_version', '3');
INSERT INTO rocpd_info_node VALUES (1, 'host');
"""

MODELLED = {
    "collector": "builtin-tracer",
    "timing": "modelled",
    "device": "software gfx942",
    "timing_parameters": "f00d",
    "dependencies": "exact",
}


@dataclass
class Dispatch:
    """One dispatch. depends_on: (index of an earlier element of `work`, kind)."""

    kernel: str
    start: int
    end: int
    queue: int = 1
    stream: int = 1
    workgroup: int = 256
    grid: int = 256
    lds: int = 0
    depends_on: list[tuple[int, str]] = field(default_factory=list)
    counters: dict[str, list[float]] = field(default_factory=dict)  # one value per hardware instance
    call: int | None = None  # index into `calls` of the call that launched it
    agent: int = 1


@dataclass
class Copy:
    start: int
    end: int
    size: int = 4096
    stream: int = 1
    depends_on: list[tuple[int, str]] = field(default_factory=list)
    call: int | None = None


@dataclass
class Call:
    """A HIP call. stream, event: handles passed to it."""

    name: str
    start: int
    end: int
    thread: int = 7
    stream: str | None = None
    event: str | None = None


_AGENTS = {
    "gfx942": {"cu_count": 304, "num_xcc": 8, "max_engine_clk_fcompute": 2100},
    "gfx90a": {"cu_count": 110, "num_xcc": 1, "max_engine_clk_fcompute": 1700},
    "gfx950": {"cu_count": 256, "num_xcc": 8, "max_engine_clk_fcompute": 2400},
    "gfx1030": {"cu_count": 72, "num_xcc": 1, "max_engine_clk_fcompute": 2250},
}


def write(
    path: Path,
    work: list[Dispatch | Copy],
    own: dict[str, Any] | None = None,
    pci_id: int = 0x74A1,
    target: str = "gfx942",
    calls: Sequence[Call] = (),
) -> Path:
    """A trace of `work` on an MI300X; `own` becomes process.extdata.rocm_perf_lab. Event ids are index + 1."""
    connection = sqlite3.connect(path)
    # One transaction, and nothing waits for the disk.
    connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; {_TABLES}")
    execute = connection.execute
    extdata = {"rocm_perf_lab": own} if own else {}
    execute("INSERT INTO rocpd_info_process VALUES (7, 1, 7, './app', ?)", (json.dumps(extdata),))
    agent = _AGENTS[target] | {"device_id": pci_id}
    execute("INSERT INTO rocpd_info_agent VALUES (1, 'GPU', ?, 'An MI300X', ?, ?)", (target, pci_id, json.dumps(agent)))
    execute("INSERT INTO rocpd_string VALUES (1, 'MEMORY_COPY_HOST_TO_DEVICE')")
    kernels = sorted({item.kernel for item in work if isinstance(item, Dispatch)})
    for number, name in enumerate(kernels, start=1):
        row = (number, f"{name}.kd", name, 32, 0, 16, 0, 0, 1 if name.startswith("__amd_rocclr_") else 2)
        execute("INSERT INTO rocpd_info_kernel_symbol VALUES (?,?,?,?,?,?,?,?,?)", row)
    counters = sorted({name for item in work if isinstance(item, Dispatch) for name in item.counters})
    connection.executemany("INSERT INTO rocpd_info_pmc VALUES (?, ?)", list(enumerate(counters, start=1)))
    for event, item in enumerate(work, start=1):
        depends = [[index + 1, kind] for index, kind in item.depends_on]
        extdata = json.dumps({"depends_on": depends} if own else {})
        execute("INSERT INTO rocpd_event VALUES (?, ?, ?)", (event, extdata, 0 if item.call is None else item.call + 1))
        if isinstance(item, Copy):
            execute(
                "INSERT INTO rocpd_memory_copy VALUES (?, 1, ?, ?, ?, ?, ?)",
                (event, item.stream, item.start, item.end, item.size, event),
            )
            continue
        shape = (item.workgroup, 1, 1, item.grid, 1, 1)
        execute(
            "INSERT INTO rocpd_kernel_dispatch VALUES (?,?,?,?,?,?,?,0,?,?,?,?,?,?,?,?)",
            (event, item.agent, kernels.index(item.kernel) + 1, item.queue, item.stream, item.start, item.end, item.lds)
            + (*shape, event),
        )
        for name, instances in item.counters.items():
            rows = [(event, counters.index(name) + 1, value) for value in instances]
            connection.executemany("INSERT INTO rocpd_pmc_event(event_id, pmc_id, value) VALUES (?, ?, ?)", rows)
    _write_calls(connection, calls, len(work))
    connection.commit()
    connection.close()
    return path


def _write_calls(connection: sqlite3.Connection, calls: Sequence[Call], events: int) -> None:
    names = sorted({call.name for call in calls})
    connection.executemany("INSERT INTO rocpd_string VALUES (?, ?)", list(enumerate(names, start=2)))
    for id, call in enumerate(calls, start=1):
        event = events + id
        connection.execute("INSERT INTO rocpd_event VALUES (?, '{}', ?)", (event, id))
        row = (id, call.thread, call.start, call.end, names.index(call.name) + 2, event)
        connection.execute("INSERT INTO rocpd_region VALUES (?,?,?,?,?,?)", row)
        handles = [(event, name, value) for name in ("stream", "event") if (value := getattr(call, name)) is not None]
        connection.executemany("INSERT INTO rocpd_arg(event_id, name, value) VALUES (?, ?, ?)", handles)
