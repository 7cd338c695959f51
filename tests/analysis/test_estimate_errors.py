"""Errors of estimates, from the database to the sums of a kernel: exact dispatches add no error, others add up."""

from __future__ import annotations

import sqlite3
import types
from pathlib import Path

import numpy as np
import pytest

import rocpd_database
from rocm_perf_lab.analysis.estimate_errors import Sampling, sampling_of
from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Dispatch

SOFTWARE = {"timing": "modelled", "dependencies": "exact"}
COUNTERS = {"SQ_WAVES": [4.0], "TCC_HIT_sum": [1000.0]}


def trace_with(path: Path, errors: dict[int, tuple[float, float]]):
    """Three dispatches of 100, 200 and 300 ns. errors: event -> errors of its duration (a fraction) and of its TCC_HIT_sum."""
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


@pytest.mark.parametrize("dispatches, words", [(1, "1 of its dispatches was"), (2, "2 of its dispatches were")])
def test_the_note_says_how_much_is_estimated(dispatches: int, words: str) -> None:
    assert Sampling(dispatches, 0.75, {"a": 1.0, "b": 2.0}).note == (
        f"{words} observed on some XCDs only, or began with unknown L2 contents: its time (within 75 %) and 2 of its counters "
        "are estimates, and so is all that follows from them"
    )


NAN = float("nan")


def sampled(errors: list[float], counters: dict[str, list[float]], values: dict[str, list[float]], ns: int = 100):
    """The sampling of a kernel with the last two of three dispatches, which take 1, 2 and 3 times `ns`."""
    estimates = types.SimpleNamespace(
        durations=np.array(errors), counters={name: np.array(column) for name, column in counters.items()}
    )
    trace = types.SimpleNamespace(
        estimates=estimates,
        counters={name: np.array(column) for name, column in values.items()},
        dispatches=types.SimpleNamespace(duration=ns * np.array([1, 2, 3])),
    )
    return sampling_of(trace, types.SimpleNamespace(rows=np.array([1, 2]), total_ns=5 * ns))


def test_only_dispatches_of_the_kernel_count() -> None:
    assert sampled([0.5, NAN, NAN], {}, {}) is None
    found = sampled([0.5, NAN, 0.25], {}, {})
    assert found is not None and (found.dispatches, found.time, found.counters) == (1, 0.25 * 300 / 500, {})


def test_dispatches_without_a_counter_value_are_assumed_to_be_like_the_others() -> None:
    errors = {"exact": [5.0, NAN, NAN], "all": [5.0, 8.5, 4.0], "one": [5.0, 8.0, NAN], "none": [5.0, 8.0, NAN]}
    values = {"exact": [1.0, 1.0, 1.0], "all": [1.0, 1.0, 1.0], "one": [1.0, 1.0, NAN], "none": [1.0, NAN, NAN]}
    found = sampled([0.5, 0.25, 0.25], errors, values)
    assert found is not None and found.counters == {"all": 12.5, "one": 16.0, "none": 16.0}


def test_exact_values_have_no_sampling_note(tmp_path: Path) -> None:
    trace = trace_with(tmp_path / "t.db", {})
    assert trace.estimates is None and sampling_of(trace, symbols_of(trace)[0]) is None


def test_dispatches_that_take_no_time_have_no_error_in_time() -> None:
    found = sampled([0.5, NAN, 0.25], {}, {}, ns=0)
    assert found is not None and (found.dispatches, found.time) == (1, 0.0)
