"""When a GPU ran no kernel, and what it was waiting for.

A gap begins when all kernels that have run on a GPU so far have ended, and ends when the next one starts. From that next
kernel, the chain of last predecessors (see critical_path) leads back through the host's calls to the GPU work, if any, that
these calls waited for. So a gap has up to three parts: until that work was done, the GPU waited for it (a copy, or a kernel
elsewhere); from then until the launch call, it waited for the host; the rest is latency (launch, barriers, start-up).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.analysis.critical_path import CriticalPath
from rocm_perf_lab.analysis.dag import Dag
from rocm_perf_lab.lazy_jit import lazy_jit
from rocm_perf_lab.rocpd.edges import time_order
from rocm_perf_lab.rocpd.factorize import factorize
from rocm_perf_lab.rocpd.trace import Edges, Trace

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Integers

HOST, COPY, DEPENDENCY, LATENCY, UNKNOWN = CAUSES = ("host", "copy", "dependency", "latency", "unknown")
_LAUNCH, _HOST_EDGE = Edges.LAUNCH, Edges.KINDS.index("host")
_MAX_LISTED_GAPS = 10


@dataclass(frozen=True)
class Gap:
    """start_ns: counted from the start of the GPU span. cause: the cause of the longest part.

    before: the kernel that ended the gap. waited_for: what this kernel needed last; None if no dependency was recorded.
    """

    start_ns: int
    duration_ns: int
    cause: str
    before: str
    waited_for: str | None


@dataclass(frozen=True)
class Idle:
    """One GPU, from the start of its first kernel to the end of its last. by_cause_ns: adds up to idle_ns."""

    agent_id: int
    span_ns: int
    idle_ns: int
    gaps: int
    by_cause_ns: dict[str, int]
    longest: tuple[Gap, ...]


def idle(trace: Trace, dag: Dag, path: CriticalPath) -> list[Idle]:
    """Idle times of each GPU with dispatches, in order of agent id.

    Without HIP calls or exact dependencies, latency cannot be distinguished from a late host: the cause of the rest of each gap
    is then unknown.
    """
    agents, gpu = factorize(trace.dispatches.agent_id)
    order = dag.order if _is_by_start(dag) else time_order(dag.start, dag.end)
    arguments = (dag.start, dag.end, dag.source, dag.first, dag.kind, order, gpu, path.binding)
    first, last = np.full(len(agents), -1, np.int64), np.full(len(agents), -1, np.int64)
    limits = (dag.dispatches, dag.gpu_nodes)
    none = np.empty(0, np.int64)
    count = _gaps(*arguments, *limits, first.copy(), last.copy(), none, none, none, none, none)
    gaps = _Gaps(*(np.empty(count, np.int64) for _ in range(5)))
    _gaps(*arguments, *limits, first, last, gaps.node, gaps.length, gaps.work, gaps.needed, gaps.host)
    rest_cause = LATENCY if trace.calls is not None or trace.has_exact_dependencies else UNKNOWN
    span, of_gap = last - first, gpu[gaps.node]
    return [
        _of_gpu(int(agent), int(span[number]), np.flatnonzero(of_gap == number), gaps, dag, rest_cause)
        for number, agent in enumerate(agents)
    ]


@dataclass(frozen=True)
class _Gaps:
    """node: the dispatch that ended the gap. work: ns until the node `needed` was done. host: ns from then to the launch.

    needed: the node whose work was waited for, else the predecessor that was ready last, or -1 if there is none.
    """

    node: Integers
    length: Integers
    work: Integers
    needed: Integers
    host: Integers


def _is_by_start(dag: Dag) -> bool:
    start = dag.start[dag.order]
    return bool(np.all(start[1:] >= start[:-1]))


@lazy_jit
def _gaps(
    start: Integers,
    end: Integers,
    source: Integers,
    first: Integers,
    kind: Integers,
    order: Integers,
    gpu: Integers,
    binding: Integers,
    dispatches: int,
    gpu_nodes: int,
    began: Integers,
    latest: Integers,
    node_of: Integers,
    length_of: Integers,
    work_of: Integers,
    needed_of: Integers,
    host_of: Integers,
) -> int:
    """Count the gaps and, if there is room, store them as described in _Gaps. began, latest: per GPU, initially -1."""
    count = 0
    for position in range(len(order)):
        node = order[position]
        if node >= dispatches:
            continue
        own = gpu[node]
        begin = latest[own]
        if begin >= 0 and start[node] > begin:
            if len(node_of):
                before = binding[node]
                launched = start[node]  # when the host had done its part
                if before >= 0:
                    of_edge = 0
                    for edge in range(first[node], first[node + 1]):
                        if source[edge] == before:
                            of_edge = kind[edge]
                    if of_edge == _LAUNCH:
                        launched = start[before]
                    elif of_edge != _HOST_EDGE:  # after a host edge, the host launches some time later
                        launched = end[before]
                work = before
                while work >= gpu_nodes and end[work] > begin:
                    work = binding[work]
                done = begin
                if 0 <= work < gpu_nodes:
                    done = min(max(end[work], begin), start[node])
                node_of[count] = node
                length_of[count] = start[node] - begin
                work_of[count] = done - begin
                needed_of[count] = work if done > begin else before
                host_of[count] = max(0, min(launched, start[node]) - done) if before >= 0 else 0
            count += 1
        if began[own] < 0:
            began[own] = start[node]
        latest[own] = max(latest[own], end[node])
    return count


def _of_gpu(agent: int, span: int, indices: Integers, gaps: _Gaps, dag: Dag, rest_cause: str) -> Idle:
    """indices: of this GPU's gaps. rest_cause: the cause assigned to time not spent waiting for work or the host."""
    length = gaps.length[indices]
    parts = _ns_by_cause(gaps, indices, dag, rest_cause)
    longest = indices[np.argsort(-length, kind="stable")[:_MAX_LISTED_GAPS]]
    return Idle(
        agent_id=agent,
        span_ns=span,
        idle_ns=int(length.sum()),
        gaps=len(indices),
        by_cause_ns=dict.fromkeys(CAUSES, 0) | {cause: int(part.sum()) for cause, part in parts.items()},
        longest=tuple(_gap(gaps, int(index), dag, rest_cause) for index in longest),
    )


def _ns_by_cause(gaps: _Gaps, indices: Integers, dag: Dag, rest_cause: str) -> dict[str, Integers]:
    """For each cause, how many ns of each gap it accounts for."""
    work, host = gaps.work[indices], gaps.host[indices]
    is_copy = gaps.needed[indices] >= dag.dispatches
    return {
        COPY: np.where(is_copy, work, 0),
        DEPENDENCY: np.where(is_copy, 0, work),
        HOST: host,
        rest_cause: gaps.length[indices] - work - host,
    }


def _gap(gaps: _Gaps, index: int, dag: Dag, rest_cause: str) -> Gap:
    node, needed, length = int(gaps.node[index]), int(gaps.needed[index]), int(gaps.length[index])
    parts = {cause: int(part[0]) for cause, part in _ns_by_cause(gaps, np.array([index]), dag, rest_cause).items()}
    return Gap(
        start_ns=int(dag.start[node]) - length - dag.origin,
        duration_ns=length,
        cause=max(parts, key=lambda cause: parts[cause]),
        before=dag.names[dag.name_index[node]],
        waited_for=dag.names[dag.name_index[needed]] if needed >= 0 else None,
    )
