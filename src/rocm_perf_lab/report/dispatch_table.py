"""The table of all dispatches and copies, with their place on the critical path."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from rocm_perf_lab.analysis.critical_path import CriticalPath
from rocm_perf_lab.analysis.dag import Dag
from rocm_perf_lab.rocpd.tables import Trace


def dispatch_table(trace: Trace, dag: Dag, path: CriticalPath | None) -> pa.Table:
    """One row per node: dispatches in the order of their ids, then copies.

    start_ns and end_ns count from the first start of the trace. stream and queue are the trace's own ids, null for none.
    Without times (path is None) slack, delay, exposed and on_path are null.
    """
    origin = int(dag.start.min()) if len(dag) else 0
    copies = len(trace.copies)
    columns = {
        "kind": pa.array(["dispatch"] * dag.dispatches + ["copy"] * copies).dictionary_encode(),
        "id": pa.array(np.r_[trace.dispatches.id, trace.copies.id]),
        "name": pa.DictionaryArray.from_arrays(pa.array(dag.symbol, pa.int32()), pa.array(dag.names, pa.string())),
        "agent": _ids(np.r_[trace.dispatches.agent_id, np.full(copies, -1)]),
        "queue": _ids(np.r_[trace.dispatches.queue_id, np.full(copies, -1)]),
        "stream": _ids(np.r_[trace.dispatches.stream_id, trace.copies.stream_id]),
        "start_ns": pa.array(dag.start - origin),
        "end_ns": pa.array(dag.end - origin),
        "bytes": _ids(np.r_[np.full(dag.dispatches, -1), trace.copies.bytes]),
    }
    return pa.table(columns | _on_path(dag, path))


def _on_path(dag: Dag, path: CriticalPath | None) -> dict[str, pa.Array]:
    if path is None:
        numbers = {name: pa.nulls(len(dag), pa.int64()) for name in ("slack_ns", "delay_ns", "exposed_ns")}
        return numbers | {"on_path": pa.nulls(len(dag), pa.bool_())}
    on_path = np.zeros(len(dag), bool)
    on_path[path.nodes] = True
    return {
        "slack_ns": pa.array(path.slack_ns),
        "delay_ns": pa.array(path.delay_of_ns),
        "exposed_ns": pa.array(path.exposed_ns),
        "on_path": pa.array(on_path),
    }


def _ids(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=values < 0)
