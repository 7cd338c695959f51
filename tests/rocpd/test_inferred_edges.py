"""Inferred dependencies against their definition, written out pair by pair."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.rocpd.edges import inferred_edges
from rocm_perf_lab.rocpd.tables import NO_ID, Copies, Dispatches

# Any id may stand in a file, though the collectors count from 0; NO_ID is -1.
QUEUE, STREAM = st.sampled_from([1, 2, -7, NO_ID]), st.sampled_from([0, 1, 2, -(2**31), NO_ID])

# (start, duration, queue, stream): small numbers make ties, overlaps and shared queues common
DISPATCH = st.tuples(st.integers(0, 30), st.integers(0, 6), QUEUE, STREAM)
COPY = st.tuples(st.integers(0, 30), st.integers(1, 6), STREAM)


def columns(dispatches, copies):
    d = np.array(dispatches, np.int64).reshape(-1, 4)
    c = np.array(copies, np.int64).reshape(-1, 3)
    zeros, three = np.zeros(len(d), np.int64), np.ones((len(d), 3), np.int64)
    ids = np.arange(len(d) + len(c))
    return (
        Dispatches(ids[: len(d)], ids[: len(d)], zeros, zeros, d[:, 2], d[:, 3], d[:, 0], d[:, 0] + d[:, 1], zeros, zeros,
                   three, three),
        Copies(ids[len(d) :], ids[len(d) :], np.zeros(len(c), np.int64), c[:, 2], c[:, 0],
               c[:, 0] + c[:, 1], np.ones(len(c), np.int64), np.zeros(len(c), np.int64), ("c",)),
    )  # fmt: skip


@given(st.lists(DISPATCH, max_size=12), st.lists(COPY, max_size=4))
def test_edges_are_the_last_to_end_before_in_queue_or_stream(dispatches, copies):
    queues_of = {}
    for _, _, queue, stream in dispatches:
        queues_of.setdefault(stream, set()).add(queue)

    def ordered(stream):
        return stream if len(queues_of.get(stream, ())) < 2 else NO_ID

    nodes = [(s, s + d, q, ordered(t)) for s, d, q, t in dispatches] + [(s, s + d, NO_ID, ordered(t)) for s, d, t in copies]
    rank = {node: place for place, node in enumerate(sorted(range(len(nodes)), key=lambda n: (*nodes[n][:2], n)))}
    edges = inferred_edges(*columns(dispatches, copies))
    found = set(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    assert len(found) == len(edges), "a pair must not be there twice"
    assert not edges.exact.any()

    def related(a, b):
        same_queue = nodes[a][2] == nodes[b][2] != NO_ID
        streams = {nodes[a][3], nodes[b][3]}
        return same_queue or (NO_ID not in streams and (len(streams) == 1 or 0 in streams))

    for a, b in found:
        assert related(a, b) and nodes[a][1] <= nodes[b][0] and rank[a] < rank[b]
    for key in (2, 3):  # each node has a predecessor that ended as late as any in its queue, and in its stream
        for b in range(len(nodes)):
            before = [
                a for a in range(len(nodes))
                if rank[a] < rank[b] and nodes[a][key] == nodes[b][key] != NO_ID and nodes[a][1] <= nodes[b][0]
            ]  # fmt: skip
            latest = max((nodes[a][1] for a in before), default=None)
            if latest is not None:
                assert any((a, b) in found and nodes[a][1] == latest for a in before)


def test_the_null_stream_waits_for_the_others_and_they_for_it():
    dispatches = [(0, 10, 1, 1), (0, 20, 2, 2), (25, 5, 3, 0), (40, 5, 1, 1)]
    edges = inferred_edges(*columns(dispatches, []))
    assert set(zip(edges.source.tolist(), edges.target.tolist(), strict=True)) == {(0, 2), (1, 2), (2, 3), (0, 3)}
