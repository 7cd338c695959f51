"""Writes large rocpd databases as rocprofv3 would, with several GPUs, queues, streams, copies, and events between streams.

    python benchmarks/traces/rocpd_generator.py OUT.db [--dispatches N] [--host] [--seed N]

Each GPU has a host thread that works in iterations: copy something in, launch 16 kernels on each of four queues (two of which
serve two streams each), let the second queue wait half-way for the first (an event), and synchronise. Kernels start when their
queue and their launch allow it, so the timestamps obey the dependencies. With --host the HIP calls are traced, too. Rows are
computed as arrays; most of the time goes into writing them (10 million dispatches: about two minutes).
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SCHEMA = Path(__file__).resolve().parents[2] / "native" / "tools" / "rocpd" / "schema.sql"
GUID = "0000a1b2-c3d4-7c3d-8a5b-0123456789ab"
AGENTS, QUEUES, LAUNCHES = 4, 4, 16
PER_ITERATION = QUEUES * LAUNCHES  # dispatches of one GPU
KERNELS = 96
CALLS = ("hipLaunchKernel", "hipMemcpyAsync", "hipEventRecord", "hipStreamWaitEvent", "hipDeviceSynchronize")
LAUNCH_NS, LATENCY_NS, WAKE_NS = 3_000, 4_000, 6_000
BOOT_NS = 3_750_000_000_000
PID = 4242
AT_ONCE = 1_000  # iterations held in memory


@dataclass(frozen=True)
class Iterations:
    """Times in ns, and kernels, of some iterations on all GPUs. The shapes are (iterations, agents[, queues, launches])."""

    first: int
    begin: np.ndarray
    launch: np.ndarray
    start: np.ndarray
    end: np.ndarray
    kernel: np.ndarray
    copy_start: np.ndarray
    copy_end: np.ndarray
    synchronized: np.ndarray


def iterations(count: int, random: np.random.Generator) -> Iterator[Iterations]:
    """`count` iterations in chunks; each begins when the previous one is synchronised and the host has done its part."""
    usual = random.lognormal(np.log(12_000), 1.0, KERNELS)  # the usual duration of each kernel in ns
    popularity = 1 / np.arange(1, KERNELS + 1)
    clock = np.full(AGENTS, BOOT_NS, np.int64)
    for first in range(0, count, AT_ONCE):
        n = min(AT_ONCE, count - first)
        shape = (n, AGENTS, QUEUES, LAUNCHES)
        kernel = random.choice(KERNELS, shape, p=popularity / popularity.sum())
        duration = np.maximum(usual[kernel] * random.normal(1, 0.08, shape), 800).astype(np.int64)
        copy = random.integers(5_000, 60_000, (n, AGENTS))
        launch = _launches(shape, random)
        copy_end = 2 * LAUNCH_NS + LATENCY_NS + copy
        start, end = _schedule(launch + LATENCY_NS, duration, copy_end)
        last_launch = launch[..., -1, -1] + LAUNCH_NS
        synchronized = np.maximum(end.max((2, 3)), last_launch + 2 * LAUNCH_NS) + WAKE_NS
        takes = synchronized + random.integers(2_000, 80_000, (n, AGENTS))
        begin = clock + np.cumsum(takes, axis=0) - takes
        clock = clock + takes.sum(0)
        at = begin[..., None, None]
        yield Iterations(
            first, begin, launch + at, start + at, end + at, kernel,
            begin + 2 * LAUNCH_NS + LATENCY_NS, begin + copy_end, begin + synchronized,
        )  # fmt: skip


def _launches(shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """When each launch is called: after the call of the copy, with the queues taking turns."""
    takes = random.integers(LAUNCH_NS // 2, LAUNCH_NS * 2, (*shape[:2], LAUNCHES * QUEUES))
    called = 3 * LAUNCH_NS + np.cumsum(takes, axis=-1)
    return called.reshape(*shape[:2], LAUNCHES, QUEUES).swapaxes(2, 3)


def _schedule(ready: np.ndarray, duration: np.ndarray, copy_end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Start and end of each dispatch; it starts after its launch, its queue's previous one, and all else it waits for."""
    ready = ready.copy()
    ready[:, :, 0, 0] = np.maximum(ready[:, :, 0, 0], copy_end)
    end = np.empty_like(ready)
    half = LAUNCHES // 2
    for queue in range(QUEUES):
        if queue == 1:
            ready[:, :, 1, half] = np.maximum(ready[:, :, 1, half], end[:, :, 0, half - 1])
        # end[k] = max(end[k-1], ready[k]) + duration[k], solved with prefix sums
        total = np.cumsum(duration[:, :, queue] + 500, axis=-1)
        before = total - duration[:, :, queue] - 500
        end[:, :, queue] = total - 500 + np.maximum.accumulate(ready[:, :, queue] - before, axis=-1)
    return end - duration, end


