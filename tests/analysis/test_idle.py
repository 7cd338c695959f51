"""Idle GPUs: the gaps against their definition, and one case of each cause."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import build_dag
from rocm_perf_lab.analysis.idle import idle
from rocm_perf_lab.rocpd.edges import inferred_edges
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.trace import Copies, Dispatches, Process, Trace
from rocpd_database import Call, Copy, Dispatch


def idle_of(path, work, own=None, calls=()):
    trace = read_trace(rocpd_database.write(path, work, own, calls=calls))
    dag = build_dag(trace)
    return idle(trace, dag, critical_path(dag))


def causes(found):
    return {cause: ns for cause, ns in found.by_cause_ns.items() if ns}


def test_the_host_was_late(tmp_path):
    calls = [Call("hipLaunchKernel", 0, 5), Call("hipLaunchKernel", 170, 175)]
    work = [Dispatch("a", 0, 100, call=0), Dispatch("b", 200, 250, call=1)]
    (found,) = idle_of(tmp_path / "t.db", work, calls=calls)
    assert (found.span_ns, found.idle_ns, causes(found)) == (250, 100, {"host": 70, "latency": 30})
    (gap,) = found.longest
    assert (gap.start_ns, gap.duration_ns, gap.cause, gap.before, gap.waited_for) == (100, 100, "host", "b", "hipLaunchKernel")


def test_a_copy_was_late(tmp_path):
    calls = [Call("hipLaunchKernel", 0, 5), Call("hipMemcpyAsync", 10, 15), Call("hipLaunchKernel", 16, 20)]
    work = [Dispatch("a", 0, 100, call=0), Dispatch("b", 200, 250, call=2), Copy(100, 190, call=1)]
    (found,) = idle_of(tmp_path / "t.db", work, calls=calls)
    assert causes(found) == {"copy": 90, "latency": 10} and found.longest[0].cause == "copy"


def test_only_the_duration_of_a_copy_counts_and_not_its_time(tmp_path):
    calls = [Call("hipLaunchKernel", 0, 1), Call("hipMemcpyAsync", 2, 3), Call("hipLaunchKernel", 4, 5)]
    work = [Dispatch("a", 1, 10, call=0), Dispatch("b", 200, 250, call=2), Copy(10, 190, call=1)]
    (found,) = idle_of(tmp_path / "t.db", work, calls=calls)
    assert causes(found) == {"copy": 180, "latency": 10}


def test_the_host_waited_for_a_copy_first(tmp_path):
    """The second launch came after a blocking copy: 60 ns for the copy, 30 for the host, 10 to start."""
    calls = [Call("hipLaunchKernel", 0, 5), Call("hipMemcpy", 90, 165), Call("hipLaunchKernel", 190, 195)]
    work = [Dispatch("a", 0, 100, call=0), Dispatch("b", 200, 250, call=2), Copy(100, 160, call=1)]
    (found,) = idle_of(tmp_path / "t.db", work, calls=calls)
    assert causes(found) == {"copy": 60, "host": 30, "latency": 10}
    assert (found.longest[0].cause, found.longest[0].waited_for) == ("copy", "MEMORY_COPY_HOST_TO_DEVICE")


def test_another_gpu_was_late(tmp_path):
    work = [
        Dispatch("a", 0, 100),
        Dispatch("other", 0, 180, queue=2, stream=2, agent=2),
        Dispatch("b", 190, 250, depends_on=[(0, "queue"), (1, "signal")]),
    ]
    first, second = idle_of(tmp_path / "t.db", work, rocpd_database.MODELLED)
    assert causes(first) == {"dependency": 80, "latency": 10}
    assert (second.agent_id, second.idle_ns, second.gaps) == (2, 0, 0)


def test_the_host_had_waited(tmp_path):
    work = [Dispatch("a", 0, 100), Dispatch("b", 190, 250, depends_on=[(0, "host")])]
    (found,) = idle_of(tmp_path / "t.db", work, rocpd_database.MODELLED)
    assert causes(found) == {"host": 90}


def test_without_calls_the_cause_is_not_guessed(tmp_path):
    (found,) = idle_of(tmp_path / "t.db", [Dispatch("a", 0, 100), Dispatch("b", 190, 250)])
    assert causes(found) == {"unknown": 90}


WORK = st.tuples(st.integers(0, 40), st.integers(0, 8), st.integers(1, 3), st.integers(1, 2))


def trace_of(drawn) -> Trace:
    column = lambda values: np.array(values, np.int64)  # noqa: E731
    start, takes, queue, agent = (column(values) for values in zip(*drawn, strict=True))
    n, zeros = len(drawn), np.zeros(len(drawn), np.int64)
    ids, three = np.arange(n), np.ones((n, 3), np.int64)
    dispatches = Dispatches(ids, ids, zeros, agent, queue, queue, start, start + takes, zeros, zeros, three, three)
    copies = Copies(*(np.empty(0, np.int64) for _ in range(8)), names=())
    process = Process(7, "./app", "host", {})
    return Trace(Path("t.db"), process, {}, {}, dispatches, copies, inferred_edges(dispatches, copies), {})


@given(st.lists(WORK, min_size=1, max_size=9))
def test_gaps_are_the_times_between_kernels_during_which_none_runs(drawn):
    trace = trace_of(drawn)
    dag = build_dag(trace)
    found = {one.agent_id: one for one in idle(trace, dag, critical_path(dag))}
    assert set(found) == {agent for *_, agent in drawn}
    for agent, one in found.items():
        mine = [(start, start + takes) for start, takes, _, of in drawn if of == agent]
        span = range(min(start for start, _ in mine), max(end for _, end in mine))
        free = [t for t in span if not any(start <= t < end for start, end in mine)]
        assert (one.idle_ns, one.span_ns) == (len(free), len(span))
        assert sum(one.by_cause_ns.values()) == one.idle_ns
        assert sum(gap.duration_ns for gap in one.longest) == one.idle_ns or one.gaps > len(one.longest)
