"""The table of dispatches and copies: each column for three dispatches and two copies, in one batch and in several."""

from __future__ import annotations

import types

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from rocm_perf_lab.analysis.dag import Dag
from rocm_perf_lab.report import dispatch_table
from rocm_perf_lab.report.arrow_table import _array, _converted, arrow_table, write_parquet
from rocm_perf_lab.report.dispatch_table import TYPES, Column, DispatchTable

TRACE = types.SimpleNamespace(
    dispatches=types.SimpleNamespace(
        id=np.array([11, 12, 13]),
        agent_id=np.array([1, 1, -1]),
        queue_id=np.array([0, -1, 2]),
        stream_id=np.array([-1, 7, 8]),
        workgroup=np.array([[64, 1, 1], [8, 4, 2], [1024, 1024, 1024]], np.int32),
        grid=np.array([[640, 1, 1], [16, 8, 4], [65536, 65536, 2]], np.int32),
    ),
    copies=types.SimpleNamespace(
        id=np.array([21, 22]), agent_id=np.array([-1, 2]), stream_id=np.array([3, -1]), bytes=np.array([4096, 0])
    ),
)
_NONE = np.empty(0, np.int64)
DAG = Dag(  # the last node is a call that began before any dispatch
    start=np.array([71, 105, 170, 75, 200, 60]), end=np.array([100, 160, 195, 104, 203, 250]),
    name_index=np.array([1, 0, 1, 2, 2, 3]), names=("scan()", "sum()", "host to device", "hipMemcpy"), kinds=(), dispatches=3,
    gpu_nodes=5, source=_NONE, first=_NONE, kind=_NONE, order=_NONE, exact_edges=0, took=_NONE,
)  # fmt: skip
PATH = types.SimpleNamespace(
    nodes=np.array([0, 3, 5]),
    slack_ns=np.array([0, 1, 2, 3, 4]),
    delay_of_ns=np.array([5, -1, 0, 1, -7]),
    exposed_ns=np.array([10, 11, 12, 13, 14]),
    overlap_ns=np.array([20, 21, 22, 23, 24]),
)
EXPECTED = {
    "kind": ["dispatch", "dispatch", "dispatch", "copy", "copy"],
    "id": [11, 12, 13, 21, 22],
    "name": ["sum()", "scan()", "sum()", "host to device", "host to device"],
    "agent": [1, 1, None, None, 2],
    "queue": [0, None, 2, None, None],
    "stream": [None, 7, 8, 3, None],
    "start_ns": [0, 34, 99, 4, 129],
    "end_ns": [29, 89, 124, 33, 132],
    "workgroup": [64, 64, 1 << 30, None, None],
    "grid": [640, 512, 1 << 33, None, None],
    "bytes": [None, None, None, 4096, 0],
    "slack_ns": [0, 1, 2, 3, 4],
    "delay_ns": [5, 0, 0, 1, 0],
    "exposed_ns": [10, 11, 12, 13, 14],
    "overlap_ns": [20, 21, 22, 23, 24],
    "on_path": [True, False, False, True, False],
}
NEED_A_PATH = ("slack_ns", "delay_ns", "exposed_ns", "overlap_ns", "on_path")


def cells(table: DispatchTable) -> tuple[list[int], dict[str, list]]:
    """The number of rows in each batch, and the values of each column."""
    counts, found = [], {name: [] for name in TYPES}
    for count, piece in table.pieces():
        counts.append(count)
        assert [*piece] == [*TYPES]
        for name, column in piece.items():
            if column is None:
                found[name] += [None] * count
                continue
            values = [column.texts[value] for value in column.values] if column.texts else column.values.tolist()
            unknown = [False] * count if column.unknown is None else column.unknown.tolist()
            found[name] += [None if absent else value for value, absent in zip(values, unknown, strict=True)]
    return counts, found


@pytest.mark.parametrize("at_once, pieces", [(1_000_000, [3, 2]), (3, [3, 2]), (2, [2, 1, 2]), (1, [1] * 5)])
def test_every_column_has_its_value_or_null(monkeypatch, at_once, pieces):
    monkeypatch.setattr(dispatch_table, "_ROWS_AT_ONCE", at_once)
    table = DispatchTable(TRACE, DAG, PATH)
    assert len(table) == 5 and cells(table) == (pieces, EXPECTED)


def test_without_a_path_its_columns_are_null():
    assert cells(DispatchTable(TRACE, DAG, None))[1] == EXPECTED | dict.fromkeys(NEED_A_PATH, [None] * 5)


@pytest.mark.parametrize("at_once", [1_000_000, 1])
@pytest.mark.parametrize("path", [PATH, None])
def test_arrow_and_parquet_hold_the_same(monkeypatch, tmp_path, at_once, path):
    monkeypatch.setattr(dispatch_table, "_ROWS_AT_ONCE", at_once)
    table = DispatchTable(TRACE, DAG, path)
    expected = EXPECTED if path else EXPECTED | dict.fromkeys(NEED_A_PATH, [None] * 5)
    found = table.table()
    assert found.to_pydict() == arrow_table(table).to_pydict() == expected
    assert {name: str(found.schema.field(name).type) for name in TYPES if TYPES[name] != "text"} == {
        name: kind for name, kind in TYPES.items() if kind != "text"
    }
    for name in ("one", "other"):
        write_parquet(table, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert parquet.read_table(tmp_path / "one").to_pydict() == expected


def test_a_value_that_does_not_fit_is_an_error():
    with pytest.raises(OverflowError, match="a value does not fit into int32"):
        _converted(np.array([5, 1 << 31]), np.int32)
    assert _converted(np.array([5, (1 << 31) - 1]), np.int32).dtype == np.int32
    assert _converted(np.array([5], np.int16), np.int64).tolist() == [5]


@pytest.mark.parametrize("count", [0, 1, 8, 9])
def test_columns_of_any_length(count):
    unknown = np.arange(count) % 3 == 0
    found = _array(Column(np.arange(count), unknown), pyarrow.int64(), count)
    assert found.to_pylist() == [None if number % 3 == 0 else number for number in range(count)]
    assert _array(Column(unknown), pyarrow.bool_(), count).to_pylist() == unknown.tolist()
    assert _array(None, pyarrow.int32(), count).to_pylist() == [None] * count
