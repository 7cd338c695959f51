"""Errors of estimates, from the database to the sums of a kernel: exact dispatches add nothing, others add up."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import rocpd_database
from rocm_perf_lab.analysis.sampling import sampling_of
from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Dispatch

SOFTWARE = {"timing": "modelled", "dependencies": "exact"}
COUNTERS = {"SQ_WAVES": [4.0], "TCC_HIT_sum": [1000.0]}


def trace_with(path: Path, errors: dict[int, tuple[float, float]]):
    """Three dispatches of 100, 200 and 300 ns. errors: event -> that of its duration (a fraction) and of its TCC_HIT_sum."""
    work = [Dispatch("k", 1000 * i, 1000 * i + 100 * i, counters=COUNTERS) for i in (1, 2, 3)]
    rocpd_database.write(path, work, SOFTWARE)
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE rocpd_pmc_event ADD COLUMN extdata TEXT DEFAULT '{}'")
        for event, (duration, hits) in errors.items():
            database.execute(
                "UPDATE rocpd_event SET extdata = json_set(extdata, '$.duration_error', ?) WHERE id = ?", (duration, event)
            )
            database.execute(
                """UPDATE rocpd_pmc_event SET extdata = json_object('error', ?) WHERE event_id = ?
                   AND pmc_id = (SELECT id FROM rocpd_info_pmc WHERE name = 'TCC_HIT_sum')""", (hits, event),
            )  # fmt: skip
    return read_trace(path)


def test_errors_add_up(tmp_path: Path) -> None:
    trace = trace_with(tmp_path / "t.db", {2: (0.1, 30.0), 3: (0.2, 50.0)})
    found = sampling_of(trace, symbols_of(trace)[0])
    assert found is not None and found.dispatches == 2
    assert found.time == pytest.approx((0.1 * 200 + 0.2 * 300) / 600)
    assert found.counters == {"TCC_HIT_sum": pytest.approx(80)}
    assert "2 of its dispatches were observed on some XCDs only" in found.note


def test_nothing_is_said_of_exact_values(tmp_path: Path) -> None:
    trace = trace_with(tmp_path / "t.db", {})
    assert trace.estimates is None and sampling_of(trace, symbols_of(trace)[0]) is None
