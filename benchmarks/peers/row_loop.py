"""The same analysis as a plain Python loop over the rows, as a first version would be written. A peer for scale.py.

    python benchmarks/peers/row_loop.py TRACE.db OUT

Computes totals per kernel, predecessors by order in queues and streams, critical path and slack. Writes OUT.json and, with a
row per dispatch, OUT.csv.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
from collections import defaultdict


def main(database: str, out: str) -> None:
    connection = sqlite3.connect(f"file:{database}?mode=ro&immutable=1", uri=True)
    names = dict(connection.execute("SELECT id, display_name FROM rocpd_info_kernel_symbol"))
    rows = connection.execute(
        """SELECT id, kernel_id, agent_id, queue_id, stream_id, start, "end", workgroup_size_x, grid_size_x
           FROM rocpd_kernel_dispatch ORDER BY start"""
    ).fetchall()
    kernels = defaultdict(lambda: [0, 0])
    last_of_queue, last_of_stream, predecessors = {}, {}, []
    for number, (_, kernel, _, queue, stream, start, end, *_) in enumerate(rows):
        kernels[names[kernel]][0] += 1
        kernels[names[kernel]][1] += end - start
        before = {last_of_queue.get(queue), last_of_stream.get(stream)} - {None}
        predecessors.append([p for p in before if rows[p][6] <= start])
        last_of_queue[queue] = last_of_stream[stream] = number
    binding = [max(before, key=lambda p: rows[p][6], default=None) for before in predecessors]
    node = max(range(len(rows)), key=lambda n: rows[n][6])
    last_end, path = rows[node][6], set()
    while node is not None:
        path.add(node)
        node = binding[node]
    latest = [last_end] * len(rows)
    for number in range(len(rows) - 1, -1, -1):
        if predecessors[number]:
            start, end = rows[number][5:7]
            ready = max(rows[p][6] for p in predecessors[number])
            must = latest[number] - (end - start) - (start - ready)
            for p in predecessors[number]:
                latest[p] = min(latest[p], must)
    with open(out + ".json", "w") as file:
        span = last_end - rows[0][5]
        json.dump({"span_ns": span, "nodes_on_path": len(path), "kernels": kernels}, file)
    with open(out + ".csv", "w", newline="") as file:
        write = csv.writer(file).writerow
        for number, (id, kernel, *rest) in enumerate(rows):
            write((id, names[kernel], *rest, latest[number] - rest[4], number in path))


if __name__ == "__main__":
    main(*sys.argv[1:])
