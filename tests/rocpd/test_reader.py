"""Reading real rocprofv3 databases, against their own views and CSV companions."""

from __future__ import annotations

import csv
import math
import sqlite3

import numpy as np
import pytest

import rocpd_database
from rocm_perf_lab.rocpd.columns import NotAnIntegerError, integer_columns
from rocm_perf_lab.rocpd.reader import _take_three_columns, read_trace
from rocpd_database import Copy, Dispatch

DATABASES = [
    "rocpd/mi300x_bmm_a.db",
    "rocpd/mi300x_bmm_b.db",
    "rocprofv3/ms_trace/ms_results.db",
    "rocprofv3/msr_systrace/msr_results.db",
    "rocprofv3/ms_pmc/ms_results.db",
    "rocprofv3/v_nocounterclock/v_results.db",
]


@pytest.mark.parametrize("name", DATABASES)
def test_dispatches_equal_those_of_the_view_kernels(name, shared_data):
    trace = read_trace(shared_data / name)
    connection = sqlite3.connect(f"{(shared_data / name).as_uri()}?mode=ro&immutable=1", uri=True)
    rows = connection.execute(
        """SELECT name, start, "end", grid_x, workgroup_x, lds_size, queue_id, stream_id, agent_abs_index
           FROM kernels ORDER BY dispatch_id"""
    ).fetchall()
    read = trace.dispatches
    ours = [
        (
            trace.kernels[int(read.kernel_id[row])].name, int(read.start[row]), int(read.end[row]), int(read.grid[row, 0]),
            int(read.workgroup[row, 0]), int(read.lds_bytes[row]), int(read.queue_id[row]), int(read.stream_id[row]),
            int(read.agent_id[row]),
        )
        for row in range(len(read))
    ]  # fmt: skip
    assert ours == [(row[0].removesuffix(".kd"), *row[1:]) for row in rows]
    copies = connection.execute("SELECT name, size, duration FROM memory_copies ORDER BY id").fetchall()
    durations = (trace.copies.end - trace.copies.start).tolist()
    assert list(zip(trace.copies.name, trace.copies.bytes.tolist(), durations, strict=True)) == copies
    assert trace.timing == "measured" and trace.software_device is None and not trace.has_exact_dependencies
    assert trace.has_times == ("nocounterclock" not in name)


@pytest.mark.parametrize("run", ["ms_pmc/ms", "ms_pmc_txt/pmc_1/ms", "ms_pmc_txt/pmc_2/ms", "v_pmc/v", "ms_pmc_ktrace/ms"])
def test_counters_are_summed_over_instances_as_in_the_csv(run, shared_data):
    trace = read_trace(shared_data / "rocprofv3" / f"{run}_results.db")
    with open(shared_data / "rocprofv3" / f"{run}_counter_collection.csv") as file:
        expected = {(int(r["Dispatch_Id"]), r["Counter_Name"]): float(r["Counter_Value"]) for r in csv.DictReader(file)}
    assert expected
    ours = {
        (int(dispatch), name): float(value)
        for name, column in trace.counters.items()
        for dispatch, value in zip(trace.dispatches.id, column, strict=True)
        if not math.isnan(value)
    }
    assert ours == pytest.approx(expected)


def test_additions_of_the_builtin_tracer_are_read(tmp_path):
    work = [
        Copy(0, 50),
        Dispatch("a", 60, 90, counters={"SQ_WAVES": [1, 2, 3]}, depends_on=[(0, "signal")]),
        Dispatch("b", 95, 99, depends_on=[(1, "queue"), (0, "host"), (0, "queue")]),
    ]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED))
    assert (trace.timing, trace.software_device, trace.timing_parameters) == ("modelled", "software gfx942", "f00d")
    assert trace.counters["SQ_WAVES"][0] == 6 and np.isnan(trace.counters["SQ_WAVES"][1])
    edges = trace.edges  # nodes: the dispatches a, b, then the copy
    found = {(s, t, edges.KINDS[k]) for s, t, k in zip(edges.source, edges.target, edges.kind, strict=True)}
    assert found == {(2, 0, "signal"), (0, 1, "queue"), (2, 1, "host"), (2, 1, "queue")}
    assert edges.exact.all()


def test_declared_exact_dependencies_are_never_replaced_by_guesses(tmp_path):
    work = [Dispatch("a", 0, 10), Dispatch("a", 20, 30)]
    assert len(read_trace(rocpd_database.write(tmp_path / "exact.db", work, rocpd_database.MODELLED)).edges) == 0
    assert len(read_trace(rocpd_database.write(tmp_path / "plain.db", work)).edges) == 1


def test_missing_ids_do_not_order_anything(tmp_path):
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("a", 0, 10), Dispatch("a", 20, 30)])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE rocpd_kernel_dispatch SET queue_id = NULL, stream_id = NULL")
    connection.commit()
    connection.close()
    trace = read_trace(path)
    assert trace.dispatches.queue_id.tolist() == [-1, -1]
    assert len(trace.edges) == 0


@pytest.mark.parametrize("keys", [(1, "x"), ("x", "y"), (b"1", 2), (1.5, 2)])
def test_a_key_that_is_not_an_integer_is_refused(keys):
    """SQLite returns whatever a damaged file holds, and sorts numbers before text."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id, value)")
    connection.executemany("INSERT INTO t VALUES (?, 7)", [(key,) for key in keys])
    with pytest.raises(NotAnIntegerError, match="id contains something other than integers"):
        integer_columns(connection, ["value"], "t", "id")


def test_three_columns_become_one_table():
    columns = [np.array([10 * number, 10 * number + 1]) for number in range(6)]
    assert _take_three_columns(columns, 1).tolist() == [[10, 20, 30], [11, 21, 31]]
    assert [column.tolist() for column in columns] == [[0, 1], [40, 41], [50, 51]]
