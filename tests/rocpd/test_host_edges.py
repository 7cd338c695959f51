"""Dependencies from HIP calls: cases with a known answer, an explicit definition, and a recording."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.analysis.critical_path import critical_path
from rocm_perf_lab.analysis.dag import build_dag
from rocm_perf_lab.rocpd.hip_calls import HipCalls
from rocm_perf_lab.rocpd.host_edges import _gpu_of_calls, _Streams, _Work, host_graph, share_a_clock
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.trace import Copies, Dispatches, Edges
from rocpd_database import Call, Copy, Dispatch

OF_HOST = ("launch", "event", "wait", "program")


def edges_of(trace, *kinds):
    """(source, target, kind, exact), where work is given by number and calls by (name, start, end) of their rows."""
    first = len(trace.dispatches) + len(trace.copies)
    calls = trace.calls
    rows = [(calls.names[n], int(s), int(e)) for n, s, e in zip(calls.name_index, calls.start, calls.end, strict=True)]

    def node(number):
        return number if number < first else rows[number - first]

    edges = trace.edges
    return {
        (node(s), node(t), Edges.KINDS[k], bool(e))
        for s, t, k, e in zip(edges.source.tolist(), edges.target.tolist(), edges.kind, edges.exact, strict=True)
        if Edges.KINDS[k] in kinds
    }


def test_launch_synchronise_launch(tmp_path):
    """The second kernel is late because the host waited for the first and then did something else."""
    calls = [Call("hipLaunchKernel", 0, 20), Call("hipDeviceSynchronize", 25, 230), Call("hipLaunchKernel", 300, 320)]
    work = [Dispatch("a", 100, 200, call=0), Dispatch("b", 340, 400, call=2)]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", work, calls=calls))
    # The span begins at 100: the first launch and the wait's entry lie before it.
    launch, enter, wake = ("hipLaunchKernel", 100, 100), ("hipDeviceSynchronize", 100, 100), ("hipDeviceSynchronize", 200, 230)
    again = ("hipLaunchKernel", 300, 320)
    assert edges_of(trace, *OF_HOST) == {
        (launch, enter, "program", True), (enter, wake, "program", True), (wake, again, "program", True),
        (launch, 0, "launch", True), (0, wake, "wait", False), (again, 1, "launch", True),
    }  # fmt: skip
    found = critical_path(build_dag(trace))
    # a runs for 100, the host wakes and works for 100, the launch takes 40 until b starts, b runs for 60.
    assert (found.length_ns, found.work_ns, found.host_ns, found.delay_ns) == (300, 160, 100, 40)


def test_a_stream_waits_for_an_event_of_another(tmp_path):
    a, b = "0xaaa", "0xbbb"
    calls = [
        Call("hipLaunchKernel", 0, 5, stream=a),
        Call("hipLaunchKernel", 5, 10, stream=b),
        Call("hipEventRecord", 10, 12, stream=a, event="0xe"),
        Call("hipLaunchKernel", 12, 15, stream=a),
        Call("hipStreamWaitEvent", 15, 17, stream=b, event="0xe"),
        Call("hipLaunchKernel", 17, 20, stream=b),
        Call("hipStreamSynchronize", 20, 95, stream=a),
        Call("hipEventSynchronize", 95, 96, event="0xe"),
    ]
    work = [
        Dispatch("a0", 10, 50, queue=1, stream=1, call=0),
        Dispatch("b0", 12, 30, queue=2, stream=2, call=1),
        Dispatch("a1", 50, 90, queue=1, stream=1, call=3),
        Dispatch("b1", 60, 200, queue=2, stream=2, call=5),
    ]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", work, calls=calls))
    assert edges_of(trace, "event") == {(0, 3, "event", True)}
    assert edges_of(trace, "wait") == {
        (2, ("hipStreamSynchronize", 90, 95), "wait", True),
        (0, ("hipEventSynchronize", 95, 96), "wait", True),
    }


def test_copies_that_block_and_copies_that_do_not(tmp_path):
    calls = [Call("hipMemcpy", 0, 110), Call("hipMemcpyAsync", 120, 300), Call("hipMemcpy", 310, 320)]
    work = [Copy(10, 100, call=0), Copy(130, 200, call=1), Copy(330, 400, call=2)]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", [*work, Dispatch("k", 500, 501)], calls=calls))
    # Copies are numbered after the only dispatch. The last call returned before its copy had begun, so it did not wait.
    assert edges_of(trace, "wait") == {(1, ("hipMemcpy", 100, 110), "wait", True)}
    assert {target for _, target, _, _ in edges_of(trace, "launch")} == {1, 2, 3}


def test_a_thread_waits_for_the_gpu_that_it_uses(tmp_path):
    calls = [
        Call("hipLaunchKernel", 0, 5, thread=1),
        Call("hipLaunchKernel", 0, 5, thread=2),
        Call("hipDeviceSynchronize", 6, 95, thread=1),
    ]
    work = [Dispatch("a", 10, 50, call=0), Dispatch("b", 10, 90, queue=2, stream=2, call=1, agent=2)]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", work, calls=calls))
    assert edges_of(trace, "wait") == {(0, ("hipDeviceSynchronize", 50, 90), "wait", False)}


def test_a_handle_that_was_used_for_two_streams_names_none(tmp_path):
    calls = [
        Call("hipLaunchKernel", 0, 5, stream="0xa"), Call("hipLaunchKernel", 5, 9, stream="0xa"),
        Call("hipStreamSynchronize", 10, 90, stream="0xa"),
    ]  # fmt: skip
    work = [Dispatch("a", 10, 50, call=0), Dispatch("b", 10, 60, queue=2, stream=2, call=1)]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", work, calls=calls))
    assert {(source, exact) for source, _, _, exact in edges_of(trace, "wait")} == {(0, False), (1, False)}


def test_nested_calls_count_once(tmp_path):
    calls = [Call("hipGraphLaunch", 0, 50), Call("hipLaunchKernel", 10, 20), Call("hipDeviceSynchronize", 60, 210)]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 100, 200, call=1)], calls=calls))
    assert edges_of(trace, "launch") == {(("hipGraphLaunch", 100, 100), 0, "launch", True)} or not edges_of(trace, "launch")
    assert sorted(trace.calls.names) == ["hipDeviceSynchronize", "hipGraphLaunch"]


def test_modelled_times_have_no_host(tmp_path):
    calls = [Call("hipLaunchKernel", 0, 5)]
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 100, 200, call=0)], rocpd_database.MODELLED, calls=calls)
    assert read_trace(path).calls is None


# ---- against the definition ----

NAMES = ("hipLaunchKernel", "hipDeviceSynchronize", "hipMemcpy", "hipSetDevice")


@st.composite
def host_traces(draw):
    """Consecutive calls of two threads, and work in two streams that some of them launched."""
    thread, start, end, name = [], [], [], []
    for number in range(2):
        now = draw(st.integers(0, 5))
        for _ in range(draw(st.integers(0, 6))):
            begin = now + draw(st.integers(0, 4))
            now = begin + draw(st.integers(0, 12))
            thread.append(number), start.append(begin), end.append(now), name.append(draw(st.integers(0, 3)))
    launching = [c for c in range(len(start)) if name[c] in (0, 2)]
    work, clock = [], {1: 0, 2: 0}
    for _ in range(draw(st.integers(1, 8))):
        call = draw(st.sampled_from([-1, *launching]))
        stream = draw(st.integers(1, 2))
        begin = max(clock[stream], start[call] if call >= 0 else 0) + draw(st.integers(0, 4))
        clock[stream] = begin + draw(st.integers(0, 9))
        work.append((begin, clock[stream], stream, call))
    return (thread, start, end, name), work


def tables(drawn):
    (thread, start, end, name), work = drawn
    column = lambda values: np.array(values, np.int64)  # noqa: E731
    n, zeros = len(work), np.zeros(len(work), np.int64)
    stream = column([w[2] for w in work])
    dispatches = Dispatches(np.arange(n), np.arange(n), zeros, zeros + 1, stream, stream, column([w[0] for w in work]),
                            column([w[1] for w in work]), zeros, zeros, np.ones((n, 3)), np.ones((n, 3)))  # fmt: skip
    none = np.empty(0, np.int64)
    copies = Copies(none, none, none, none, none, none, none, none, ())
    calls = HipCalls(column(thread), column(start), column(end), column(name), NAMES, column([w[3] for w in work]), {}, {})
    return calls, dispatches, copies


@given(host_traces())
def test_calls_wait_for_what_was_submitted_before_and_ended_in_time(drawn):
    (thread, start, end, name), work = drawn
    assume(start)
    calls, edges = host_graph(*tables(drawn))
    n = len(work)
    begins = [w[0] for w in work] + calls.start.tolist()
    ends = [w[1] for w in work] + calls.end.tolist()
    found = {kind: set() for kind in Edges.KINDS}
    for s, t, k in zip(edges.source.tolist(), edges.target.tolist(), edges.kind, strict=True):
        kind = Edges.KINDS[k]
        found[kind].add((s, t))
        assert begins[t] >= (begins[s] if kind == "launch" else ends[s]), "an edge contradicts the times"
    assert sum(map(len, found.values())) == len(edges), "an edge occurs twice"
    assert {t for _, t in found["launch"]} == {v for v in range(n) if work[v][3] >= 0}
    assert all(calls.thread[s - n] == calls.thread[t - n] for s, t in found["program"])
    assert len(found["program"]) == len(calls) - len(set(calls.thread.tolist()))

    launched = {call: [v for v in range(n) if work[v][3] == call] for call in range(len(start))}
    submitted = [start[w[3]] if w[3] >= 0 else w[0] for w in work]
    expected = set()
    for call in range(len(start)):
        if name[call] == 2:
            expected |= {(v, call) for v in launched[call] if work[v][1] <= end[call]}
        if name[call] == 1:
            for stream in (1, 2):
                before = [v for v in range(n) if work[v][2] == stream and submitted[v] < start[call]]
                last = max(before, key=lambda v: (submitted[v], v), default=None)
                if last is not None and work[last][1] <= end[call]:
                    earlier = [c for c in range(call) if name[c] == 1 and thread[c] == thread[call] and (last, c) in expected]
                    if not earlier:
                        expected.add((last, call))
    span = min(begins[:n]), max(ends[:n])
    wakes = {}
    for v, call in expected:
        wakes.setdefault(call, []).append(v)
    rows = {(int(t), int(s), int(e)) for t, s, e in zip(calls.thread, calls.start, calls.end, strict=True)}
    for call, nodes in wakes.items():
        ready = max(start[call], *(work[v][1] for v in nodes))
        assert (thread[call], *np.clip([ready, end[call]], *span).tolist()) in rows
    assert len(found["wait"]) == len(expected)
    assert sorted(v for v, _ in found["wait"]) == sorted(v for v, _ in expected)


# ---- by hand ----


def test_a_call_takes_its_whole_time_however_it_is_cut(tmp_path):
    calls = [Call("hipLaunchKernel", 90, 120), Call("hipDeviceSynchronize", 130, 260), Call("hipDeviceSynchronize", 270, 275)]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", [Dispatch("a", 100, 200, call=0)], calls=calls))
    assert trace.calls.took.tolist() == [30, 130, -1, 5]
    assert trace.calls.start.tolist() == [100, 130, 200, 200] and trace.calls.end.tolist() == [120, 130, 200, 200]


@pytest.fixture
def work() -> _Work:
    """Two streams. The third call began after the work that it is recorded to have launched."""
    rows = [(30, 40, 1, 1), (32, 50, 2, 0), (41, 45, 1, -1), (8, 9, 1, 2)]
    return _Work.of(*tables((([0, 0, 0], [0, 10, 20], [5, 15, 25], [0, 0, 0]), rows)))


def test_work_is_submitted_when_its_call_began_but_not_after_its_own_start(work):
    assert work.submit.tolist() == [10, 0, 41, 8]
    assert work.track.tolist() == [0, 1, 0, 0] and work.order.tolist() == [3, 0, 2, 1] and work.first.tolist() == [0, 3, 4]


def test_the_work_of_a_track_before_and_after_a_time(work):
    times = np.array([8, 9, 10, 11, 41, 42])
    assert work.last_before(0, times).tolist() == [-1, 3, 3, 0, 0, 2]
    assert work.last_before(1, np.array([0, 1])).tolist() == [-1, 1]
    assert [work.first_after(0, time) for time in (0, 8, 9, 10, 11, 41, 42)] == [3, 3, 0, 0, 2, 2, -1]
    assert [work.first_after(1, time) for time in (0, 1)] == [1, -1]


@pytest.mark.parametrize(
    "source, target, is_possible",
    [
        ((10, 20), (20, 30), True),
        ((10, 20), (15, 30), True),
        ((10, 20), (14, 30), False),
        ((10, 20), (18, 22), True),
        ((10, 20), (17, 22), False),
        ((20, 30), (10, 20), False),
        ((20, 20), (20, 30), True),
        ((20, 20), (10, 30), False),
    ],
)
def test_whether_work_can_have_waited_for_other_work(source, target, is_possible):
    """It may overlap the end by half of the shorter one."""
    rows = [(*source, 1, -1), (*target, 2, -1)]
    assert _Work.of(*tables((([0], [0], [0], [0]), rows))).is_before(0, 1) == is_possible


def test_a_thread_works_with_the_gpu_that_it_last_launched_on():
    calls, dispatches, copies = tables(
        (([0] * 4 + [1] * 3, [*range(7)], [*range(7)], [0] * 7), [(9, 9, 1, 1), (9, 9, 1, 3), (9, 9, 1, 5)])
    )
    dispatches.agent_id[:] = (4, 0, 6)
    assert _gpu_of_calls(calls, _Work.of(calls, dispatches, copies)).tolist() == [-1, 4, 4, 0, -1, 6, 6]


def test_an_event_is_that_of_its_last_record_before_the_call():
    names = ["hipEventRecord", "hipEventSynchronize"]
    name = [0, 1, 1, 0, 1, 0]
    calls, dispatches, copies = tables(
        (([0, 0, 0, 1, 1, 1], [10, 20, 40, 5, 10, 40], [10, 20, 40, 5, 10, 40], name), [(9, 9, 1, -1)])
    )
    calls.events.update({0: "e", 1: "e", 2: "other", 3: "e", 4: "e", 5: "e"})
    named = np.array(names, object)[calls.name_index]
    streams = _Streams(calls, _Work.of(calls, dispatches, copies), named)
    assert [streams.record(call) for call in (1, 2, 3, 4, 5)] == [0, -1, 3, 0, 5]


@pytest.mark.parametrize(
    "starts, launchers, is_shared",
    [
        ([10, 10], [0, 1], True),
        ([10, 9], [0, 1], True),
        ([9, 9], [0, 1], False),
        ([9, 9, 10], [0, 1, 1], False),
        ([9, 9], [-1, -1], True),
        ([9, 10], [-1, 1], True),
    ],
)
def test_a_clock_is_shared_if_half_of_the_launches_come_first(starts, launchers, is_shared):
    rows = [(start, start, 1, launcher) for start, launcher in zip(starts, launchers, strict=True)]
    assert share_a_clock(*tables((([0, 0], [10, 10], [11, 11], [0, 0]), rows))) == is_shared


# ---- a recording ----


def test_a_recorded_program_with_streams_and_events(shared_data):
    """Two streams, an event between them, three synchronisations, as in ms.hip of the recordings."""
    trace = read_trace(shared_data / "rocprofv3" / "ms_trace" / "ms_results.db")
    names = [trace.kernels[int(id)].name.split("(")[0] for id in trace.dispatches.kernel_id]
    ((source, target, _, exact),) = edges_of(trace, "event")
    # The record follows the last vadd of stream 1; the wait precedes the first reduce_sum of stream 2.
    assert (names[source], names[target], exact) == ("vadd", "ns::reduce_sum", True)
    assert len(edges_of(trace, "launch")) == len(trace.dispatches) + len(trace.copies)
    waits = {(target[0], exact) for _, target, _, exact in edges_of(trace, "wait")}
    # The event's work had already been waited for, with its stream.
    assert {("hipMemcpy", True), ("hipStreamSynchronize", True)} <= waits and "hipEventSynchronize" not in dict(waits)


def test_calls_on_another_clock_are_left_out(tmp_path):
    calls = [Call("hipLaunchKernel", 9000, 9005), Call("hipLaunchKernel", 9010, 9020)]
    work = [Dispatch("a", 100, 200, call=0), Dispatch("b", 300, 400, call=1)]
    trace = read_trace(rocpd_database.write(tmp_path / "t.db", work, calls=calls))
    assert trace.calls is None and "clock" in trace.no_calls
