"""The graph of dispatches, copies and host calls: nodes with their times, and edges for dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.lazy_jit import lazy_jit
from rocm_perf_lab.rocpd.edges import inverse, time_order
from rocm_perf_lab.rocpd.factorize import factorize
from rocm_perf_lab.rocpd.trace import Calls, Edges, Trace

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

# RUNTIME: a kernel of the HIP runtime, not of the program.
KERNEL, RUNTIME, COPY, CALL = "kernel", "runtime kernel", "copy", "call"

_NO_INTEGERS = np.empty(0, np.int32)
NO_CALLS = Calls(_NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS, names=())


@dataclass(frozen=True)
class Dag:
    """n nodes (dispatches, copies and calls, in this order). start, end: ns, (n,) int64.

    name_index: (n,) index into `names` and `kinds` (KERNEL, RUNTIME, COPY or CALL). gpu_nodes: the number of nodes that are not
    calls.
    The predecessors of node v are `source[first[v]:first[v + 1]]`; the same slice of `kind` contains the kinds of these edges,
    as indices into Edges.KINDS.
    exact_edges: how many of the edges are exact. order: a topological order, (n,); the order of start times if that is
    topological. took: (n,) ns: the duration of a dispatch or copy, the whole duration of a call; -1 for a call's second node.
    """

    start: Integers
    end: Integers
    name_index: Integers
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    dispatches: int
    gpu_nodes: int
    source: Integers
    first: Integers
    kind: Integers
    order: Integers
    exact_edges: int
    took: Integers

    def __len__(self) -> int:
        return len(self.start)

    @property
    def duration(self) -> Integers:
        return self.end - self.start

    @property
    def origin(self) -> int:
        """The start of the GPU's span: the earliest start of any dispatch or copy."""
        return int(self.start[: self.gpu_nodes].min())


def build_dag(trace: Trace) -> Dag:
    """The graph of a trace. Raises TraceError if its dependencies form a cycle."""
    dispatches, copies, calls, edges = trace.dispatches, trace.copies, trace.calls or NO_CALLS, trace.edges
    start = np.concatenate([dispatches.start, copies.start, calls.start]).astype(np.int64)
    end = np.concatenate([dispatches.end, copies.end, calls.end]).astype(np.int64)
    name_index, names, kinds = _names_of_nodes(trace, calls)
    source, first, kind = by_target(edges, len(start))
    order = _topological_order(start, end, edges, source, first)
    if order is None:
        raise TraceError(f"the dependencies in {trace.path} form a cycle", "profile the program again")
    gpu_nodes = len(dispatches) + len(copies)
    exact = int(np.count_nonzero(edges.exact))
    took = np.concatenate([(end - start)[:gpu_nodes], calls.took])
    return Dag(start, end, name_index, names, kinds, len(dispatches), gpu_nodes, source, first, kind, order, exact, took)


def _names_of_nodes(trace: Trace, calls: Calls) -> tuple[Integers, tuple[str, ...], tuple[str, ...]]:
    """The name index of each node, and the names and their kinds: kernels, kinds of copies, calls, each in sorted order."""
    ids, of_dispatch = factorize(trace.dispatches.kernel_id)
    kernel_names = [trace.kernels[int(id)].name if int(id) in trace.kernels else f"kernel {id}" for id in ids]
    of_runtime = {kernel.name for kernel in trace.kernels.values() if kernel.is_runtime}
    parts: list[Integers] = []
    names: list[str] = []
    kinds: list[str] = []
    for kind, labels, index in (
        (KERNEL, kernel_names, of_dispatch),
        (COPY, trace.copies.names, trace.copies.name_index),
        (CALL, calls.names, calls.name_index),
    ):
        different = sorted(set(labels))
        index_of = {name: len(names) + number for number, name in enumerate(different)}
        parts.append(np.array([index_of[label] for label in labels], np.int32)[index] if len(labels) else index)
        names += different
        kinds += [RUNTIME if kind == KERNEL and name in of_runtime else kind for name in different]
    return np.concatenate(parts).astype(np.int32), tuple(names), tuple(kinds)


def by_target(edges: Edges, nodes: int) -> tuple[Integers, Integers, Integers]:
    """The edges as compressed rows: sources and kinds sorted by target, and where each target's edges begin, (nodes + 1,)."""
    first = np.zeros(nodes + 1, np.int64)
    np.cumsum(np.bincount(edges.target, minlength=nodes), out=first[1:])
    source, kind = np.empty(len(edges), np.int32), np.empty(len(edges), np.int8)
    _sort_by_target(edges.source, edges.target, edges.kind, first[:-1].copy(), source, kind)
    return source, first, kind


@lazy_jit
def _sort_by_target(
    source: Integers, target: Integers, kind: Integers, next_slot: Integers, to_source: Integers, to_kind: Integers
) -> None:
    for edge in range(len(source)):
        slot = next_slot[target[edge]]
        to_source[slot] = source[edge]
        to_kind[slot] = kind[edge]
        next_slot[target[edge]] = slot + 1


def _topological_order(start: Integers, end: Integers, edges: Edges, source: Integers, first: Integers) -> Integers | None:
    """The nodes, each after all of its predecessors; None if there is a cycle."""
    by_time = time_order(start, end)
    rank = inverse(by_time)
    if np.all(rank[edges.source] < rank[edges.target]):
        return by_time
    # With clock skew, a node can appear to start before a node that it depends on has ended.
    order = np.empty(len(start), np.int32)
    first_successor = np.zeros(len(start) + 1, np.int64)
    np.cumsum(np.bincount(edges.source, minlength=len(start)), out=first_successor[1:])
    ordered = _sort_by_edges(by_time, source, first, first_successor, np.empty(len(edges), np.int32), order)
    return order if ordered == len(start) else None


@lazy_jit
def _sort_by_edges(
    by_time: Integers, source: Integers, first: Integers, first_successor: Integers, successor: Integers, order: Integers
) -> int:
    """Kahn's algorithm: fills `order`, and returns the number of nodes that are neither in a cycle nor after one.

    first_successor: where each node's successors begin.
    """
    nodes = len(by_time)
    waiting = np.zeros(nodes, np.int64)
    filled = first_successor.copy()
    for node in range(nodes):
        waiting[node] = first[node + 1] - first[node]
        for edge in range(first[node], first[node + 1]):
            successor[filled[source[edge]]] = node
            filled[source[edge]] += 1
    ready = np.empty(nodes, np.int32)
    height = 0
    for position in range(nodes - 1, -1, -1):
        if waiting[by_time[position]] == 0:
            ready[height] = by_time[position]
            height += 1
    done = 0
    while height:
        height -= 1
        node = ready[height]
        order[done] = node
        done += 1
        for edge in range(first_successor[node], first_successor[node + 1]):
            waiting[successor[edge]] -= 1
            if waiting[successor[edge]] == 0:
                ready[height] = successor[edge]
                height += 1
    return done
