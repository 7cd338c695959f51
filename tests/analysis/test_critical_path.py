"""The critical path against its definition: all paths are enumerated, and the schedule is replayed with a longer node."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import KERNEL, RUNTIME, Dag, build_dag, by_target
from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd.edges import edge_table
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Dispatch


@st.composite
def dags(draw, most=9):
    """A graph that a schedule could have produced: each node starts some time after its last predecessor ends."""
    n = draw(st.integers(1, most))
    predecessors = [sorted(draw(st.sets(st.integers(0, v - 1), max_size=3))) if v else [] for v in range(n)]
    start, end = [], []
    for v in range(n):
        ready = max((end[u] for u in predecessors[v]), default=100)
        start.append(ready + draw(st.integers(0, 5)))
        end.append(start[v] + draw(st.integers(0, 9)))
    # Node numbers are shuffled: order in the arrays must not matter.
    place = draw(st.permutations(range(n)))
    nodes = {v: place[v] for v in range(n)}
    edges = sorted((nodes[u], nodes[v]) for v in range(n) for u in predecessors[v])
    return n, [start[place.index(p)] for p in range(n)], [end[place.index(p)] for p in range(n)], edges


def make_dag(n, start, end, edges) -> Dag:
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    table = edge_table(pairs[:, 0], pairs[:, 1], 0, True)
    source, first, kind = by_target(table, n)
    names = tuple(f"s{i}" for i in range(min(n, 3)))
    symbol, order = np.arange(n, dtype=np.int32) % 3, np.array(topological(n, edges), np.int32)
    start, end = np.array(start, np.int64), np.array(end, np.int64)
    return Dag(start, end, symbol, names, (KERNEL,) * len(names), n, n, source, first, kind, order, len(edges), end - start)


def topological(n, edges):
    order, left = [], set(range(n))
    while left:
        ready = sorted(v for v in left if not any(t == v and s in left for s, t in edges))
        order.append(ready[0])
        left.remove(ready[0])
    return order


def delays(n, start, end, edges):
    origin = min(start)
    return [start[v] - max((end[s] for s, t in edges if t == v), default=origin) for v in range(n)]


def replay(n, start, end, edges, longer):
    """The last end time if each node's duration grew by `longer[v]`, from replaying the schedule."""
    delay, origin, ends = delays(n, start, end, edges), min(start), {}
    for v in topological(n, edges):
        ready = max((ends[s] for s, t in edges if t == v), default=origin)
        ends[v] = ready + delay[v] + end[v] - start[v] + longer.get(v, 0)
    return max(ends.values())


def all_paths(n, edges):
    """Every path from a node without predecessors to any node."""
    paths = [[v] for v in range(n) if not any(t == v for _, t in edges)]
    for path in paths:
        paths += [path + [t] for s, t in edges if s == path[-1]]
    return paths


@given(dags())
def test_the_critical_path_is_the_longest_path_and_accounts_for_the_whole_span(drawn):
    n, start, end, edges = drawn
    found = critical_path(make_dag(*drawn))
    nodes = found.nodes.tolist()
    delay = delays(n, start, end, edges)

    def weight(path):
        return sum(delay[v] + end[v] - start[v] for v in path)

    assert nodes in all_paths(n, edges)
    assert weight(nodes) == max(map(weight, all_paths(n, edges))) == max(end) - min(start) == found.length_ns
    assert found.work_ns == sum(end[v] - start[v] for v in nodes)
    assert (found.lead_ns, found.delay_ns) == (delay[nodes[0]], sum(delay[v] for v in nodes[1:]))
    assert found.work_ns + found.delay_ns + found.lead_ns == found.length_ns


@given(dags())
def test_a_node_can_grow_by_its_slack_and_no_more(drawn):
    slack = critical_path(make_dag(*drawn)).slack_ns.tolist()
    last = max(drawn[2])
    for v, room in enumerate(slack):
        assert replay(*drawn, {v: room}) == last
        assert replay(*drawn, {v: room + 1}) == last + 1


@given(dags())
def test_no_speed_up_of_a_symbol_beats_its_ceiling(drawn):
    n, start, end, edges = drawn
    dag = make_dag(*drawn)
    found = critical_path(dag)
    for symbol in found.symbols:
        mine = [v for v in range(n) if dag.names[dag.name_index[v]] == symbol.name]
        best = replay(*drawn, {v: start[v] - end[v] for v in mine}) - min(start)
        if symbol.speedup_ceiling is not None:
            assert best * symbol.speedup_ceiling >= found.length_ns * (1 - 1e-12)
        assert symbol.critical_path_ns == sum(end[v] - start[v] for v in found.nodes if v in mine)
        assert symbol.min_slack_ns == min(found.slack_ns[mine])
    assert sum(symbol.critical_path_ns for symbol in found.symbols) == found.work_ns
    assert [s.critical_path_ns for s in found.symbols] == sorted((s.critical_path_ns for s in found.symbols), reverse=True)


@given(dags())
def test_exposed_time_is_the_time_during_which_nothing_else_runs(drawn):
    n, start, end, _ = drawn
    exposed = critical_path(make_dag(*drawn)).exposed_ns.tolist()
    for v in range(n):
        instants = range(start[v], end[v])
        assert exposed[v] == sum(all(u == v or not start[u] <= t < end[u] for u in range(n)) for t in instants)


def test_clock_skew_between_dependent_nodes_is_tolerated(tmp_path):
    """b is recorded as starting before the end of a, on which it depends, as happens with hardware clocks."""
    work = [
        Dispatch("c", 95, 130, depends_on=[(1, "queue")]),
        Dispatch("b", 80, 100, depends_on=[(2, "queue")]),
        Dispatch("a", 80, 90),
    ]
    dag = build_dag(read_trace(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)))
    found = critical_path(dag)
    assert found.nodes.tolist() == [2, 1, 0]
    assert (found.length_ns, found.work_ns, found.delay_ns) == (50, 50, 0), "what two share counts once"


def test_circular_dependencies_are_refused(tmp_path):
    work = [Dispatch("a", 0, 10, depends_on=[(1, "queue")]), Dispatch("b", 0, 10, depends_on=[(0, "queue")])]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED))
    with pytest.raises(TraceError, match="form a cycle"):
        build_dag(trace)


@pytest.mark.parametrize("name", ["mi300x_bmm_a.db", "mi300x_bmm_b.db"])
def test_totals_of_recorded_runs_equal_those_of_sql(name, shared_data):
    path = shared_data / "rocpd" / name
    trace = read_trace(path)
    found = critical_path(build_dag(trace))
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    totals = dict(connection.execute("SELECT name, SUM(duration) FROM kernels GROUP BY name").fetchall())
    (span,) = connection.execute('SELECT MAX("end") - MIN(start) FROM kernels').fetchone()
    assert {symbol.name: symbol.total_ns for symbol in found.symbols if symbol.kind in (KERNEL, RUNTIME)} == totals
    assert found.length_ns == span
    assert found.length_ns == found.work_ns + found.host_ns + found.delay_ns + found.lead_ns
