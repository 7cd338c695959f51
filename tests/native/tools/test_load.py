"""Many tiny dispatches from several threads: each is in the database once, and no process's memory grows with their number."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import threading
from collections import Counter
from pathlib import Path

import pytest

LOAD = Path(__file__).parent / "programs" / "load.hip"
THREADS, STREAMS = 4, 8
FIRST, THEN_EVERY = 1000, 100  # native/tools/tracer/counter_sampling.h

# The tracer's own memory: the mapped window of the spool, its stacks, its signals. The writer's: SQLite's cache, part of
# the spool, and one bit for every dispatch.
TRACER_BYTES = 48 << 20
WRITER_BYTES = 48 << 20


def peak_of_writer(database: Path, stop: threading.Event, peaks: list[int]) -> None:
    """Samples the memory high-water mark of the process that is writing `database`; unlike samples, the mark misses no peak."""
    while not stop.wait(0.02):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if f"{database}.partial" in {os.readlink(fd) for fd in (process / "fd").iterdir()}:
                    peaks.append(1024 * int(re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())[1]))
            except (OSError, TypeError):
                continue  # the process has just ended, or has just closed the file


def expected_dispatches(dispatches: int) -> Counter[tuple[int, int]]:
    """The number of dispatches for each (work-items, LDS bytes), including the warm-up."""
    share = STREAMS // THREADS
    numbers = [*range(dispatches), *(i for _ in range(THREADS) for i in range(share))]
    return Counter((i % 64 + 1, i // 64 % 512 * 4) for i in numbers)


def check_dispatches(run, dispatches: int) -> None:
    total = dispatches + STREAMS
    own = "FROM kernels WHERE name LIKE 'add_one%'"
    assert run.query(f"SELECT count(*), count(DISTINCT dispatch_id), count(DISTINCT stack_id) {own}") == [(total,) * 3]
    found = run.query(f"SELECT workgroup_x, lds_size, count(*) {own} GROUP BY 1, 2")
    assert Counter({(items, lds): count for items, lds, count in found}) == expected_dispatches(dispatches)
    threads = {int(tid) for tid in re.findall(r"thread (\d+)", run.process.stdout)}
    assert len(threads) == THREADS
    of_threads = run.query(f"SELECT tid, count(DISTINCT stream_id), count(*) {own} AND tid != pid GROUP BY 1")
    assert {tid for tid, _, _ in of_threads} == threads
    assert {(streams, count) for _, streams, count in of_threads} == {(STREAMS // THREADS, dispatches // THREADS)}
    of_streams = run.query(f"SELECT stream_id, count(*) {own} GROUP BY 1")
    assert of_streams == [(stream, dispatches // STREAMS + 1) for stream in range(1, STREAMS + 1)]
    calls = f"SELECT DISTINCT name FROM regions WHERE id IN (SELECT stack_id {own})"
    assert run.query(calls) == [("hipLaunchKernel",)]


def check_order(run) -> None:
    """Edges lead to earlier work that had ended, and each stream is one chain."""
    times = {event: (start, end, stream) for event, start, end, stream in run.query(
        """SELECT event_id, start, end, stream_id FROM rocpd_kernel_dispatch
           UNION ALL SELECT event_id, start, end, -1 FROM rocpd_memory_copy"""
    )}  # fmt: skip
    last: dict[int, int] = {}
    for event, extdata in run.query("SELECT id, extdata FROM rocpd_event WHERE extdata LIKE '{\"depends_on%' ORDER BY id"):
        start, _, stream = times[event]
        before = [earlier for earlier, _ in json.loads(extdata)["depends_on"]]
        assert all(times[earlier][1] <= start for earlier in before)
        if stream in last:
            assert before and times[last[stream]][1] <= start
        last[stream] = event


def check_counters(run, dispatches: int) -> None:
    kept = run.query("""SELECT count(DISTINCT p.event_id), count(*), count(DISTINCT pmc_id) FROM rocpd_pmc_event p
                        JOIN rocpd_kernel_dispatch d ON d.event_id = p.event_id
                        JOIN rocpd_info_kernel_symbol k ON k.id = d.kernel_id WHERE k.display_name LIKE 'add_one%'""")
    ((with_counters, rows, counters),) = kept
    total = dispatches + STREAMS
    sampled = sum(1 for i in range(total) if i < FIRST or i % THEN_EVERY == 0)
    assert with_counters == sampled
    assert rows == with_counters * counters, "a dispatch has all of its counters or none"
    (extdata,) = run.query("SELECT extdata FROM rocpd_info_process")[0]
    ours = json.loads(extdata)["rocm_perf_lab"]
    assert (ours["unfinished_dispatches"], ours["lost_records"]) == (0, 0)


def check_memory(run, device, program: Path, dispatches: int, writer_peaks: list[int]) -> None:
    untraced = subprocess.run(
        [program, str(dispatches)], env=device.environment(os.environ), capture_output=True, text=True, check=True
    ).stdout
    traced_peak, plain_peak = (1024 * int(re.search(r"peak \d+ (\d+)", text)[1]) for text in (run.process.stdout, untraced))
    assert traced_peak < plain_peak + TRACER_BYTES
    assert 0 < max(writer_peaks) < WRITER_BYTES


@pytest.mark.parametrize("dispatches", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_every_dispatch_is_recorded_once(dispatches, traced, compile_hip, device, tmp_path):
    program, database = compile_hip(LOAD), tmp_path / "trace.db"
    stop, peaks = threading.Event(), []
    watch = threading.Thread(target=peak_of_writer, args=(database, stop, peaks))
    watch.start()
    try:
        run = traced(database, program, dispatches, seconds=600)
    finally:
        stop.set()
        watch.join()
    assert run.process.returncode == 0
    check_dispatches(run, dispatches)
    check_order(run)
    if not device.is_hardware:
        check_counters(run, dispatches)
    check_memory(run, device, program, dispatches, peaks)


@pytest.mark.parametrize("seed", range(4))
def test_killed_under_load(seed, traced, compile_hip, tmp_path):
    """Whenever the program is killed, there is a sound database of the operations seen to end, or none at all."""
    moment = random.Random(seed).uniform(0, 1.5)
    run = traced(tmp_path / "trace.db", compile_hip(LOAD), 10_000_000, kill_after=moment)
    assert os.listdir(tmp_path) in ([], ["trace.db"])
    if not run.path.exists():
        return
    assert run.query("PRAGMA integrity_check") == [("ok",)]
    assert run.query("PRAGMA foreign_key_check") == []
    ((found, distinct),) = run.query("SELECT count(*), count(DISTINCT dispatch_id) FROM rocpd_kernel_dispatch")
    assert found == distinct
    check_order(run)
    edges = run.query("""SELECT count(*) FROM rocpd_event e, json_each(e.extdata, '$.depends_on') edge
                         WHERE json_extract(edge.value, '$[0]') NOT IN (SELECT id FROM rocpd_event)""")
    assert edges == [(0,)]
