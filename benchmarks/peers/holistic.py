"""Holistic Trace Analysis' critical path (pip install HolisticTraceAnalysis) on a rocpd trace. A peer for scale.py.

    python benchmarks/peers/holistic.py convert TRACE.db TRACE.json    writes the format of PyTorch's profiler, for HTA
    python benchmarks/peers/holistic.py analyse TRACE.json             with an interpreter that has HTA

HTA knows the calls by their CUDA names, and expects one process with one annotated step.
"""

from __future__ import annotations

import json
import sqlite3
import sys

_CUDA = {
    "hipLaunchKernel": "cudaLaunchKernel",
    "hipMemcpyAsync": "cudaMemcpyAsync",
    "hipEventRecord": "cudaEventRecord",
    "hipStreamWaitEvent": "cudaStreamWaitEvent",
    "hipDeviceSynchronize": "cudaDeviceSynchronize",
}
_STEP = "ProfilerStep"


def convert(database: str, out: str) -> None:
    connection = sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)
    (origin,) = connection.execute("SELECT MIN(start) FROM rocpd_region").fetchone()

    def event(category, name, pid, tid, start, end, **arguments):
        times = {"ts": (start - origin) / 1e3, "dur": (end - start) / 1e3}
        return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, **times, "args": arguments}

    calls = connection.execute(
        """SELECT r.id, r.tid, r.start, r."end", s.string FROM rocpd_region r JOIN rocpd_string s ON s.id = r.name_id"""
    ).fetchall()
    events = [event("cuda_runtime", _CUDA[name], 1, tid, start, end, correlation=id) for id, tid, start, end, name in calls]
    kernels = connection.execute(
        """SELECT e.stack_id, d.agent_id, d.stream_id, d.start, d."end", k.display_name FROM rocpd_kernel_dispatch d
           JOIN rocpd_event e ON e.id = d.event_id JOIN rocpd_info_kernel_symbol k ON k.id = d.kernel_id"""
    )
    copies = connection.execute(
        """SELECT e.stack_id, c.dst_agent_id, c.stream_id, c.start, c."end", 'Memcpy HtoD (Pinned -> Device)'
           FROM rocpd_memory_copy c JOIN rocpd_event e ON e.id = c.event_id"""
    )
    for category, rows in (("kernel", kernels), ("gpu_memcpy", copies)):
        for call, agent, stream, start, end, name in rows:
            arguments = {"correlation": call, "stream": stream, "device": agent - 1}
            events.append(event(category, name, agent - 1, stream, start, end, **arguments))
    last = origin + round(1e3 * max(event["ts"] + event["dur"] for event in events))
    for tid in {tid for _, tid, *_ in calls}:
        events.append(event("user_annotation", f"{_STEP}#1", 1, tid, origin - 1000, last + 1000))
        events.append(event("cpu_op", "step", 1, tid, origin - 500, last + 500))
    with open(out, "w") as file:
        json.dump({"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}, file)


def analyse(trace: str) -> None:
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: trace})
    graph, path = analysis.critical_path_analysis(rank=0, annotation=_STEP, instance_id=1)
    if not path:
        sys.exit("HTA found no critical path")
    print(f"{len(graph.critical_path_nodes)} nodes on the path")


if __name__ == "__main__":
    {"convert": convert, "analyse": analyse}[sys.argv[1]](*sys.argv[2:])
