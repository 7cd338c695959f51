"""The chain of dispatches, copies and host calls that determines when the last work on the GPU ends.

The model (critical path method): a node starts `delay` after the last of its predecessors has ended, or, if it has none,
`delay` after the start of the GPU's span. Work launched by a call waits only for the start of that call. Delays and durations
are the observed ones, so the model replays the trace exactly. The critical path is traced backwards from the dispatch or copy
that ends last: from each node to the predecessor that was ready last. Its length is the GPU's span from the first start to the
last end and consists of work on the path, host calls and host code on the path, delays between its nodes (launch latency,
wake-up), and the delay before its first node. The slack of a node is how much longer it could take without delaying the last
end; for a call that no GPU work follows, the slack lasts until the span ends.

Speeding up a symbol that makes up the fraction f of the path shortens the span by a factor of at most 1 / (1 - f) (Amdahl).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.dag import CALL, KERNEL, Dag
from rocm_perf_lab.lazy_jit import lazy_jit
from rocm_perf_lab.rocpd.edges import time_order
from rocm_perf_lab.rocpd.trace import Edges

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers, Mask

_LAUNCH = Edges.LAUNCH
_QUEUE = Edges.KINDS.index("queue")
_FOREVER = 1 << 60  # ns


@dataclass(frozen=True)
class SymbolOnPath:
    """How one kernel symbol, kind of copy or host call contributes to the critical path. Times: ns, summed over its nodes.

    times, times_on_path: how often it ran in total and on the path; a call that waits has two nodes but counts once. total_ns:
    for calls, from entry to return, including time outside the GPU's span.
    share: its share of the time of all kernels and copies; None for calls. fraction: its share of the path's length.
    speedup_ceiling: None if the symbol makes up the whole path. overlap_potential_ns: see _overlap.
    """

    name: str
    kind: str  # KERNEL, RUNTIME, COPY or CALL
    times: int
    times_on_path: int
    total_ns: int
    share: float | None
    critical_path_ns: int
    fraction: float
    speedup_ceiling: float | None
    min_slack_ns: int
    mean_slack_ns: float
    overlap_potential_ns: int


@dataclass(frozen=True)
class CriticalPath:
    """nodes: the path, in order. counted: whether a node's own time is on the path (false for a call that only launched the
    next node). length_ns = work_ns + host_ns + delay_ns + lead_ns.

    work_ns: in dispatches and copies. host_ns: in host calls, and between calls on the same thread. delay_ns: between other
    nodes. lead_ns: from the start of the GPU's span to the path's first node.
    For every node, (n,): binding: the predecessor that was ready last, or -1; delay_of_ns: from that moment to the node's start
    (negative if that predecessor is recorded as ending later; work_ns and host_ns count such overlaps once); slack_ns;
    overlap_ns: see _overlap; exposed_ns: time during which no other GPU node ran, (gpu_nodes,).
    """

    nodes: Integers
    counted: Mask
    length_ns: int
    work_ns: int
    host_ns: int
    delay_ns: int
    lead_ns: int
    binding: Integers
    slack_ns: Integers
    delay_of_ns: Integers
    exposed_ns: Integers
    overlap_ns: Integers
    symbols: tuple[SymbolOnPath, ...]


def critical_path(dag: Dag) -> CriticalPath:
    """The critical path of a graph with at least one dispatch or copy."""
    count, origin = len(dag), dag.origin
    binding, delay = np.empty(count, np.int32), np.empty(count, np.int64)
    overlap = np.zeros(count, np.int64)
    _bind(dag.start, dag.end, dag.source, dag.first, dag.kind, origin, binding, delay)
    _overlap(dag.start, dag.end, dag.source, dag.first, dag.kind, delay, origin, overlap)
    last = int(np.argmax(dag.end[: dag.gpu_nodes]))
    nodes, counted = walk_back(dag, binding, last)
    latest_end = np.full(count, dag.end[last], np.int64)
    latest_end[dag.gpu_nodes :] += _FOREVER  # the GPU does not wait for calls that no GPU work follows
    latest_start = np.full(count, np.iinfo(np.int64).max, np.int64)
    _latest(dag.start, dag.end, delay, dag.source, dag.first, dag.kind, dag.order, latest_end, latest_start)
    latest_end[dag.gpu_nodes :] = np.minimum(latest_end[dag.gpu_nodes :], dag.end[last])
    latest_end -= dag.end
    exposed = _time_alone(dag.start[: dag.gpu_nodes], dag.end[: dag.gpu_nodes])
    is_call = nodes >= dag.gpu_nodes
    waited = np.maximum(delay, 0)  # a delay is negative where recorded times overlap: time shared by two nodes counts once
    takes = np.where(counted, dag.end[nodes] - dag.start[nodes], 0) + np.minimum(delay[nodes], 0)
    between_calls = is_call & np.r_[False, is_call[:-1] & counted[:-1]]
    host = int(takes[is_call].sum() + waited[nodes[between_calls]].sum())
    length = int(dag.end[last]) - origin
    return CriticalPath(
        nodes=nodes,
        counted=counted,
        length_ns=length,
        work_ns=int(takes[~is_call].sum()),
        host_ns=host,
        delay_ns=int(waited[nodes[1:]][~between_calls[1:]].sum()),
        lead_ns=int(waited[nodes[0]]),
        binding=binding,
        slack_ns=latest_end,
        delay_of_ns=delay,
        exposed_ns=exposed,
        overlap_ns=overlap,
        symbols=_symbols_on_path(dag, nodes, takes, length, latest_end, overlap),
    )


def dominant_symbol(path: CriticalPath) -> SymbolOnPath:
    """The program's own kernel with the most time on the path, or, if none ran, the symbol with the most time."""
    own = (symbol for symbol in path.symbols if symbol.kind == KERNEL)
    return next(own, path.symbols[0])


