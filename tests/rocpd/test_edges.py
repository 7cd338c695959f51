"""Tables of dependencies: dependencies recorded by a collector, nodes by their ids, and order in time."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.rocpd.edges import edge_table, exact_edges, index_of, inverse, join_edges, time_order, tracks
from rocm_perf_lab.rocpd.trace import NO_ID, Copies, Dispatches, Edges


def tables(queues, streams, of_copies=(), agents=None, copy_agents=None) -> tuple[Dispatches, Copies]:
    """Events are 11, 12 and so on, starting with those of dispatches."""
    n, m = len(queues), len(of_copies)
    zeros, three = np.zeros(n, np.int64), np.ones((n, 3), np.int64)
    agent = np.array(agents or [1] * n, np.int64)
    queue, stream = np.array(queues, np.int64), np.array(streams, np.int64)
    ids = np.arange(n)
    dispatches = Dispatches(ids, 11 + ids, zeros, agent, queue, stream, zeros, zeros, zeros, zeros, three, three)
    none = np.zeros(m, np.int64)
    agent = np.array(copy_agents or [1] * m, np.int64)
    return dispatches, Copies(
        np.arange(m), 11 + n + np.arange(m), agent, np.array(of_copies, np.int64), none, none, none, none, ("c",)
    )


@pytest.mark.parametrize(
    "ids, wanted, nodes",
    [
        ([5, 3, 9], [3, 9, 5, 4, 10, 2], [1, 2, 0, -1, -1, -1]),
        ([5, 3, 5], [5, 3], [2, 1]),  # the last one of several
        ([], [1, 2], [-1, -1]),
        ([7], [], []),
    ],
)
def test_the_node_of_an_id(ids, wanted, nodes):
    assert index_of(np.array(ids, np.int64), np.array(wanted, np.int64)).tolist() == nodes


def listed(edges: Edges) -> list[tuple]:
    columns = (edges.source, edges.target, edges.kind, edges.exact)
    assert [column.dtype for column in columns] == [np.int32, np.int32, np.int8, bool]
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def test_recorded_dependencies_are_listed_once_and_only_if_they_are_known():
    """Two dispatches with events 11 and 12, and a copy with 13. Rows: event, event that it depends on, kind."""
    rows = [
        (12, 11, 0),
        (13, 12, 2),
        (12, 11, 0),
        (12, 11, 1),
        (11, 11, 0),
        (12, 99, 0),
        (99, 11, 0),
        (12, 11, -1),
        (12, 11, 8),
        (12, 11, 7),
    ]
    found = exact_edges(np.array(rows), *tables([1, 1], [1, 1], [1]))
    assert listed(found) == [(0, 1, 0, True), (0, 1, 1, True), (0, 1, 7, True), (1, 2, 2, True)]
    assert listed(exact_edges(np.empty((0, 3)), *tables([1, 1], [1, 1]))) == []


def test_tables_are_joined_in_order():
    one = edge_table(np.array([0]), np.array([1]), 3, True)
    other = edge_table(np.array([4, 5]), np.array([6, 7]), np.array([1, 2]), np.array([False, True]))
    assert listed(join_edges(one, other)) == [(0, 1, 3, True), (4, 6, 1, False), (5, 7, 2, True)]


@pytest.mark.parametrize(
    "start, end, order",
    [
        ([5, 3, 9], [6, 4, 9], [1, 0, 2]),
        ([5, 5, 3], [9, 6, 4], [2, 1, 0]),
        ([5, 5, 5], [9, 9, 6], [2, 0, 1]),
        ([5, 5], [6, 6], [0, 1]),
        ([], [], []),
    ],
)
def test_nodes_are_in_order_of_start_then_of_end(start, end, order):
    found = time_order(np.array(start, np.int64), np.array(end, np.int64))
    assert found.tolist() == order and found.dtype == np.int32
    assert inverse(found).tolist() == [order.index(node) for node in range(len(order))]


@pytest.mark.parametrize(
    "queues, streams, of_copies, agents, copy_agents, track, null",
    [
        ([1, 2, 1], [5, 6, 5], [6, 7], None, None, [0, 1, 0, 1, 2], {}),
        # A stream on several queues does not count as one; the null stream is the last track.
        ([1, 2, 1], [5, 5, 0], [], None, None, [2, 3, 1], {1: 1}),
        # Each GPU has its own null stream.
        ([1, 2], [0, 0], [0], [1, 4], [4], [0, 1, 1], {1: 0, 4: 1}),
        # Copies in no stream share a track.
        ([1, 1], [NO_ID, NO_ID], [NO_ID, NO_ID], None, None, [1, 1, 0, 0], {}),
    ],
)
def test_work_runs_in_order_in_its_stream_or_else_in_its_queue(queues, streams, of_copies, agents, copy_agents, track, null):
    found, null_stream_track = tracks(*tables(queues, streams, of_copies, agents, copy_agents))
    assert (found.tolist(), null_stream_track) == (track, null)
