"""rocmperf-rocpd-writer by itself, on spools that are made here and therefore completely known."""

from __future__ import annotations

import json
import sqlite3
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# native/tools/spool/format.h
PROCESS, AGENT, QUEUE, CODE_OBJECT, KERNEL, DISPATCH, BARRIER, COPY, DISPATCH_END, COPY_END = 1, 2, 4, 5, 6, 7, 8, 9, 10, 11
OBSERVED = 14
HEADER_BYTES = 4096
NONE, ALL = 0, 1


@dataclass
class Spool:
    records: list[bytes] = field(default_factory=list)

    def add(self, kind: int, layout: str, *values: int, strings: tuple[str, ...] = (), array: bytes = b"") -> None:
        fixed = struct.pack("<" + layout, *values)
        text = b"".join(struct.pack("<I", len(s.encode())) + s.encode() for s in strings)
        body = fixed + text + bytes(-len(text) % 8) + array
        self.records.append(struct.pack("<II", 8 + len(body), kind) + body)

    def write(self, path: Path, rest: bytes = b"") -> None:
        body = b"".join(self.records)
        header = struct.pack("<8sIIQQ", b"RPDSPOOL", 1, 0, HEADER_BYTES + len(body), 0)
        path.write_bytes(header.ljust(HEADER_BYTES, b"\0") + body + rest)

    def prologue(self, kernel: str = "k.kd", command: str = "app") -> Spool:
        self.add(PROCESS, "QII", 5_000_000_000, 42, 1, strings=(command, "{}", "modelled", "software gfx942", "f00d", "0"))
        for node, gpu in ((0, 0), (1, 1)):
            self.add(AGENT, "IIII", node, gpu, 29857 * gpu, 0, strings=("gfx942", "", "AMD", "MI300X", "{}"))
        self.add(CODE_OBJECT, "QQQQQQqII", 1, 9, 0, 64, 0, 0, 0, 1, 2, strings=("file:///app",))
        self.add(KERNEL, "QQQqIIIIIIII", 1, 1, 0x1000, 0, 8, 16, 0, 0, 16, 8, 0, 0, strings=(kernel,))
        for queue in QUEUES:
            self.add(QUEUE, "II", queue, 1)
        return self

    def dispatch(self, ident: int, queue: int, thread: int, barrier: bool, signal: int) -> None:
        self.add(DISPATCH, "QQQQII10I", ident, 0x1000, signal, 0, thread, 0, 64, 1, 1, 64, 1, 1, 0, 0, queue, barrier)

    def copy(self, ident: int, thread: int, waits: list[int], signal: int) -> None:
        array = struct.pack(f"<{len(waits)}Q", *waits)
        self.add(COPY, "QQQQQQIIIIII", ident, signal, 16, 32, 8, 0, thread, 0, 1, 0, len(waits), 0, array=array)

    def barrier(self, queue: int, thread: int, barrier: bool, waits: list[int], signal: int) -> None:
        self.add(BARRIER, "QQQQQQIIII", signal, *(waits + [0] * 5)[:5], thread, queue, barrier, ALL)

    def observed(self, thread: int, signal: int) -> None:
        self.add(OBSERVED, "QII", signal, thread, 0)

    def end(self, kind: int, ident: int) -> None:
        self.add(kind, "QQQ", ident, 1000 * ident, 1000 * ident + 500)


QUEUES = (1, 2, 3)