def walk_back(dag: Dag, binding: Integers, last: int) -> tuple[Integers, Mask]:
    """The nodes of the chain that ends in `last`, in order, and which of them contribute their own time."""
    nodes, counted = np.empty(len(dag), np.int32), np.empty(len(dag), np.bool_)
    steps = _walk(binding, dag.source, dag.first, dag.kind, last, nodes, counted)
    return nodes[:steps][::-1].copy(), counted[:steps][::-1].copy()


@lazy_jit
def _bind(
    start: Integers,
    end: Integers,
    source: Integers,
    first: Integers,
    kind: Integers,
    origin: int,
    binding: Integers,
    delay: Integers,
) -> None:
    """For each node, find the predecessor that was ready last (the first if several tie) and the delay since then."""
    for node in range(len(start)):
        binding[node] = -1
        ready = origin
        for edge in range(first[node], first[node + 1]):
            before = source[edge]
            done = start[before] if kind[edge] == _LAUNCH else end[before]
            other = binding[node]
            if other < 0 or done > ready or (done == ready and before < other):
                ready = done
                binding[node] = before
        delay[node] = start[node] - ready


@lazy_jit
def _walk(
    binding: Integers, source: Integers, first: Integers, kind: Integers, last: int, nodes: Integers, counted: Mask
) -> int:
    steps = 0
    node = last
    own = True
    while node >= 0:
        nodes[steps] = node
        counted[steps] = own
        steps += 1
        before = binding[node]
        if before >= 0:
            own = False
            for edge in range(first[node], first[node + 1]):
                if source[edge] == before and kind[edge] != _LAUNCH:
                    own = True
        node = before
    return steps


@lazy_jit
def _latest(
    start: Integers,
    end: Integers,
    delay: Integers,
    source: Integers,
    first: Integers,
    kind: Integers,
    order: Integers,
    latest_end: Integers,
    latest_start: Integers,
) -> None:
    """The backward pass: a node must end, and a launching call must start, early enough for all of its successors."""
    for position in range(len(order) - 1, -1, -1):
        node = order[position]
        latest = latest_end[node] - (end[node] - start[node])
        if latest_start[node] < latest:
            latest = latest_start[node]
        latest -= delay[node]
        for edge in range(first[node], first[node + 1]):
            before = source[edge]
            if kind[edge] == _LAUNCH:
                if latest < latest_start[before]:
                    latest_start[before] = latest
            elif latest < latest_end[before]:
                latest_end[before] = latest


