"""Timelines are decoded with the definitions of their formats and compared with the original graph."""

from __future__ import annotations

import io
import json
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import needs
import rocpd_database
from rocm_perf_lab.analysis.base_run import read_base_run
from rocm_perf_lab.analysis.timeline import CRITICAL_PATH, Timeline
from rocm_perf_lab.export.chrome import write_chrome
from rocm_perf_lab.export.perfetto import write_perfetto
from rocpd_database import Call, Copy, Dispatch


def perfetto(timeline):
    """The trace decoded with Perfetto's definitions: tracks by id (name, group), slices by track, flows, counter values."""
    proto = needs.module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    out = io.BytesIO()
    write_perfetto(timeline, out)
    trace = proto.Trace.FromString(out.getvalue())
    names, slices, open_slices = {}, defaultdict(list), {}
    flows, counters = {"leaving": Counter(), "arriving": Counter()}, defaultdict(list)
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            one = packet.track_descriptor
            names[one.uuid] = (one.name, names[one.parent_uuid][0] if one.parent_uuid else None)
        elif packet.HasField("track_event"):
            event = packet.track_event
            assert event.track_uuid in names
            if event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
                assert event.track_uuid not in open_slices, "slices overlap"
                open_slices[event.track_uuid] = event.name, packet.timestamp
                flows["leaving"].update(event.flow_ids)
                flows["arriving"].update(event.terminating_flow_ids)
            elif event.type == proto.TrackEvent.TYPE_SLICE_END:
                name, begin = open_slices.pop(event.track_uuid)
                slices[event.track_uuid].append((name, begin, packet.timestamp))
            else:
                counters[names[event.track_uuid][0]].append((packet.timestamp, event.double_counter_value))
    assert not open_slices
    return names, slices, flows, counters


