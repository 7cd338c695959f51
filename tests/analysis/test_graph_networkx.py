"""Critical path, slack and what-if against networkx, on graphs with every kind of edge and arbitrary times."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocm_perf_lab.analysis.program_time_stack as program_stack_module
import rocm_perf_lab.analysis.what_if as what_if_module
from rocm_perf_lab import lazy_jit
from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import CALL, KERNEL, Dag, _topological_order, by_target
from rocm_perf_lab.analysis.program_time_stack import program_stack
from rocm_perf_lab.analysis.thread_trace.time_stack import TimeStack
from rocm_perf_lab.analysis.what_if import GraphReplay, Speedup, what_if
from rocm_perf_lab.rocpd.edges import edge_table
from rocm_perf_lab.rocpd.trace import Edges

LAUNCH, QUEUE, WAIT = (Edges.KINDS.index(kind) for kind in ("launch", "queue", "wait"))
SOURCE, SINK = "source", "sink"
FAR = 10**6  # so that the longest path leads from source to sink, whatever the signs of the delays


def random_dag(random: np.random.Generator, gpu_nodes: int, calls: int, max_edges: int) -> Dag:
    """Nodes with random times; edges follow a random order of the nodes, not their times. Calls launch and wait."""
    n = gpu_nodes + calls
    order = random.permutation(n).astype(np.int32)
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    pairs = {tuple(pair) for pair in random.integers(0, n, (random.integers(0, max_edges + 1), 2)).tolist()}
    pairs = np.array(sorted((s, t) for s, t in pairs if place[s] < place[t]), np.int64).reshape(-1, 2)
    from_call, to_call = pairs[:, 0] >= gpu_nodes, pairs[:, 1] >= gpu_nodes
    kind = np.where(from_call & ~to_call, LAUNCH, np.where(to_call, WAIT, QUEUE))
    source, first, kinds = by_target(edge_table(pairs[:, 0], pairs[:, 1], kind, True), n)
    start = random.integers(0, 100, n)
    end = start + random.integers(0, 40, n)
    last = end[:gpu_nodes].max()
    start, end = np.minimum(start, last), np.minimum(end, last)  # as calls are cut to the GPU's span
    names = ("a", "b", "c", "call")
    symbol = np.where(np.arange(n) < gpu_nodes, random.integers(0, 3, n), 3).astype(np.int32)
    kind_of = (KERNEL, KERNEL, KERNEL, CALL)
    of = (gpu_nodes, gpu_nodes, source, first, kinds, order, len(pairs), end - start)
    return Dag(start, end, symbol, names, kind_of, *of)


@st.composite
def dags(draw):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_dag(random, draw(st.integers(1, 12)), draw(st.integers(0, 6)), draw(st.integers(0, 40)))


def edges_of(dag: Dag) -> list[tuple[int, int, int]]:
    return [(int(dag.source[e]), v, int(dag.kind[e])) for v in range(len(dag)) for e in range(dag.first[v], dag.first[v + 1])]


def as_networkx(dag: Dag, duration: np.ndarray) -> networkx.DiGraph:
    """Edges lead from start to start, weighted with the time that must pass. The delays follow from the recorded times."""
    ready = {v: [] for v in range(len(dag))}
    for s, t, kind in edges_of(dag):
        ready[t].append(int(dag.start[s] if kind == LAUNCH else dag.end[s]))
    origin = int(dag.start[: dag.gpu_nodes].min())
    delay = [int(dag.start[v]) - max(ready[v], default=origin) for v in range(len(dag))]
    graph = networkx.DiGraph()
    for v in range(len(dag)):
        if not ready[v]:
            graph.add_edge(SOURCE, v, weight=FAR + delay[v])
        if v < dag.gpu_nodes:
            graph.add_edge(v, SINK, weight=FAR + int(duration[v]))
    for s, t, kind in edges_of(dag):
        graph.add_edge(s, t, weight=delay[t] + (0 if kind == LAUNCH else int(duration[s])), launch=kind == LAUNCH)
    return graph


def longest(graph: networkx.DiGraph) -> int:
    return networkx.path_weight(graph, networkx.dag_longest_path(graph), "weight") - 2 * FAR


def longest_to_sink(graph: networkx.DiGraph) -> dict:
    """Node -> weight of the heaviest path to the sink; nodes without one are left out."""
    found = {SINK: 0}
    for v in reversed(list(networkx.topological_sort(graph))):
        weights = [graph.edges[v, t]["weight"] + found[t] for t in graph.successors(v) if t in found]
        if weights:
            found[v] = max(weights)
    return found


@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.booleans())
def test_nodes_are_in_topological_order(nodes, seed, in_time):
    """Clocks may disagree; there is no such order if dependencies form a cycle."""
    random = np.random.default_rng(seed)
    pairs = random.integers(0, nodes, (random.integers(0, 2 * nodes), 2))
    pairs = np.unique(np.sort(pairs) if in_time else pairs, axis=0)
    edges = edge_table(pairs[:, 0], pairs[:, 1], np.zeros(len(pairs), np.int64), True)
    source, first, _ = by_target(edges, nodes)
    start = np.arange(nodes) if in_time else random.integers(0, 9, nodes)
    order = _topological_order(start, start + 1, edges, source, first)
    graph = networkx.DiGraph(pairs.tolist())
    assert (order is None) == (not networkx.is_directed_acyclic_graph(graph))
    if order is not None:
        place = np.argsort(order)
        assert sorted(order.tolist()) == list(range(nodes)) and all(place[s] < place[t] for s, t in pairs.tolist())


@given(dags())
def test_the_length_equals_that_of_the_longest_path(dag):
    found = critical_path(dag)
    graph = as_networkx(dag, dag.duration)
    assert found.length_ns == longest(graph)
    ours = [SOURCE, *found.nodes.tolist(), SINK]
    assert networkx.path_weight(graph, ours, "weight") - 2 * FAR == found.length_ns
    assert found.length_ns == found.work_ns + found.host_ns + found.delay_ns + found.lead_ns


@given(dags())
def test_slack_is_the_difference_of_the_forward_and_backward_passes(dag):
    found = critical_path(dag)
    graph = as_networkx(dag, dag.duration)
    to_sink = longest_to_sink(graph)
    origin = int(dag.start[: dag.gpu_nodes].min())
    for v in range(dag.gpu_nodes):
        after = [graph.edges[v, t]["weight"] + to_sink[t] for t in graph.successors(v) if t in to_sink]
        assert found.slack_ns[v] == found.length_ns - (int(dag.start[v]) - origin) - (max(after) - FAR)


@given(dags())
def test_a_symbol_is_the_sum_of_its_nodes(dag):
    found = critical_path(dag)
    path, took, slack = set(found.nodes.tolist()), dag.took.tolist(), found.slack_ns.tolist()
    total_on_gpu = sum(took[v] for v in range(dag.gpu_nodes))
    assert {s.name for s in found.symbols} == {dag.names[k] for k in dag.name_index}
    for symbol in found.symbols:
        own = [v for v in range(len(dag)) if dag.names[dag.name_index[v]] == symbol.name]
        assert (symbol.times, symbol.times_on_path) == (len(own), len(path & {*own}))
        assert symbol.total_ns == sum(took[v] for v in own) and symbol.kind == dag.kinds[dag.name_index[own[0]]]
        assert symbol.min_slack_ns == min(slack[v] for v in own)
        assert symbol.mean_slack_ns == pytest.approx(sum(slack[v] for v in own) / len(own))
        assert symbol.fraction == (symbol.critical_path_ns / found.length_ns if found.length_ns else 0)
        assert symbol.speedup_ceiling == (pytest.approx(1 / (1 - symbol.fraction)) if symbol.fraction < 1 else None)
        if symbol.name == "call":
            assert symbol.share is None
        else:
            assert symbol.share == (symbol.total_ns / total_on_gpu if total_on_gpu else 0)
    # Host code between two calls belongs to neither.
    steps = list(zip(found.nodes.tolist(), found.counted.tolist(), found.nodes.tolist()[1:], strict=False))
    calls = [(u, v) for u, counted, v in steps if counted and min(u, v) >= dag.gpu_nodes]
    between = sum(max(0, int(dag.start[v] - dag.end[u])) for u, v in calls)
    assert sum(s.critical_path_ns for s in found.symbols) == found.length_ns - found.delay_ns - found.lead_ns - between


@given(dags(), st.sampled_from(["a", "b", "a|c", "."]), st.sampled_from([1.0, 1.5, 2.0, 7.0, 1000.0]))
def test_what_if_is_the_longest_path_with_shorter_kernels(dag, pattern, factor):
    found = critical_path(dag)
    (scenario, *tried), _ = what_if(dag, found, [Speedup(pattern, factor)])
    faster = np.isin(dag.name_index, {"a": [0], "b": [1], "a|c": [0, 2], ".": [0, 1, 2]}[pattern])
    for of, mask, k in [
        (scenario, faster, factor),
        *((one, dag.name_index == "abc".index(one.kernels[0]), one.factor) for one in tried),
    ]:
        shorter = np.zeros(len(dag)) if k is None else np.rint(dag.duration * (1 / k))
        assert of.span_ns == longest(as_networkx(dag, np.where(mask, shorter, dag.duration)))
        assert of.speedup is None or of.speedup == pytest.approx(found.length_ns / of.span_ns)


@given(dags(), st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=3, max_size=3))
def test_kernels_may_get_shorter_by_different_shares(dag, left):
    found = critical_path(dag)
    span, dominant, fraction = GraphReplay(dag, found).run(dict(zip("abc", left, strict=True)))
    share = np.array([*left, 1.0])[dag.name_index]
    assert span == longest(as_networkx(dag, np.rint(dag.duration * share)))
    assert 0 <= fraction <= 1 and (dominant is None or left["abc".index(dominant)] > 0)


worlds = st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=3, max_size=3), min_size=1, max_size=5)


@given(dags(), worlds, st.sampled_from([1, 10**6]))
def test_scenarios_evaluated_together_equal_those_evaluated_one_by_one(dag, worlds, room):
    replay = GraphReplay(dag, critical_path(dag))
    left = [dict(zip("abc", world, strict=True)) for world in worlds]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(what_if_module, "_ROOM", room)
        assert replay.spans(left) == [replay.run(one)[0] for one in left]


# Kernel -> the causes of its time.
CAUSES_OF = {"a": ("atomics", "barriers"), "b": ("barriers", "launch")}


@st.composite
def stacks(draw):
    """Stacks for a and b, with arbitrary times that never grow as causes are removed."""
    found = {}
    for kernel, causes in CAUSES_OF.items():
        times = [100]
        for taken in range(1, 1 << len(causes)):
            times.append(draw(st.integers(0, min(times[taken & ~(1 << i)] for i in range(len(causes)) if taken >> i & 1))))
        found[kernel] = TimeStack(100, (), times[-1], {}, (), (), causes, tuple(times))
    return found


@given(dags(), stacks(), st.booleans())
def test_a_programs_stack_is_the_mean_loss_of_its_longest_path_over_all_orders(dag, stacks, draws):
    path = critical_path(dag)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program_stack_module, "MAX_EXACT_CAUSES", -1 if draws else 10)
        found = program_stack(stacks, dag, path)
    if found is None:
        assert not path.length_ns or not {*CAUSES_OF} & {dag.names[k] for k in dag.name_index}
        return

    def span(taken):
        left = {name: stack.without(taken) / 100 for name, stack in stacks.items()}
        share = np.array([left.get(name, 1.0) for name in dag.names])[dag.name_index]
        return longest(as_networkx(dag, np.rint(dag.duration * share)))

    causes = [part.cause for part in found.parts]
    assert sum((part.ns for part in found.parts), Fraction(found.rest_ns)) == found.span_ns == path.length_ns
    assert found.rest_ns == span(causes) and found.kernels_ns + found.copies_ns <= found.rest_ns + found.span_ns
    left_out = {name for of in CAUSES_OF.values() for name in of} - {*causes}
    assert all(span([one]) >= found.span_ns * 0.999 for one in left_out)
    orders = list(itertools.permutations(causes))
    for part in found.parts:
        gains = [span(order[: order.index(part.cause)]) - span(order[: order.index(part.cause) + 1]) for order in orders]
        exact = Fraction(sum(gains), len(orders))
        assert part.ns >= 0 and (abs(part.ns - exact) <= 2 * part.within_ns + 1e-9 if draws else part.ns == exact)
        assert part.first_ns == found.span_ns - span([part.cause])
        assert part.last_ns == span([one for one in causes if one != part.cause]) - found.rest_ns
        assert part.kernels == tuple(name for name, of in CAUSES_OF.items() if part.cause in of)
    for taken, ns in enumerate(found.without_ns):
        assert ns == span([one for i, one in enumerate(found.causes) if taken >> i & 1])
    assert (found.orders is None) == bool(found.without_ns) == (not draws or not causes)


@given(dags())
def test_the_dominant_kernel_changes_at_the_reported_factor(dag):
    found = critical_path(dag)
    _, shift = what_if(dag, found, [])
    if shift is None:
        return

    def dominant(factor):
        (scenario, *_), _ = what_if(dag, found, [Speedup(f"^{shift.kernel}$", factor)])
        return scenario.dominant

    assert dominant(1.0) == shift.kernel
    if shift.factor is None:
        assert all(dominant(factor) == shift.kernel for factor in (1.25, 2.0, 5.0, 100.0))
    else:
        assert dominant(shift.factor) == shift.then != shift.kernel
        # Between two steps, dominance can shift and shift back: only the steps themselves are certain.
        assert all(dominant(step) == shift.kernel for step in (1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0) if step < shift.factor)


@pytest.mark.parametrize("seed", range(3))
def test_compiled_loops_give_the_same_results_as_plain_ones(seed, monkeypatch):
    dag = random_dag(np.random.default_rng(seed), 300, 60, 900)
    results = []
    for many in (10**9, 0):
        monkeypatch.setattr(lazy_jit, "MIN_COMPILED_ELEMENTS", many)
        path = critical_path(dag)
        results.append((path, what_if(dag, path, [Speedup("a", 3.0)])))
    (plain, plain_what_if), (fast, fast_what_if) = results
    for name, value in vars(plain).items():
        assert np.array_equal(value, getattr(fast, name)) if isinstance(value, np.ndarray) else value == getattr(fast, name)
    assert plain_what_if == fast_what_if