class Database:
    """Fills the tables; ids continue from chunk to chunk."""

    def __init__(self, path: Path, dispatches: int, host: bool):
        self.count = -(-dispatches // (AGENTS * PER_ITERATION))
        self.host = host
        self.calls_per_iteration = PER_ITERATION + 4
        self.regions = self.count * AGENTS * self.calls_per_iteration if host else 0
        self.dispatches = self.count * AGENTS * PER_ITERATION
        self.suffix = "_" + GUID.replace("-", "_")
        path.unlink(missing_ok=True)
        self.connection = sqlite3.connect(path)
        self.connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA page_size = 4096")
        schema = SCHEMA.read_text("utf-8").replace("{{uuid}}", self.suffix).replace("{{guid}}", GUID)
        self.connection.executescript(schema)
        self._head()

    def insert(self, table: str, columns: str, values) -> None:
        """values: arrays or constants, one for each column, or a list of rows."""
        names = ", ".join(f'"{name}"' for name in columns.split())
        marks = ", ".join("?" * len(columns.split()))
        statement = f'INSERT INTO "rocpd_{table}{self.suffix}" ({names}) VALUES ({marks})'
        if isinstance(values, tuple):
            of = (v.ravel().tolist() if isinstance(v, np.ndarray) else itertools.repeat(v) for v in values)
            values = zip(*of, strict=False)
        self.connection.executemany(statement, values)

    def _head(self) -> None:
        self.insert("metadata", "tag value", [("schema_version", "3"), ("uuid", self.suffix), ("guid", GUID)])
        texts = ["", *CALLS, "KERNEL_DISPATCH", "MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", "HIP_RUNTIME_API_EXT"]
        self.text = {text: number for number, text in enumerate(texts, start=1)}
        self.insert("string", "id string", [(number, text) for text, number in self.text.items()])
        self.insert("info_node", "id hash machine_id hostname", [(1, 1, "generated", "generated")])
        self.insert("info_process", "id nid ppid pid command extdata", [(PID, 1, 1, PID, "./generated", "{}")])
        self.insert("info_agent", "id nid pid type absolute_index uuid name product_name extdata", list(_agents()))
        queues = [(n, 1, PID, f"Queue {n}") for n in range(AGENTS * QUEUES + 1)]
        self.insert("info_queue", "id nid pid name", queues)
        self.insert("info_stream", "id nid pid name", [(n, 1, PID, f"Stream {n}") for n in range(AGENTS * 6 + 1)])
        self.insert("info_thread", "id nid ppid pid tid", [(PID + a, 1, 1, PID, PID + a) for a in range(AGENTS)])
        self.insert("info_code_object", "id nid pid agent_id", [(1, 1, PID, 1)])
        self.insert(
            "info_kernel_symbol",
            "id nid pid code_object_id kernel_name display_name group_segment_size private_segment_size sgpr_count "
            "arch_vgpr_count accum_vgpr_count",
            [(k + 1, 1, PID, 1, f"_Z{k}kernelPf.kd", f"void kernel<{k}>(float*)", 512 * (k % 8), 0, 32, 8 * (k % 16 + 1), 0)
             for k in range(KERNELS)],
        )  # fmt: skip

    def write(self, part: Iterations) -> None:
        n = len(part.begin)
        number = (part.first * AGENTS + np.arange(n * AGENTS)).reshape(n, AGENTS, 1, 1)  # iterations, numbered over all GPUs
        submission_index = np.arange(LAUNCHES) * QUEUES + np.arange(QUEUES)[:, None]  # in order of submission
        index = number * PER_ITERATION + submission_index
        self._dispatches(part, index, number * self.calls_per_iteration + 2 + submission_index)
        self._copies(part, number.reshape(n, AGENTS))
        if self.host:
            self._calls(part, number.reshape(n, AGENTS))

    def _event(self, ids: np.ndarray, stack: np.ndarray, category: str) -> None:
        columns = "id category_id stack_id parent_stack_id correlation_id"
        self.insert("event", columns, (ids, self.text[category], stack, stack if category[0] != "H" else 0, 0))

    def _dispatches(self, part: Iterations, index: np.ndarray, call: np.ndarray) -> None:
        def ordered(values):  # in order of ids, with the axes of queues and launches swapped
            return np.broadcast_to(values, index.shape).swapaxes(2, 3)

        agent = np.arange(AGENTS)[None, :, None, None]
        queue = agent * QUEUES + 1 + np.arange(QUEUES)[:, None]
        stream = agent * 6 + 1 + np.arange(QUEUES)[:, None] + 4 * ((np.arange(LAUNCHES) % 2) & (np.arange(QUEUES)[:, None] > 1))
        stream = np.minimum(stream, agent * 6 + 6)
        event = self.regions + 1 + index
        self._event(ordered(event), ordered(call), "KERNEL_DISPATCH")
        waves = part.kernel % 7 + 1
        values = (
            index + 1, 1, PID, PID + agent, agent + 1, part.kernel + 1, index + 1, queue, stream, part.start, part.end,
            0, 512 * (part.kernel % 8), 64 * waves, 1, 1, 64 * waves * (part.kernel % 50 * 40 + 1), 1, 1, 1, event,
        )  # fmt: skip
        self.insert(
            "kernel_dispatch",
            "id nid pid tid agent_id kernel_id dispatch_id queue_id stream_id start end private_segment_size "
            "group_segment_size workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y grid_size_z "
            "region_name_id event_id",
            tuple(ordered(value) if isinstance(value, np.ndarray) else value for value in values),
        )

    def _copies(self, part: Iterations, number: np.ndarray) -> None:
        agent = np.broadcast_to(np.arange(AGENTS), number.shape)
        event = self.regions + self.dispatches + 1 + number
        self._event(event, number * self.calls_per_iteration + 1, "MEMORY_COPY")
        name = self.text["MEMORY_COPY_HOST_TO_DEVICE"]
        size = (part.copy_end - part.copy_start) * 20
        self.insert(
            "memory_copy",
            "id nid pid tid start end name_id dst_agent_id src_agent_id size stream_id event_id",
            (number + 1, 1, PID, PID + agent, part.copy_start, part.copy_end, name, agent + 1, 0, size, agent * 6 + 1, event),
        )

    def _calls(self, part: Iterations, number: np.ndarray) -> None:
        """Insert the calls of each iteration in order of their ids: the copy, the launches, the event's record and wait, and
        the synchronisation.
        """
        shape = (*number.shape, self.calls_per_iteration)
        start = np.empty(shape, np.int64)
        start[..., 0] = part.begin + 2 * LAUNCH_NS
        start[..., 1:-3] = part.launch.swapaxes(2, 3).reshape(*number.shape, PER_ITERATION)
        last = start[..., -4] + LAUNCH_NS // 2
        half = start[..., PER_ITERATION // 2]
        start[..., -3], start[..., -2], start[..., -1] = half + 500, half + 900, last
        takes = np.full(shape, LAUNCH_NS // 2 - 100)
        takes[..., -3:-1] = 300
        end = start + takes
        end[..., -1] = part.synchronized
        end[..., PER_ITERATION // 2] = half + 400
        name = np.full(shape[-1], self.text["hipLaunchKernel"])
        name[[0, -3, -2, -1]] = [self.text[call] for call in CALLS[1:]]
        ids = number[..., None] * self.calls_per_iteration + 1 + np.arange(shape[-1])
        thread = np.broadcast_to(PID + np.arange(AGENTS)[None, :, None], shape)
        self._event(ids, ids, "HIP_RUNTIME_API_EXT")
        self.insert(
            "region", "id nid pid tid start end name_id event_id",
            (ids, 1, PID, thread, start, end, np.broadcast_to(name, shape), ids),
        )  # fmt: skip

    def close(self) -> None:
        self.connection.commit()
        self.connection.close()


def _agents():
    properties = {"cu_count": 304, "num_xcc": 8, "max_engine_clk_fcompute": 2100, "device_id": 0x74A1, "simd_per_cu": 4}
    yield 0, 1, PID, "CPU", 0, 0, "EPYC", "EPYC", "{}"
    for agent in range(1, AGENTS + 1):
        yield agent, 1, PID, "GPU", agent, 0x74A1, "gfx942", "AMD Instinct MI300X", json.dumps(properties)


def generate(path: Path, dispatches: int, host: bool = False, seed: int = 1, progress=lambda text: None) -> Path:
    """Write at least `dispatches` dispatches (rounded up to whole iterations)."""
    database = Database(path, dispatches, host)
    for part in iterations(database.count, np.random.default_rng(seed)):
        database.write(part)
        progress(f"{100 * (part.first + len(part.begin)) // database.count} %")
    database.close()
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--dispatches", type=int, default=10_000_000)
    parser.add_argument("--host", action="store_true", help="trace HIP calls, too")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generate(arguments.path, arguments.dispatches, arguments.host, arguments.seed, lambda text: print(text, file=sys.stderr))


if __name__ == "__main__":
    main()