def chrome(timeline):
    """The same for Chrome's JSON."""
    out = io.BytesIO()
    write_chrome(timeline, out)
    document = json.loads(out.getvalue())
    groups, names, slices, flows, counters = {}, {}, defaultdict(list), {"s": [], "f": []}, defaultdict(list)
    for event in document["traceEvents"]:
        at = event["pid"], event.get("tid")
        if event["ph"] == "M" and event["name"] == "process_name":
            groups[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            names[at] = event["args"]["name"]
        elif event["ph"] == "X":
            slices[at].append((event["name"], round(1e3 * event["ts"]), round(1e3 * (event["ts"] + event["dur"]))))
        elif event["ph"] in "sf":
            flows[event["ph"]].append((event["id"], at, round(1e3 * event["ts"])))
        elif event["ph"] == "C":
            counters[event["name"]].append((round(1e3 * event["ts"]), event["args"]["value"]))
    return {at: (name, groups[at[0]]) for at, name in names.items()}, slices, flows, counters


TIMES = st.tuples(st.integers(0, 400), st.integers(1, 60))


@st.composite
def runs(draw):
    work = []
    for begin, took in draw(st.lists(TIMES, min_size=1, max_size=12)):
        earlier = [n for n, one in enumerate(work) if one.end <= begin]
        depends = [(draw(st.sampled_from(earlier)), draw(st.sampled_from(["signal", "queue"])))] if earlier else []
        if draw(st.integers(0, 3)):
            queue, stream = draw(st.integers(1, 2)), draw(st.integers(1, 3))
            counters = {"SQ_INSTS": [float(took * draw(st.integers(0, 5)))]} if draw(st.booleans()) else {}
            name = draw(st.sampled_from(["a(int)", "void b<1>(float*)"]))
            work.append(Dispatch(name, begin, begin + took, queue, stream, depends_on=depends, counters=counters))
        else:
            work.append(Copy(begin, begin + took, stream=draw(st.integers(1, 3)), depends_on=depends))
    return work


@settings(max_examples=40)
@given(runs())
def test_every_dispatch_occurs_once_per_track_group_and_nothing_overlaps(tmp_path_factory, work):
    path = rocpd_database.write(tmp_path_factory.mktemp("t") / "t.db", work, rocpd_database.MODELLED)
    if not any(isinstance(one, Dispatch) for one in work):
        return
    timeline = Timeline.of(read_base_run(path))
    origin = min(one.start for one in work)
    short = {"a(int)": "a", "void b<1>(float*)": "b<1>"}
    expected = Counter(
        (short[one.kernel] if isinstance(one, Dispatch) else "MEMORY_COPY_HOST_TO_DEVICE", one.start - origin, one.end - origin)
        for one in work
    )
    for decoded in (perfetto(timeline), chrome(timeline)):
        names, slices, _, counters = decoded
        by_group = defaultdict(Counter)
        for track, found in slices.items():
            assert all(one[2] <= other[1] for one, other in zip(found, found[1:], strict=False)), "slices overlap"
            by_group[names[track][1].split(" | ")[0]].update(found)
        path_slices = by_group.pop(CRITICAL_PATH)
        assert by_group and all(found == expected for found in by_group.values())
        busy = sum(end - begin for _, begin, end in path_slices.elements())
        assert busy == timeline.path.work_ns
        for rates in counters.values():
            assert rates[-1][1] == 0  # nothing runs any more
            total = sum(rate * (until - time) / 1e3 for (time, rate), (until, _) in zip(rates, rates[1:], strict=False))
            counted = [one.counters.get("SQ_INSTS", [0.0])[0] for one in work if isinstance(one, Dispatch)]
            assert total == pytest.approx(sum(counted))
        assert set(counters) == ({"SQ_INSTS per us"} if timeline.trace.counters else set())


def test_arrows_are_the_dependencies_that_order_does_not_show(tmp_path):
    calls = [
        Call("hipLaunchKernel", 0, 10),
        Call("hipLaunchKernel", 15, 20),
        Call("hipStreamSynchronize", 30, 210, stream="0x1"),
    ]
    work = [
        Dispatch("a", 12, 100, queue=1, stream=1, call=0),
        Dispatch("b", 110, 200, queue=2, stream=2, depends_on=[(0, "signal")], call=1),
        Copy(205, 220, depends_on=[(1, "signal")]),
    ]
    timeline = Timeline.of(read_base_run(rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED, calls=calls)))
    kinds = Counter(kind for *_, kind in timeline.flows)
    assert kinds["signal"] == 2 and not {"queue", "program"} & set(kinds)
    number = len(timeline.flows)
    *_, flows, _ = perfetto(timeline)
    assert flows["leaving"] == flows["arriving"] == Counter(range(1, number + 1))
    _, slices, arrows, _ = chrome(timeline)
    for ends, side in ((arrows["s"], 2), (arrows["f"], 1)):
        assert sorted(one for one, *_ in ends) == list(range(number))
        for _, at, time in ends:  # each arrow touches a slice of its track
            assert any(begin <= time <= end for _, begin, end in slices[at]), (side, at, time)


def test_the_label_of_modelled_times_is_on_every_group(tmp_path):
    timeline = Timeline.of(
        read_base_run(rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 0, 5)], rocpd_database.MODELLED))
    )
    assert all("MODELLED times, no GPU ran this: ./app" in group for _, group in chrome(timeline)[0].values())
    measured = Timeline.of(read_base_run(rocpd_database.write(tmp_path / "m.db", [Dispatch("k", 0, 5)])))
    assert all("MODELLED" not in group for _, group in chrome(measured)[0].values())


def test_a_recorded_run_with_its_calls(shared_data):
    folder = shared_data / "rocprofv3" / "ms_trace"
    timeline = Timeline.of(read_base_run(next(folder.rglob("*.db"))))
    names, slices, _, _ = perfetto(timeline)
    groups = {group.split(" | ")[0] for _, group in names.values() if group}
    assert "Host" in groups and CRITICAL_PATH in groups
    of_gpu = [track for track, (name, group) in names.items() if group and group.startswith("GPU") and name.startswith("queue")]
    assert sum(len(slices[track]) for track in of_gpu) == len(timeline.trace.dispatches)