def convert(writer: Path, spool: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([writer, spool], capture_output=True, text=True, timeout=60)


# ---- dependencies ----

SIGNALS, THREADS = (0, 101, 102, 103, 104), (7, 8)
signal, waits = st.sampled_from(SIGNALS), st.lists(st.sampled_from(SIGNALS[1:]), max_size=3, unique=True)
queue, thread = st.sampled_from(QUEUES), st.sampled_from(THREADS)
steps = st.one_of(
    st.tuples(st.just("dispatch"), queue, thread, st.booleans(), signal),
    st.tuples(st.just("copy"), thread, waits, signal),
    st.tuples(st.just("barrier"), queue, thread, st.booleans(), waits, signal),
    st.tuples(st.just("observed"), thread, signal),
)
KINDS = ("queue", "signal", "host")


class Oracle:
    """A graph with all packets as nodes and every reason to wait as an edge, reduced by brute force."""

    def __init__(self) -> None:
        self.edges: list[list[tuple[int, int]]] = []  # for each packet: (earlier packet, kind)
        self.events: list[int] = []  # packets that are dispatches or copies
        self.in_queue: dict[int, list[int]] = {q: [] for q in QUEUES}
        self.gate: dict[int, int] = {}
        self.completes: dict[int, int] = {}
        self.seen: dict[int, list[int]] = {t: [] for t in THREADS}

    def packet(self, thread: int, waits: list[int], signal: int, event: bool, edges: list[tuple[int, int]]) -> int:
        edges = edges + [(self.completes[s], 1) for s in waits if s in self.completes]
        edges += [(packet, 2) for packet in self.seen[thread]]
        self.edges.append(edges)
        packet = len(self.edges) - 1
        if event:
            self.events.append(packet)
        if signal:
            self.completes[signal] = packet
        return packet

    def queue_edges(self, queue: int, barrier: bool) -> list[tuple[int, int]]:
        before = self.in_queue[queue] if barrier else []
        return [(packet, 0) for packet in before + ([self.gate[queue]] if queue in self.gate else [])]

    def apply(self, step: tuple) -> None:
        match step:
            case ("dispatch", queue, thread, barrier, signal):
                self.in_queue[queue].append(self.packet(thread, [], signal, True, self.queue_edges(queue, barrier)))
            case ("copy", thread, waits, signal):
                self.packet(thread, waits, signal, True, [])
            case ("barrier", queue, thread, barrier, waits, signal):
                packet = self.packet(thread, waits, signal, False, self.queue_edges(queue, barrier))
                self.in_queue[queue].append(packet)
                self.gate[queue] = packet
            case ("observed", thread, signal):
                if signal in self.completes:
                    self.seen[thread].append(self.completes[signal])

    def direct(self) -> list[set[tuple[int, str]]]:
        """For each event, in order: (number, kind) of the earlier events that no other one implies."""
        before: list[set[int]] = []
        for edges in self.edges:
            before.append({packet for earlier, _ in edges for packet in before[earlier] | {earlier}})
        number = {packet: i for i, packet in enumerate(self.events)}
        result = []
        for event in self.events:
            candidates = before[event] & number.keys()
            implied = set().union(*(before[packet] for packet in candidates))
            kinds = self.strongest_paths(event)
            result.append({(number[p], KINDS[kinds[p]]) for p in candidates - implied})
        return result

    def strongest_paths(self, event: int) -> dict[int, int]:
        """For every packet before the event, the weakest link of the strongest path to it."""
        best: dict[int, int] = {}
        open_ends = [(event, 0)]
        while open_ends:
            packet, so_far = open_ends.pop()
            for earlier, kind in self.edges[packet]:
                weakest = max(so_far, kind)
                if weakest < best.get(earlier, 3):
                    best[earlier] = weakest
                    open_ends.append((earlier, weakest))
        return best


@given(program=st.lists(steps, min_size=1, max_size=60) | st.lists(steps, min_size=30, max_size=60))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_dependencies_are_the_transitive_reduction_of_every_reason_to_wait(program, writer, tmp_path):
    spool, oracle = Spool().prologue(), Oracle()
    events: list[tuple[str, int]] = []
    count = {"dispatch": 0, "copy": 0}
    for step in program:
        oracle.apply(step)
        if step[0] in count:
            count[step[0]] += 1
            events.append((step[0], count[step[0]]))
            getattr(spool, step[0])(count[step[0]], *step[1:])
        else:
            getattr(spool, step[0])(*step[1:])
    for name, ident in events:
        spool.end(DISPATCH_END if name == "dispatch" else COPY_END, ident)
    path = tmp_path / "trace.db.spool"
    (tmp_path / "trace.db").unlink(missing_ok=True)
    spool.write(path)
    assert convert(writer, path).returncode == 0

    with sqlite3.connect(tmp_path / "trace.db") as connection:
        ids = {("dispatch", i): e for i, e in connection.execute("SELECT dispatch_id, event_id FROM rocpd_kernel_dispatch")}
        ids |= {("copy", i): e for i, e in connection.execute("SELECT id, event_id FROM rocpd_memory_copy")}
        texts = dict(connection.execute("SELECT id, extdata FROM rocpd_event"))
    number = {ids[event]: i for i, event in enumerate(events)}
    ours = [{(number[e], kind) for e, kind in json.loads(texts[ids[event]])["depends_on"]} for event in events]
    assert ours == oracle.direct()


# ---- damage, and text that is hostile to SQL ----


def test_any_text_survives(writer, tmp_path):
    name, command = 'it\'s; DROP TABLE rocpd_string; -- "quoted" ☃.kd', "./app 'a' \"b\" \\ ; é"
    spool = Spool().prologue(kernel=name, command=command)
    spool.dispatch(1, 1, 42, True, 0)
    spool.end(DISPATCH_END, 1)
    spool.write(tmp_path / "trace.db.spool")
    assert convert(writer, tmp_path / "trace.db.spool").returncode == 0
    with sqlite3.connect(tmp_path / "trace.db") as connection:
        assert connection.execute("SELECT name FROM kernels").fetchall() == [(name.removesuffix(".kd"),)]
        assert connection.execute("SELECT command FROM processes").fetchall() == [(command,)]
        stored = connection.execute("SELECT extdata FROM rocpd_info_kernel_symbol").fetchone()[0]
    assert json.loads(stored)["kernel_name"] == name


def test_a_record_being_written_when_the_program_died_is_left_out(writer, tmp_path):
    spool = Spool().prologue()
    for ident in (1, 2):
        spool.dispatch(ident, 1, 42, True, 0)
    spool.end(DISPATCH_END, 1)
    spool.write(tmp_path / "trace.db.spool", rest=b"\xff" * 1000)
    assert convert(writer, tmp_path / "trace.db.spool").returncode == 0
    with sqlite3.connect(tmp_path / "trace.db") as connection:
        assert connection.execute("SELECT dispatch_id FROM kernels").fetchall() == [(1,)]
        extdata = json.loads(connection.execute("SELECT extdata FROM rocpd_info_process").fetchone()[0])
    assert extdata["rocm_perf_lab"]["unfinished_dispatches"] == 1


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_spool_gives_an_error_or_a_sound_database(data, writer, tmp_path):
    spool = Spool().prologue()
    spool.dispatch(1, 1, 42, True, 101)
    spool.copy(1, 42, [101], 102)
    spool.end(DISPATCH_END, 1)
    path, database, failure = (tmp_path / f"trace.db{suffix}" for suffix in (".spool", "", ".error"))
    spool.write(path)
    damaged = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.one_of(st.integers(0, 31), st.integers(HEADER_BYTES, len(damaged) - 1)))
        damaged[at] = data.draw(st.integers(0, 255))
    path.write_bytes(damaged[: data.draw(st.one_of(st.just(len(damaged)), st.integers(0, len(damaged))))])
    for file in (database, failure):
        file.unlink(missing_ok=True)
    result = convert(writer, path)
    assert result.returncode in (0, 1)
    assert database.exists() == (result.returncode == 0)
    assert failure.exists() == (result.returncode == 1)
    if result.returncode == 0:
        with sqlite3.connect(database) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    else:
        reason = result.stderr.removeprefix(f"rocm-perf tracer: no database {database}: ").split("; the spool is kept")[0]
        assert failure.read_text() == reason + "\n" and result.stderr.count("\n") == 1


@pytest.mark.parametrize("obstacle", ["a directory in its place", "no room"])
def test_a_database_that_cannot_be_written_is_reported_and_the_spool_kept(obstacle, writer, tmp_path):
    spool = Spool().prologue()
    spool.write(tmp_path / "trace.db.spool")
    limit = []
    if obstacle == "no room":
        limit = ["sh", "-c", 'ulimit -f 16; exec "$0" "$@"']
    else:
        (tmp_path / "trace.db").mkdir()
    command = [*limit, writer, tmp_path / "trace.db.spool"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert result.stderr.startswith(f"rocm-perf tracer: no database {tmp_path}/trace.db: ")
    reason = (tmp_path / "trace.db.error").read_text().removesuffix("\n")
    assert reason and f"trace.db: {reason}; the spool is kept" in result.stderr
    assert (tmp_path / "trace.db.spool").exists()
    assert not (tmp_path / "trace.db.partial").exists() and not (tmp_path / "trace.db").is_file()
