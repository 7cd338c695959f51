"""The graph of dispatches and copies: nodes with their times, edges for what had to wait for what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd.tables import Edges, Trace


@dataclass(frozen=True)
class Dag:
    """n nodes (dispatches, then copies). start, end: ns, (n,). symbol: index into `names`, (n,).

    Predecessors of node v: `source[first[v]:first[v + 1]]`; `order` is a topological order, by start where that is one.
    """

    start: np.ndarray
    end: np.ndarray
    symbol: np.ndarray
    names: tuple[str, ...]
    dispatches: int
    source: np.ndarray
    first: np.ndarray
    order: np.ndarray
    edges: Edges

    def __len__(self) -> int:
        return len(self.start)

    @property
    def duration(self) -> np.ndarray:
        return self.end - self.start


def build_dag(trace: Trace) -> Dag:
    """The graph of a trace. TraceError if its dependencies form a circle."""
    dispatches, copies, edges = trace.dispatches, trace.copies, trace.edges
    start, end = np.r_[dispatches.start, copies.start], np.r_[dispatches.end, copies.end]
    symbol, names = _symbols(trace)
    by_target = np.lexsort((edges.source, edges.target))
    source, target = edges.source[by_target], edges.target[by_target]
    first = np.searchsorted(target, np.arange(len(start) + 1))
    order = _topological_order(start, end, source, target, trace)
    return Dag(start, end, symbol, names, len(dispatches), source, first, order, edges)


def _symbols(trace: Trace) -> tuple[np.ndarray, tuple[str, ...]]:
    """Index of each node's name, and the names: kernels (by kernel id), then kinds of copies, in alphabetical order."""
    ids, index = np.unique(trace.dispatches.kernel_id, return_inverse=True)
    kernel_names = [trace.kernels[int(id)].name if int(id) in trace.kernels else f"kernel {id}" for id in ids]
    labels = [*kernel_names, *trace.copies.name]
    names = tuple(sorted(set(labels)))
    place = {name: i for i, name in enumerate(names)}
    of_kernel = np.array([place[name] for name in kernel_names], np.int64)
    of_copies = np.array([place[name] for name in trace.copies.name], np.int64)
    return np.r_[of_kernel[index.reshape(-1)] if len(ids) else of_kernel, of_copies], names


def _topological_order(start: np.ndarray, end: np.ndarray, source: np.ndarray, target: np.ndarray, trace: Trace) -> np.ndarray:
    by_time = np.lexsort((np.arange(len(start)), end, start))
    rank = np.empty(len(start), np.int64)
    rank[by_time] = np.arange(len(start))
    if np.all(rank[source] < rank[target]):
        return by_time
    return _sorted_by_edges(by_time, source, target, trace)


def _sorted_by_edges(by_time: np.ndarray, source: np.ndarray, target: np.ndarray, trace: Trace) -> np.ndarray:
    """Kahn's algorithm, for traces whose clocks make a node start before what it depends on has ended."""
    waiting = np.bincount(target, minlength=len(by_time))
    by_source = np.argsort(source, kind="stable")
    first = np.searchsorted(source[by_source], np.arange(len(by_time) + 1))
    ready = [int(node) for node in by_time[::-1] if waiting[node] == 0]
    order = []
    while ready:
        node = ready.pop()
        order.append(node)
        for edge in by_source[first[node] : first[node + 1]]:
            waiting[target[edge]] -= 1
            if waiting[target[edge]] == 0:
                ready.append(int(target[edge]))
    if len(order) < len(by_time):
        raise TraceError(f"the dependencies in {trace.path} form a circle", "profile the program again")
    return np.array(order, np.int64)
