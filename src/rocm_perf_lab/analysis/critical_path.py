"""The chain of dispatches and copies that decides when the last of them ends.

The model (critical path method): a node starts `delay` after the last of its predecessors has ended, or `delay` after the
start of the trace if it has none; both its delay and its duration are as observed, so the model replays the trace exactly.
The critical path runs back from the node that ends last, at each node to the predecessor that ended last. Its length is
the whole span from the first start to the last end: durations on the path, plus delays between them (launch overhead, and
what the host took to submit), plus the delay before its first node. The slack of a node is by how much it could take longer
without the last end moving.

A symbol with the fraction f of the path can speed the span up by at most 1 / (1 - f) (Amdahl), however fast it gets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.analysis.dag import Dag


@dataclass(frozen=True)
class SymbolOnPath:
    """What one kernel symbol or kind of copy has to do with the critical path. Times in ns, summed over its nodes.

    share: of all nodes' time. fraction: of the path's length. speedup_ceiling: None where the symbol is the whole path.
    overlap_potential_ns: time in which a node of the symbol runs alone although its slack would let it run beside others.
    """

    name: str
    is_copy: bool
    nodes: int
    nodes_on_path: int
    total_ns: int
    share: float
    critical_path_ns: int
    fraction: float
    speedup_ceiling: float | None
    min_slack_ns: int
    mean_slack_ns: float
    overlap_potential_ns: int


@dataclass(frozen=True)
class CriticalPath:
    """nodes: of the path, in order. length_ns = work_ns + delay_ns + lead_ns.

    work_ns: durations on the path. delay_ns: between its nodes. lead_ns: from the first start of all to the path's first.
    slack_ns, delay_of_ns, exposed_ns: for every node of the graph, (n,); exposed is the time it ran alone.
    """

    nodes: np.ndarray
    length_ns: int
    work_ns: int
    delay_ns: int
    lead_ns: int
    slack_ns: np.ndarray
    delay_of_ns: np.ndarray
    exposed_ns: np.ndarray
    symbols: tuple[SymbolOnPath, ...]


def critical_path(dag: Dag) -> CriticalPath:
    """The critical path of a graph with at least one node."""
    binding = _binding_predecessors(dag)
    origin = int(dag.start.min())
    ready = np.where(binding >= 0, dag.end[binding], origin)
    delay = dag.start - ready
    nodes = _walk_back(binding, int(np.argmax(dag.end)))
    slack = _slack(dag, delay)
    exposed = _time_alone(dag.start, dag.end)
    length = int(dag.end.max()) - origin
    return CriticalPath(
        nodes=nodes,
        length_ns=length,
        work_ns=int(dag.duration[nodes].sum()),
        delay_ns=int(delay[nodes[1:]].sum()),
        lead_ns=int(delay[nodes[0]]),
        slack_ns=slack,
        delay_of_ns=delay,
        exposed_ns=exposed,
        symbols=_symbols_on_path(dag, nodes, length, slack, exposed),
    )


def _binding_predecessors(dag: Dag) -> np.ndarray:
    """For each node the predecessor that ended last (of equal ones the first), or -1."""
    target = np.repeat(np.arange(len(dag)), np.diff(dag.first))
    ascending = np.lexsort((-dag.source, dag.end[dag.source], target))
    binding = np.full(len(dag), -1, np.int64)
    binding[target[ascending]] = dag.source[ascending]  # of several writes to a place the last one stays
    return binding


def _walk_back(binding: np.ndarray, last: int) -> np.ndarray:
    path = [last]
    while (before := int(binding[path[-1]])) >= 0:
        path.append(before)
    return np.array(path[::-1], np.int64)


def _slack(dag: Dag, delay: np.ndarray) -> np.ndarray:
    """The backward pass: the latest end of a node is what its successors' latest starts, less their delays, allow."""
    # Plain lists: the pass is sequential, and indexing NumPy scalars costs ten times as much.
    latest_end = [int(dag.end.max())] * len(dag)
    takes = (dag.duration + delay).tolist()
    source, first = dag.source.tolist(), dag.first.tolist()
    for node in reversed(dag.order.tolist()):
        latest = latest_end[node] - takes[node]
        for before in source[first[node] : first[node + 1]]:
            if latest < latest_end[before]:
                latest_end[before] = latest
    return np.array(latest_end, np.int64) - dag.end


def _time_alone(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """For each interval the time in which no other interval is open, ns."""
    times = np.r_[start, end]
    order = np.argsort(times, kind="stable")
    open_after = np.cumsum(np.r_[np.ones(len(start), np.int64), -np.ones(len(end), np.int64)][order])
    times = times[order]
    alone = np.r_[0, np.cumsum(np.where(open_after[:-1] == 1, np.diff(times), 0))]
    return alone[np.searchsorted(times, end)] - alone[np.searchsorted(times, start)]


def _symbols_on_path(
    dag: Dag, path: np.ndarray, length: int, slack: np.ndarray, exposed: np.ndarray
) -> tuple[SymbolOnPath, ...]:
    """Per symbol, the one with the most time on the path first; ties by total time, then name."""
    on_path = np.zeros(len(dag), bool)
    on_path[path] = True
    duration = dag.duration
    everything = int(duration.sum())
    found = []
    for index, name in enumerate(dag.names):
        nodes = np.flatnonzero(dag.symbol == index)
        on = nodes[on_path[nodes]]
        total, critical = int(duration[nodes].sum()), int(duration[on].sum())
        fraction = critical / length if length else 0.0
        found.append(
            SymbolOnPath(
                name=name,
                is_copy=bool(nodes[0] >= dag.dispatches),
                nodes=len(nodes),
                nodes_on_path=len(on),
                total_ns=total,
                share=total / everything if everything else 0.0,
                critical_path_ns=critical,
                fraction=fraction,
                speedup_ceiling=1 / (1 - fraction) if fraction < 1 else None,
                min_slack_ns=int(slack[nodes].min()),
                mean_slack_ns=float(slack[nodes].mean()),
                overlap_potential_ns=int(np.minimum(slack[nodes], exposed[nodes]).sum()),
            )
        )
    return tuple(sorted(found, key=lambda s: (-s.critical_path_ns, -s.total_ns, s.name)))