@lazy_jit
def _overlap(
    start: Integers,
    end: Integers,
    source: Integers,
    first: Integers,
    kind: Integers,
    delay: Integers,
    origin: int,
    overlap: Integers,
) -> None:
    """For each node, how long it could have run concurrently with its predecessor in the queue if only the queue's order held
    it back.

    This time begins when everything else that the node needs is ready, but no earlier than that predecessor starts, and lasts
    until the predecessor ends; it is capped at the node's own duration. It is 0 if something else is ready only after the
    predecessor ends.
    """
    for node in range(len(start)):
        others_ready = origin
        queue_end = origin
        queue_start = origin
        for edge in range(first[node], first[node + 1]):
            before = source[edge]
            if kind[edge] == _QUEUE:
                if end[before] > queue_end:
                    queue_end = end[before]
                    queue_start = start[before]
            else:
                done = start[before] if kind[edge] == _LAUNCH else end[before]
                others_ready = max(others_ready, done)
        room = min(queue_end - max(others_ready, queue_start), end[node] - start[node])
        if room > 0:
            overlap[node] = room


def _time_alone(start: Integers, end: Integers) -> Integers:
    """For each interval, the time in ns during which no other interval is open."""
    order = time_order(start, end)
    by_end = order[np.argsort(end[order], kind="stable")]
    exposed = np.zeros(len(start), np.int64)
    _sweep(start, end, order, by_end, exposed)
    return exposed


@lazy_jit
def _sweep(start: Integers, end: Integers, order: Integers, by_end: Integers, exposed: Integers) -> None:
    started = 0
    ended = 0
    number_open = 0
    sum_open = 0  # sum of the open nodes' indices: if one node is open, this is its index
    now = start[order[0]]
    while ended < len(by_end):
        opens = started < len(order) and start[order[started]] < end[by_end[ended]]
        node = order[started] if opens else by_end[ended]
        time = start[node] if opens else end[node]
        if number_open == 1 and time > now:
            exposed[sum_open] += time - now
        now = time
        if opens:
            started += 1
            number_open += 1
            sum_open += node
        else:  # a node of zero duration closes here before it opens, which is harmless: no time passes in between
            ended += 1
            number_open -= 1
            sum_open -= node


def _symbols_on_path(
    dag: Dag, path: Integers, takes: Integers, length: int, slack: Integers, overlap: Integers
) -> tuple[SymbolOnPath, ...]:
    """One entry per symbol, in descending order of time on the path; ties are broken by total time, then name."""
    number = len(dag.names)
    nodes, total, slacks, overlaps = (np.zeros(number, np.int64) for _ in range(4))
    min_slack = np.full(number, np.iinfo(np.int64).max, np.int64)
    _sums(dag.name_index, dag.took, slack, overlap, nodes, total, slacks, min_slack, overlaps)
    times = np.bincount(dag.name_index[dag.took >= 0], minlength=number)
    on_path = np.bincount(dag.name_index[_entries(dag, path)], minlength=number)
    critical = np.zeros(number, np.int64)
    np.add.at(critical, dag.name_index[path], takes)
    is_call = np.array([kind == CALL for kind in dag.kinds])
    everything = int(total[~is_call].sum())
    symbols = []
    for index in np.flatnonzero(nodes).tolist():
        fraction = int(critical[index]) / length if length else 0.0
        call = dag.kinds[index] == CALL
        symbols.append(
            SymbolOnPath(
                name=dag.names[index],
                kind=dag.kinds[index],
                times=int(times[index]),
                times_on_path=int(on_path[index]),
                total_ns=int(total[index]),
                share=None if call else int(total[index]) / everything if everything else 0.0,
                critical_path_ns=int(critical[index]),
                fraction=fraction,
                speedup_ceiling=1 / (1 - fraction) if fraction < 1 else None,
                min_slack_ns=int(min_slack[index]),
                mean_slack_ns=int(slacks[index]) / int(nodes[index]),
                overlap_potential_ns=int(overlaps[index]),
            )
        )
    return tuple(sorted(symbols, key=lambda s: (-s.critical_path_ns, -s.total_ns, s.name)))


def _entries(dag: Dag, path: Integers) -> Integers:
    """The distinct dispatches, copies and calls on the path; a call's second node is listed as its first."""
    return np.unique(np.where(dag.took[path] < 0, path - 1, path))


@lazy_jit
def _sums(
    symbol: Integers,
    took: Integers,
    slack: Integers,
    overlap: Integers,
    nodes: Integers,
    total: Integers,
    slacks: Integers,
    min_slack: Integers,
    overlaps: Integers,
) -> None:
    for node in range(len(symbol)):
        of = symbol[node]
        nodes[of] += 1
        if took[node] > 0:
            total[of] += took[node]
        slacks[of] += slack[node]
        overlaps[of] += overlap[node]
        if slack[node] < min_slack[of]:
            min_slack[of] = slack[node]
