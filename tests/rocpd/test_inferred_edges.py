"""Inferred dependencies against their definition, evaluated pair by pair."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.rocpd.edges import inferred_edges
from rocm_perf_lab.rocpd.trace import NO_ID, Copies, Dispatches

# A file may contain any id, though the collectors count from 0; NO_ID is -1.
QUEUE, STREAM = st.sampled_from([1, 2, -7, NO_ID]), st.sampled_from([0, 1, 2, -(2**31), NO_ID])

# (start, duration, queue, stream): small numbers make ties, overlaps (slight ones, too) and shared queues common
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
def test_edges_lead_from_the_last_work_done_before_in_queue_or_stream(dispatches, copies):
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

    def slight(a, b, most):
        overlap = nodes[a][1] - nodes[b][0]
        shorter = min(nodes[a][1] - nodes[a][0], nodes[b][1] - nodes[b][0])
        return overlap <= 0 or 2 * overlap <= shorter and overlap <= most

    def next_in(key, a):
        later = [b for b in range(len(nodes)) if rank[b] > rank[a] and nodes[b][key] == nodes[a][key] != NO_ID]
        return min(later, key=rank.get, default=None)

    def next_beside_null(a):
        if nodes[a][3] == NO_ID or not any(node[3] == 0 for node in nodes):
            return None
        other = [b for b in range(len(nodes)) if nodes[b][3] != NO_ID and (nodes[b][3] == 0) != (nodes[a][3] == 0)]
        return min((b for b in other if rank[b] > rank[a]), key=rank.get, default=None)

    def done(a):
        """Its end, or where the next in its queue or stream starts, if that is a little earlier."""
        following = [(next_in(2, a), 1000), (next_in(3, a), 10**9), (next_beside_null(a), 10**9)]
        return min([nodes[a][1], *(nodes[b][0] for b, most in following if b is not None and slight(a, b, most))])

    def related(a, b):
        same_queue = nodes[a][2] == nodes[b][2] != NO_ID
        streams = {nodes[a][3], nodes[b][3]}
        return same_queue or (NO_ID not in streams and (len(streams) == 1 or 0 in streams))

    for a, b in found:
        assert related(a, b) and done(a) <= nodes[b][0] and rank[a] < rank[b]
    for key in (2, 3):  # each node has a predecessor that ended as late as any in its queue, and in its stream
        for b in range(len(nodes)):
            before = [
                a for a in range(len(nodes))
                if rank[a] < rank[b] and nodes[a][key] == nodes[b][key] != NO_ID and done(a) <= nodes[b][0]
            ]  # fmt: skip
            latest = max(map(done, before), default=None)
            if latest is not None:
                assert any((a, b) in found and done(a) == latest for a in before)


def test_the_null_stream_waits_for_the_others_and_they_for_it():
    dispatches = [(0, 10, 1, 1), (0, 20, 2, 2), (25, 5, 3, 0), (40, 5, 1, 1)]
    edges = inferred_edges(*columns(dispatches, []))
    assert set(zip(edges.source.tolist(), edges.target.tolist(), strict=True)) == {(0, 2), (1, 2), (2, 3), (0, 3)}


# Gap, duration and jitter in ns of a stream that really ran in order; kernels shorter than a microsecond do not occur.
CHAIN = st.lists(st.tuples(st.integers(0, 300), st.integers(1100, 9000), st.integers(-250, 250)), min_size=2, max_size=30)


@given(CHAIN, st.integers(0, 2))
def test_a_stream_keeps_its_order_where_its_times_overlap_a_little(steps, stream):
    at, dispatches = 1000, []
    for gap, takes, jitter in steps:
        dispatches.append((at + gap + jitter, takes, 1, stream))
        at = at + gap + takes
    dispatches = [dispatches[0], *((max(start, before[0]), *rest) for before, (start, *rest) in pairwise(dispatches))]
    edges = inferred_edges(*columns(dispatches, []))
    followed = set(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    assert followed == {(place, place + 1) for place in range(len(steps) - 1)}


def test_work_that_overlaps_for_long_is_not_in_order():
    edges = inferred_edges(*columns([(0, 100, 1, 5), (40, 100, 1, 5)], []))
    assert not len(edges)
    in_a_queue = inferred_edges(*columns([(0, 100_000, 1, NO_ID), (98_000, 100_000, 1, NO_ID)], []))
    assert not len(in_a_queue)
    in_a_stream = inferred_edges(*columns([(0, 100_000, 1, 5), (98_000, 100_000, 1, 5)], []))
    assert len(in_a_stream) == 1
