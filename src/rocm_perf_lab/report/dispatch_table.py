"""The table of all dispatches and copies, and how each relates to the critical path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rocm_perf_lab.analysis.critical_path import CriticalPath
from rocm_perf_lab.analysis.dag import Dag
from rocm_perf_lab.rocpd.trace import Trace

if TYPE_CHECKING:
    import pyarrow as pa

    from rocm_perf_lab.arrays import Integers, Mask

_ROWS_AT_ONCE = 1_000_000  # size of a row group, so that the table of a large trace is never in memory as a whole

_TEXT = "text"
TYPES = {
    "kind": _TEXT,
    "id": "int64",
    "name": _TEXT,
    "agent": "int32",
    "queue": "int64",
    "stream": "int64",
    "start_ns": "int64",
    "end_ns": "int64",
    "workgroup": "int32",
    "grid": "int64",
    "bytes": "int64",
    "slack_ns": "int64",
    "delay_ns": "int64",
    "exposed_ns": "int64",
    "overlap_ns": "int64",
    "on_path": "bool",
}
"""Maps each column to "text" or to the name of its Arrow type."""
_KINDS = ("dispatch", "copy")
_FROM_PATH = ("slack_ns", "delay_ns", "exposed_ns", "overlap_ns", "on_path")


class Column(NamedTuple):
    """values: shape (rows,). unknown: shape (rows,), true where the value is null; None if there are no nulls. texts: the
    strings into which the values are indices.
    """

    values: Integers | Mask
    unknown: Mask | None = None
    texts: Sequence[str] | None = None


Piece = dict[str, Column | None]
"""Some rows: every column of TYPES, in that order; None for a column that is null throughout."""


@dataclass(frozen=True)
class DispatchTable:
    """One row per dispatch or copy: dispatches in id order, then copies.

    start_ns and end_ns count from the first start in the trace. stream and queue are the trace's own ids, or null.
    workgroup and grid are sizes in work-items. Without times (path is None), the columns derived from the path are null.
    """

    trace: Trace
    dag: Dag
    path: CriticalPath | None

    def __len__(self) -> int:
        return self.dag.gpu_nodes

    def table(self) -> pa.Table:
        """All rows at once. Raises UnavailableError without pyarrow."""
        from rocm_perf_lab.report.arrow_table import arrow_table

        return arrow_table(self)

    def pieces(self) -> Iterator[tuple[int, Piece]]:
        """Yield the table in pieces of at most _ROWS_AT_ONCE rows. Each piece is a pair: its row count and its columns."""
        on_path = np.zeros(len(self.dag), bool)
        if self.path is not None:
            on_path[self.path.nodes] = True
        split = self.dag.dispatches
        for begin, end in [*_ranges(0, split), *_ranges(split, len(self))]:
            yield end - begin, self._piece(slice(begin, end), begin >= split, on_path)

    def _piece(self, rows: slice, are_copies: bool, on_path: Mask) -> Piece:
        dag, path, origin = self.dag, self.path, self.dag.origin
        columns = {
            "kind": Column(np.full(rows.stop - rows.start, are_copies, np.int8), texts=_KINDS),
            "name": Column(dag.name_index[rows], texts=dag.names),
            "start_ns": Column(dag.start[rows] - origin),
            "end_ns": Column(dag.end[rows] - origin),
            **(self._of_copies(rows) if are_copies else self._of_dispatches(rows)),
        }
        if path is not None:
            values = (path.slack_ns, np.maximum(path.delay_of_ns, 0), path.exposed_ns, path.overlap_ns, on_path)
            columns |= {name: Column(value[rows]) for name, value in zip(_FROM_PATH, values, strict=True)}
        return {name: columns.get(name) for name in TYPES}

    def _of_dispatches(self, rows: slice) -> dict[str, Column]:
        dispatches = self.trace.dispatches
        return {
            "id": Column(dispatches.id[rows]),
            "agent": _ids(dispatches.agent_id[rows]),
            "queue": _ids(dispatches.queue_id[rows]),
            "stream": _ids(dispatches.stream_id[rows]),
            "workgroup": Column(dispatches.workgroup[rows].prod(axis=1, dtype=np.int64)),
            "grid": Column(dispatches.grid[rows].prod(axis=1, dtype=np.int64)),
        }

    def _of_copies(self, rows: slice) -> dict[str, Column]:
        copies, first = self.trace.copies, self.dag.dispatches
        rows = slice(rows.start - first, rows.stop - first)
        return {
            "id": Column(copies.id[rows]),
            "agent": _ids(copies.agent_id[rows]),
            "stream": _ids(copies.stream_id[rows]),
            "bytes": _ids(copies.bytes[rows]),
        }


def _ids(values: Integers) -> Column:
    """Treat NO_ID, and any other negative number, as null."""
    return Column(values, values < 0)


def _ranges(begin: int, end: int) -> list[tuple[int, int]]:
    return [(first_row, min(first_row + _ROWS_AT_ONCE, end)) for first_row in range(begin, end, _ROWS_AT_ONCE)]
