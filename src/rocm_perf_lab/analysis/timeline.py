"""A run as a timeline: tracks of slices that do not overlap, arrows between slices, and counters."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.analysis.base_run import BaseRun
from rocm_perf_lab.analysis.counters_behind_changes import EXPLANATORY
from rocm_perf_lab.analysis.critical_path import CriticalPath
from rocm_perf_lab.analysis.dag import CALL, COPY, Dag
from rocm_perf_lab.rocpd.trace import Edges, Trace
from rocm_perf_lab.text.names import short_name

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

CRITICAL_PATH = "Critical path"
_ORDER_ONLY = {Edges.KINDS.index(kind) for kind in ("queue", "program")}  # kinds of edges that the tracks themselves show


@dataclass(frozen=True)
class Track:
    """nodes: nodes of the graph, in order of time. start, end: ns from the start of the GPU's span; slices do not overlap."""

    group: str
    name: str
    nodes: Integers
    start: Integers
    end: Integers


@dataclass(frozen=True)
class CounterTrack:
    """A counter's rate per us, averaged over each dispatch and summed over concurrent dispatches; 0 between them. time: ns."""

    name: str
    time: Integers
    rate: Sequence[float]


class Timeline:
    def __init__(self, trace: Trace, dag: Dag, path: CriticalPath, limit: int | None = None):
        """limit: the maximum number of dispatches, copies and calls to show, the longest first; None for all."""
        self.trace, self.dag, self.path = trace, dag, path
        self._shown: Integers = np.arange(len(dag))
        if limit is not None and len(dag) > limit:
            self._shown = np.sort(np.argpartition(dag.duration, len(dag) - limit)[len(dag) - limit :])

    @property
    def left_out(self) -> int:
        return len(self.dag) - len(self._shown)

    @classmethod
    def of(cls, run: BaseRun) -> Timeline:
        """The timeline of a run. Raises ValueError for a run without times."""
        if run.path is None:
            raise ValueError("a timeline needs times")
        return cls(run.trace, run.dag, run.path)

    @property
    def title(self) -> str:
        how = "MODELLED times, no GPU ran this: " if self.trace.timing == "modelled" else ""
        return f"{how}{self.trace.process.command}"

    @cached_property
    def tracks(self) -> list[Track]:
        """Queues, copies and streams of each GPU, host threads, and the critical path."""
        return [*self._of_gpus(), *self._of_threads(), self._critical_path()]

    @cached_property
    def flows(self) -> list[tuple[int, int, str]]:
        """The dependencies that do not merely follow from the order within a queue or program, as (source, target, kind)."""
        dag = self.dag
        target = np.repeat(np.arange(len(dag)), np.diff(dag.first))
        shown = ~np.isin(dag.kind, list(_ORDER_ONLY))
        rows = zip(dag.source[shown].tolist(), target[shown].tolist(), dag.kind[shown].tolist(), strict=True)
        return [(source, of, Edges.KINDS[kind]) for source, of, kind in rows]

    def name(self, node: int) -> str:
        name: str = self._short_names[self._columns["symbol"][node]]
        return name

    def category(self, node: int) -> str:
        kind: str = self.dag.kinds[self._columns["symbol"][node]]
        return kind

    def details(self, node: int) -> dict[str, Any]:
        """The details that a viewer shows for a slice."""
        columns, category = self._columns, self.category(node)
        details: dict[str, Any] = {"on critical path": columns["on_path"][node], "slack_ns": columns["slack"][node]}
        if category == CALL:
            return details
        if category == COPY:
            return details | {"bytes": columns["bytes"][node - self.dag.dispatches]}
        details |= {
            "kernel": self.dag.names[columns["symbol"][node]],
            "grid": "x".join(map(str, columns["grid"][node])),
            "workgroup": "x".join(map(str, columns["workgroup"][node])),
            "lds_bytes": columns["lds"][node],
            "scratch_bytes": columns["scratch"][node],
        }
        return details | {name: values[node] for name, values in self._counter_values.items() if values[node] is not None}

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        """The columns as lists: reading an array element by element takes several times as long."""
        dispatches, dag = self.trace.dispatches, self.dag
        on_path = np.zeros(len(dag), bool)
        on_path[self.path.nodes] = True
        arrays = {
            "on_path": on_path, "slack": self.path.slack_ns, "bytes": self.trace.copies.bytes, "symbol": dag.name_index,
            "grid": dispatches.grid, "workgroup": dispatches.workgroup, "lds": dispatches.lds_bytes,
            "scratch": dispatches.scratch_bytes,
        }  # fmt: skip
        return {name: values.tolist() for name, values in arrays.items()}

    @cached_property
    def _counter_values(self) -> dict[str, list[float | None]]:
        """Counter -> its value for each dispatch, None if it was not collected."""
        columns = ((name, column.tolist()) for name, column in self.trace.counters.items())
        return {name: [None if value != value else value for value in column] for name, column in columns}

    @cached_property
    def counters(self) -> list[CounterTrack]:
        """The tracks of the counters that explain times, if they were collected."""
        dag, count = self.dag, self.dag.dispatches
        start, end = dag.start[:count] - dag.origin, dag.end[:count] - dag.origin
        return [
            CounterTrack(f"{name} per us", *_rates(start, end, column))
            for name, column in self.trace.counters.items()
            if name in EXPLANATORY
        ]

    @cached_property
    def _short_names(self) -> list[str]:
        return [short_name(name) for name in self.dag.names]

    def _of_gpus(self) -> Iterator[Track]:
        trace, shown = self.trace, self._shown[self._shown < self.dag.gpu_nodes]
        dispatches, copies = trace.dispatches, trace.copies
        agent = np.r_[dispatches.agent_id, copies.agent_id][shown]
        queue = np.r_[dispatches.queue_id, np.full(len(copies), -1)][shown]
        stream = np.r_[dispatches.stream_id, copies.stream_id][shown]
        for gpu in np.unique(agent).tolist():
            known = trace.agents.get(gpu)
            group = f"GPU agent {gpu}{f': {known.product} ({known.target})' if known else ''}"
            of_gpu = np.flatnonzero(agent == gpu)
            for number in np.unique(queue[of_gpu]).tolist():
                name = f"queue {number}" if number >= 0 else "copies"
                yield from self._lanes(group, name, shown[of_gpu[queue[of_gpu] == number]])
            if len(np.unique(stream[of_gpu])) > 1:
                for number in np.unique(stream[of_gpu]).tolist():
                    if number >= 0:
                        nodes = shown[of_gpu[stream[of_gpu] == number]]
                        yield from self._lanes(f"{group}, by HIP stream", f"stream {number}", nodes)

    def _of_threads(self) -> Iterator[Track]:
        calls = self.trace.calls
        if calls is None or not len(calls):
            return
        shown = self._shown[self._shown >= self.dag.gpu_nodes]
        of = calls.thread[shown - self.dag.gpu_nodes]
        for thread in np.unique(of).tolist():
            yield from self._lanes("Host", f"thread {thread}", shown[of == thread])

    def _lanes(self, group: str, name: str, nodes: Integers) -> Iterator[Track]:
        """As many tracks as are needed to keep slices from overlapping."""
        start, end = self.dag.start[nodes] - self.dag.origin, self.dag.end[nodes] - self.dag.origin
        order = np.lexsort((end, start))
        lane = _without_overlaps(start[order], end[order])
        for number in range(int(lane.max(initial=-1)) + 1):
            of = order[lane == number]
            yield Track(group, name if number == 0 else f"{name} (overlapping {number})", nodes[of], start[of], end[of])

    def _critical_path(self) -> Track:
        """The nodes whose time counts, each trimmed to the part after its predecessors have ended."""
        nodes = self.path.nodes[self.path.counted]
        start, end = self.dag.start[nodes] - self.dag.origin, self.dag.end[nodes] - self.dag.origin
        start = np.maximum(start, np.r_[start[:1], np.maximum.accumulate(end)[:-1]])
        visible = np.isin(nodes, self._shown) if self.left_out else slice(None)
        return Track(CRITICAL_PATH, CRITICAL_PATH, nodes[visible], start[visible], np.maximum(start, end)[visible])


def _without_overlaps(start: Integers, end: Integers) -> Integers:
    """The lane of each slice: the lowest one that is free. start: in ascending order."""
    lanes = np.empty(len(start), np.int64)
    busy: list[tuple[int, int]] = []  # (until, lane)
    free: list[int] = []
    used = 0
    for index, (begin, until) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while busy and busy[0][0] <= begin:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, used = used, used + 1
        lanes[index] = lane
        heapq.heappush(busy, (until, lane))
    return lanes


def _rates(start: Integers, end: Integers, values: Any) -> tuple[Integers, list[float]]:
    """The times at which the sum of the running dispatches' rates changes, and the sum from each of these times on."""
    counted = ~np.isnan(values) & (end > start)
    rate = 1000.0 * values[counted] / (end[counted] - start[counted])
    time = np.r_[start[counted], end[counted]]
    change = np.r_[rate, -rate]
    change_times, index = np.unique(time, return_inverse=True)
    total = np.cumsum(np.bincount(index, weights=change, minlength=len(change_times)))
    return change_times, np.where(np.abs(total) < 1e-6 * np.abs(rate).max(initial=0), 0.0, total).tolist()
