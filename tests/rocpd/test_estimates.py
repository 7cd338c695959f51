"""Errors that a database states, by dispatch and counter."""

from __future__ import annotations

import json
import sqlite3

import pytest

import rocpd_database
from rocm_perf_lab.rocpd.connect import connect
from rocm_perf_lab.rocpd.estimates import read_estimates
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Dispatch

WORK = [Dispatch("k", 100 * n, 100 * n + 50, counters={"A": [1.0, 2.0], "B": [3.0]}) for n in (1, 2, 3)]


@pytest.fixture
def read(tmp_path):
    """read(values, durations): the extdata of counter rows, by dispatch and counter, and of the events of dispatches."""

    def read(values: dict[tuple[int, str], object], durations: dict[int, object]):
        path = rocpd_database.write(tmp_path / "t.db", WORK, {"timing": "modelled", "dependencies": "exact"})
        with sqlite3.connect(path) as database:
            database.execute("ALTER TABLE rocpd_pmc_event ADD COLUMN extdata TEXT DEFAULT '{}'")
            for (event, name), extdata in values.items():
                text = extdata if isinstance(extdata, str) else json.dumps(extdata)
                database.execute(
                    """UPDATE rocpd_pmc_event SET extdata = ? WHERE event_id = ?
                       AND pmc_id = (SELECT id FROM rocpd_info_pmc WHERE name = ?)""", (text, event, name),
                )  # fmt: skip
            for event, extdata in durations.items():
                text = extdata if isinstance(extdata, str) else json.dumps(extdata)
                database.execute("INSERT OR REPLACE INTO rocpd_event(id, extdata) VALUES (?, ?)", (event, text))
        dispatches = read_trace(path).dispatches
        with connect(path) as connection:
            return read_estimates(connection, dispatches)

    return read


def known(column) -> dict[int, float]:
    return {number: value for number, value in enumerate(column.tolist()) if value == value}


def test_errors_of_instances_are_added_up(read):
    found = read(
        {(1, "A"): {"error": 5.0}, (3, "B"): {"error": 2}, (2, "B"): {"other": 9}},
        {3: {"duration_error": 0.25}, 99: {"duration_error": 0.5}},
    )
    assert known(found.durations) == {2: 0.25}
    assert {name: known(column) for name, column in found.counters.items()} == {"A": {0: 10.0}, "B": {2: 2.0}}
    assert len(found.durations) == len(found.counters["A"]) == 3


def test_values_that_are_not_errors_are_ignored(read):
    values = {(1, "A"): {"error": 1.0}, (2, "A"): '{"error"', (3, "A"): {"error": None}}
    found = read(values, {1: {"duration_error": "x"}, 2: '"duration_error"', 3: {"duration_error": 1e999}})
    assert known(found.durations) == {} and known(found.counters["A"]) == {0: 2.0}


@pytest.mark.parametrize("values", [{}, {(1, "A"): {"other": 1}}])
def test_without_errors_of_counters_everything_is_exact(read, values):
    assert read(values, {1: {"duration_error": 0.5}}) is None


def test_a_database_without_such_a_column_is_exact(tmp_path):
    path = rocpd_database.write(tmp_path / "t.db", WORK)
    with connect(path) as connection:
        assert read_estimates(connection, read_trace(path).dispatches) is None
