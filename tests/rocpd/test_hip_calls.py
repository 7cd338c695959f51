"""HIP calls in a trace: which are kept, which launched what, and the handles passed to them."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd import hip_calls
from rocm_perf_lab.rocpd.connect import connect
from rocm_perf_lab.rocpd.hip_calls import _index_of, _outermost, read_hip_calls
from rocpd_database import Call, Dispatch


@pytest.mark.parametrize(
    "ascending, wanted, places",
    [
        ([5, 6, 7], [4, 5, 7, 8, 9, 99, -1], [-1, 0, 2, -1, -1, -1, -1]),
        ([5, 7, 9], [4, 5, 6, 7, 9, 10], [-1, 0, -1, 1, 2, -1]),
        ([5], [4, 5, 6], [-1, 0, -1]),
        ([], [1, 2], [-1, -1]),
        ([5, 7], [], []),
    ],
)
def test_the_index_of_an_id(ascending, wanted, places):
    assert _index_of(np.array(ascending, np.int64), np.array(wanted, np.int64)).tolist() == places


def outermost(calls: list[tuple[int, int, int]]) -> tuple[list[int], list[int]]:
    kept, outer = _outermost(*(np.array(column, np.int64) for column in zip(*calls, strict=True)))
    return kept.tolist(), outer.tolist()


def test_calls_within_others_of_their_thread():
    """thread, start, end."""
    calls = [(1, 10, 50), (1, 10, 20), (1, 20, 30), (1, 50, 60), (1, 55, 56), (2, 0, 9), (2, 5, 7), (2, 9, 9), (4, 5, 6)]
    assert outermost(calls) == ([0, 3, 5, 7, 8], [0, 0, 0, 1, 1, 2, 2, 3, 4])
    assert outermost([(1, 10, 10)]) == ([0], [0])


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=9))
def test_a_call_is_outermost_if_all_earlier_ones_of_its_thread_have_ended(drawn):
    calls = sorted(((thread, start, start + took) for thread, start, took in drawn), key=lambda one: (one[0], one[1], -one[2]))
    expected = [
        place
        for place, (thread, start, _) in enumerate(calls)
        if all(end <= start for other, _, end in calls[:place] if other == thread)
    ]
    kept, outer = outermost(calls)
    assert kept == expected and [kept[one] for one in outer] == [max(k for k in kept if k <= n) for n in range(len(calls))]


@pytest.fixture
def read(tmp_path):
    """read(calls, work, *statements): the result for a trace that the SQL statements have changed. events: those of the
    work."""

    def read(calls, work, *statements, events=None):
        path = rocpd_database.write(tmp_path / f"{len([*tmp_path.iterdir()])}.db", work, calls=calls)
        with sqlite3.connect(path) as database:
            for one in statements:
                database.execute(one)
        with connect(path) as connection:
            return read_hip_calls(connection, np.array(events or range(1, len(work) + 1)))

    return read


NESTED = [
    Call("hipGraphLaunch", 10, 50, thread=9, stream="0xa"),
    Call("hipLaunchKernel", 20, 30, thread=9, stream="0xb"),
    Call("hipEventRecord", 5, 8, thread=3, stream="0xc", event="0xe"),
    Call("__hipPushCallConfiguration", 60, 61, thread=9),
    Call("hsa_queue", 62, 70, thread=9),
]
WORK = [Dispatch("a", 100, 200, call=1), Dispatch("b", 200, 300), Dispatch("c", 300, 400, call=2)]


def test_only_outermost_calls_of_hip_are_kept(read):
    found = read(NESTED, WORK)
    assert len(found) == 2 and found.thread.tolist() == [3, 9]
    assert [found.names[index] for index in found.name_index] == ["hipEventRecord", "hipGraphLaunch"]
    assert (found.start.tolist(), found.end.tolist()) == ([5, 10], [8, 50])
    assert found.launcher.tolist() == [1, -1, 0]
    assert (found.streams, found.events) == ({0: "0xc", 1: "0xa"}, {0: "0xe"})


def test_of_two_calls_that_begin_together_the_longer_one_is_outside(read):
    calls = [Call("hipLaunchKernel", 10, 20), Call("hipGraphLaunch", 10, 50)]
    found = read(calls, [Dispatch("a", 100, 200, call=0)])
    assert (found.start.tolist(), found.end.tolist(), found.launcher.tolist()) == ([10], [50], [0])


def test_work_whose_event_the_file_lacks_has_no_launching_call(read):
    found = read(NESTED[:1], [Dispatch("a", 100, 200, call=0), Dispatch("b", 200, 300)], events=[1, 99, -1])
    assert found.launcher.tolist() == [0, -1, -1]
    assert read(NESTED[:1], [Dispatch("a", 100, 200)], "DELETE FROM rocpd_event").launcher.tolist() == [-1]


def test_a_call_that_ends_before_it_begins_is_refused(read):
    with pytest.raises(TraceError):
        read(NESTED, WORK, 'UPDATE rocpd_region SET "end" = start - 1 WHERE id = 1')


def test_a_call_of_another_kind_is_kept_if_it_launched_something(read):
    found = read(NESTED, [Dispatch("a", 100, 200, call=4)])
    assert [found.names[index] for index in found.name_index] == ["hipEventRecord", "hipGraphLaunch", "hsa_queue"]
    assert found.launcher.tolist() == [2]
    found = read(NESTED[3:], [Dispatch("a", 100, 200, call=1)])
    assert found.names == ("hsa_queue",) and found.launcher.tolist() == [0]


@pytest.mark.parametrize(
    "calls, statement",
    [
        ([], "SELECT 1"),
        (NESTED[3:], "SELECT 1"),
        (NESTED, "DROP TABLE rocpd_region"),
        (NESTED, "ALTER TABLE rocpd_event DROP COLUMN stack_id"),
    ],
)
def test_without_calls_of_hip_there_is_nothing(read, calls, statement):
    assert read(calls, [Dispatch("a", 100, 200)], statement) is None


def test_a_name_that_the_file_lacks(read):
    found = read(NESTED[:1], [Dispatch("a", 100, 200, call=0)], "UPDATE rocpd_region SET name_id = 77")
    assert found.names == ("call 77",)


def test_an_argument_without_a_value_or_with_another_name_is_no_handle(read):
    found = read(
        NESTED, WORK, "UPDATE rocpd_arg SET value = NULL WHERE name = 'event'", "UPDATE rocpd_arg SET name = 'x' WHERE id = 1"
    )
    assert found.streams == {0: "0xc"} and found.events == {}


@pytest.mark.parametrize("most, is_read", [(3, False), (4, True), (5, True)])
def test_arguments_of_a_long_trace_are_not_read(read, monkeypatch, most, is_read):
    monkeypatch.setattr(hip_calls, "_MAX_ARGUMENTS", most)
    assert bool(read(NESTED, WORK).streams) == is_read


def test_without_a_table_of_arguments_there_are_no_handles(read):
    for statement in ("DROP TABLE rocpd_arg", "DELETE FROM rocpd_arg"):
        found = read(NESTED, WORK, statement)
        assert (found.streams, found.events) == ({}, {})
