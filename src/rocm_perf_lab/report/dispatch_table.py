"""The table of all dispatches and copies, with their position relative to the critical path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rocm_perf_lab.analysis.critical_path import CriticalPath
from rocm_perf_lab.analysis.dag import Dag
from rocm_perf_lab.rocpd.tables import Trace

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask

_ROWS_AT_ONCE = 1_000_000  # per row group, so that the table of a large trace never exists in memory as a whole

SCHEMA = pa.schema(
    {
        "kind": pa.dictionary(pa.int8(), pa.string()),
        "id": pa.int64(),
        "name": pa.dictionary(pa.int32(), pa.string()),
        "agent": pa.int32(),
        "queue": pa.int64(),
        "stream": pa.int64(),
        "start_ns": pa.int64(),
        "end_ns": pa.int64(),
        "workgroup": pa.int32(),
        "grid": pa.int64(),
        "bytes": pa.int64(),
        "slack_ns": pa.int64(),
        "delay_ns": pa.int64(),
        "exposed_ns": pa.int64(),
        "overlap_ns": pa.int64(),
        "on_path": pa.bool_(),
    }
)
_FROM_PATH = ("slack_ns", "delay_ns", "exposed_ns", "overlap_ns", "on_path")


@dataclass(frozen=True)
class DispatchTable:
    """One row per dispatch or copy: dispatches in id order, then copies.

    start_ns and end_ns count from the first start in the trace. stream and queue are the trace's own ids, or null.
    workgroup and grid are numbers of work-items. Without times (path is None) the columns derived from the path are null.
    """

    trace: Trace
    dag: Dag
    path: CriticalPath | None

    def __len__(self) -> int:
        return self.dag.gpu_nodes

    def table(self) -> pa.Table:
        """All rows at once."""
        return pa.Table.from_batches(self.batches(), SCHEMA)

    def write(self, path: Path) -> None:
        """Write a Parquet file. The same table gives the same bytes."""
        from pyarrow import parquet

        encodings = dict.fromkeys(("id", "start_ns", "end_ns"), "DELTA_BINARY_PACKED")
        dictionaries = ["kind", "name", "agent", "queue", "stream", "workgroup", "grid"]
        options = {"compression": "zstd", "compression_level": 1, "use_dictionary": dictionaries, "column_encoding": encodings}
        # Opened here because the path can be any bytes, whereas Arrow requires text.
        with path.open("wb") as file, parquet.ParquetWriter(file, SCHEMA, **options) as writer:
            for batch in self.batches():
                writer.write_batch(batch, row_group_size=_ROWS_AT_ONCE)

    def batches(self) -> Iterator[pa.RecordBatch]:
        on_path = np.zeros(len(self.dag), bool)
        if self.path is not None:
            on_path[self.path.nodes] = True
        split = self.dag.dispatches
        for begin, end in [*_pieces(0, split), *_pieces(split, len(self))]:
            yield self._batch(slice(begin, end), begin >= split, on_path)

    def _batch(self, rows: slice, are_copies: bool, on_path: Mask) -> pa.RecordBatch:
        dag, path, origin = self.dag, self.path, self.dag.origin
        count = rows.stop - rows.start
        symbol = dag.symbol[rows]
        columns = {
            "kind": pa.DictionaryArray.from_arrays(pa.array(np.full(count, are_copies, np.int8)), ["dispatch", "copy"]),
            "name": pa.DictionaryArray.from_arrays(pa.array(symbol), pa.array(self.dag.names, pa.string())),
            "start_ns": dag.start[rows] - origin,
            "end_ns": dag.end[rows] - origin,
            **(self._of_copies(rows) if are_copies else self._of_dispatches(rows)),
        }
        if path is not None:
            values = (path.slack_ns, np.maximum(path.delay_of_ns, 0), path.exposed_ns, path.overlap_ns, on_path)
            columns |= {name: value[rows] for name, value in zip(_FROM_PATH, values, strict=True)}
        arrays = [_array(columns.get(field.name), field.type, count) for field in SCHEMA]
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)

    def _of_dispatches(self, rows: slice) -> dict[str, Integers | pa.Array]:
        dispatches = self.trace.dispatches
        return {
            "id": dispatches.id[rows],
            "agent": _ids(dispatches.agent_id[rows]),
            "queue": _ids(dispatches.queue_id[rows]),
            "stream": _ids(dispatches.stream_id[rows]),
            "workgroup": dispatches.workgroup[rows].prod(axis=1, dtype=np.int64),
            "grid": dispatches.grid[rows].prod(axis=1, dtype=np.int64),
        }

    def _of_copies(self, rows: slice) -> dict[str, Integers | pa.Array]:
        copies, first = self.trace.copies, self.dag.dispatches
        rows = slice(rows.start - first, rows.stop - first)
        return {
            "id": copies.id[rows],
            "agent": _ids(copies.agent_id[rows]),
            "stream": _ids(copies.stream_id[rows]),
            "bytes": _ids(copies.bytes[rows]),
        }


def _ids(values: Integers) -> pa.Array:
    """Treat NO_ID, and any other negative number, as null."""
    return pa.array(values, mask=values < 0)


def _array(values: Integers | Mask | pa.Array | None, type: pa.DataType, count: int) -> pa.Array:
    if values is None:
        return pa.nulls(count, type)
    array: pa.Array = values if isinstance(values, pa.Array) else pa.array(values)
    return array if array.type == type else array.cast(type)


def _pieces(begin: int, end: int) -> list[tuple[int, int]]:
    return [(at, min(at + _ROWS_AT_ONCE, end)) for at in range(begin, end, _ROWS_AT_ONCE)]
