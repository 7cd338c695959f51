"""A timeline as a Perfetto trace: TrackEvents in protocol buffers, written with Perfetto's own Python package.

Source: "Converting arbitrary timestamped data to Perfetto", https://perfetto.dev/docs/getting-started/converting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from rocm_perf_lab.analysis.timeline import Timeline, Track
from rocm_perf_lab.errors import UnavailableError
from rocm_perf_lab.extras import how_to_install

if TYPE_CHECKING:
    from types import ModuleType

_SEQUENCE = 1
_PACKET = b"\x0a"  # Trace.packet: field 1, length-delimited
_COUNTERS = "Counters"


def write_perfetto(timeline: Timeline, file: IO[bytes]) -> None:
    """Write packet by packet, so that the whole trace is never in memory. Raises UnavailableError without perfetto."""
    proto = _definitions()
    for packet in _Packets(proto, timeline).all():
        content = packet.SerializeToString()
        file.write(_PACKET + _varint(len(content)) + content)  # a Trace of one packet; several in a row form one Trace


def _varint(number: int) -> bytes:
    """The number as a varint (https://protobuf.dev/programming-guides/encoding): seven bits per byte, lowest first."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def _definitions() -> ModuleType:
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError as error:
        problem = f"the definitions of Perfetto's format are missing ({error})"
        raise UnavailableError(problem, f"{how_to_install('perfetto')}, or use --chrome") from error
    definitions: ModuleType = perfetto_trace_pb2
    return definitions


class _Packets:
    def __init__(self, proto: ModuleType, timeline: Timeline):
        self._proto, self._timeline = proto, timeline
        self._next_track = 1
        self._leaving: dict[int, list[int]] = {}
        self._arriving: dict[int, list[int]] = {}
        for number, (source, target, _) in enumerate(timeline.flows, 1):
            self._leaving.setdefault(source, []).append(number)
            self._arriving.setdefault(target, []).append(number)

    def all(self) -> Iterator[Any]:
        yield self._proto.TracePacket(trusted_packet_sequence_id=_SEQUENCE, sequence_flags=1)  # SEQ_INCREMENTAL_STATE_CLEARED
        groups: dict[str, int] = {}
        shown: set[int] = set()  # further tracks show these nodes without their details and arrows
        for track in self._timeline.tracks:
            if track.group not in groups:
                groups[track.group] = self._next_track
                yield self._descriptor(f"{track.group} | {self._timeline.title}", None)
            yield from self._slices(track, groups[track.group], shown)
        if self._timeline.counters:
            parent = self._next_track
            yield self._descriptor(_COUNTERS, None)
            for counter in self._timeline.counters:
                yield from self._counter(counter.name, parent, counter.time.tolist(), counter.rate)

    def _descriptor(self, name: str, parent: int | None, **more: Any) -> Any:
        packet = self._proto.TracePacket(trusted_packet_sequence_id=_SEQUENCE)
        packet.track_descriptor.uuid = self._next_track
        packet.track_descriptor.name = name
        if parent is not None:
            packet.track_descriptor.parent_uuid = parent
        if "counter" in more:
            packet.track_descriptor.counter.unit_name = more["counter"]
        self._next_track += 1
        return packet

    def _slices(self, track: Track, parent: int, shown: set[int]) -> Iterator[Any]:
        uuid = self._next_track
        yield self._descriptor(track.name, parent)
        for node, start, end in zip(track.nodes.tolist(), track.start.tolist(), track.end.tolist(), strict=True):
            yield self._begin(uuid, node, start, shown)
            packet = self._proto.TracePacket(trusted_packet_sequence_id=_SEQUENCE, timestamp=end)
            packet.track_event.type = self._proto.TrackEvent.TYPE_SLICE_END
            packet.track_event.track_uuid = uuid
            yield packet

    def _begin(self, uuid: int, node: int, start: int, shown: set[int]) -> Any:
        packet = self._proto.TracePacket(trusted_packet_sequence_id=_SEQUENCE, timestamp=start)
        event = packet.track_event
        event.type, event.track_uuid = self._proto.TrackEvent.TYPE_SLICE_BEGIN, uuid
        event.name = self._timeline.name(node)
        event.categories.append(self._timeline.category(node))
        if node in shown:
            return packet
        shown.add(node)
        event.flow_ids.extend(self._leaving.get(node, ()))
        event.terminating_flow_ids.extend(self._arriving.get(node, ()))
        for name, value in self._timeline.details(node).items():
            annotation = event.debug_annotations.add(name=name)
            if isinstance(value, bool):
                annotation.bool_value = value
            elif isinstance(value, int):
                annotation.int_value = value
            elif isinstance(value, float):
                annotation.double_value = value
            else:
                annotation.string_value = value
        return packet

    def _counter(self, name: str, parent: int, times: list[int], rates: Any) -> Iterator[Any]:
        uuid = self._next_track
        yield self._descriptor(name, parent, counter="1/us")
        for time, rate in zip(times, rates, strict=True):
            packet = self._proto.TracePacket(trusted_packet_sequence_id=_SEQUENCE, timestamp=time)
            packet.track_event.type, packet.track_event.track_uuid = self._proto.TrackEvent.TYPE_COUNTER, uuid
            packet.track_event.double_counter_value = rate
            yield packet
