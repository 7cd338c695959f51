"""What reading a large thread trace costs, compared with a plain json.load of the same files.

    python benchmarks/thread_trace.py [--waves N] [--records N] [--rounds N] [--alike]

Writes the trace of a loop that loads, waits, computes and stores, as rocprofv3 writes it. No two waves execute the same
sequence unless --alike is given; for identical waves, the reader follows the waits only once. Then two processes run in
alternation: json.load of every file, and the reader, which also checks all sums and finds what each wait was for. Prints JSON
with the medians of the rounds, and the smallest and largest values. Seconds are processor time on all cores, which a busy
machine disturbs less than wall time; the files are in the page cache for both.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

NAME = "ui_output_agent_1_dispatch_1"
SIMDS = 4
# text, category, stall, latency
LOOP = [
    ("global_load_dword v4, v[0:1], off", 4, 4, 8), ("v_add_u32_e32 v5, 1, v5", 6, 0, 4),
    ("s_waitcnt vmcnt(0)", 9, 400, 400), ("v_fma_f32 v4, v4, v4, v4", 6, 0, 4), ("v_exp_f32_e32 v4, v4", 6, 0, 16),
    ("ds_write_b32 v6, v4", 5, 4, 8), ("s_waitcnt lgkmcnt(0)", 9, 60, 60), ("s_add_i32 s4, s4, 1", 2, 0, 4),
    ("s_cmp_lt_i32 s4, s5", 2, 0, 4), ("s_cbranch_scc1 65520", 7, 0, 4),
]  # fmt: skip


def write(folder: Path, lengths: list[int]) -> None:
    ui = folder / NAME
    ui.mkdir()
    category, stall, latency = (np.array([row[column] for row in LOOP]) for column in (1, 2, 3))
    line = np.arange(max(lengths)) % len(LOOP)
    starts = np.concatenate(([0], np.cumsum(latency[line])))
    columns = np.column_stack((starts[:-1], category[line], stall[line], latency[line], line + 1))
    hits = np.zeros(len(LOOP), np.int64)
    names: dict = {}
    events = []
    for wave, length in enumerate(lengths):
        simd, slot, begin = wave % SIMDS, wave // SIMDS, 4 * wave
        rows = columns[:length].copy()
        rows[:, 0] += begin
        hits += np.bincount(line[:length], minlength=len(LOOP))
        name, end = f"se0_sm{simd}_sl{slot}_wv0.json", begin + int(starts[length])
        head = {"begin": begin, "cu": 1, "end": end, "id": 0, "instructions": rows.tolist(), "simd": simd, "slot": slot}
        document = {"duration": end - begin, "name": "SE0", "num_insts": length, "num_stitched": length, "wave": head}
        (ui / name).write_text(json.dumps(document, separators=(",", ":")))
        names.setdefault(str(simd), {})[str(slot)] = {"0": [name, begin, end]}
        events += [[begin, 1, simd, slot, 1, 1], [end, 1, simd, slot, 0, 1]]
    sums = np.column_stack((hits, hits * latency, hits * stall, 0 * hits)).tolist()
    code = [["; loop", 0, 0, "loop()", 1, 4096, 0, 0, 0, 0]]
    code += [[text, 0, n + 1, f"loop.hip:{n + 1}", 1, 4096 + 8 * n, *sums[n]] for n, (text, *_) in enumerate(LOOP)]
    documents = {
        "code": {"code": code},
        "filenames": {"gfxip": 9, "wave_filenames": {"0": names}},
        "occupancy": {"0": sorted(events)},
        "realtime": {"SE0": [[0, 0], [21000, 1000]], "metadata": {"frequency": 100_000_000}},
    }
    for name, document in documents.items():
        (ui / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")))
    with (folder / f"stats_{NAME}.csv").open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(["CodeObj", "Vaddr", "Instruction", "Hitcount", "Latency", "Stall", "Idle", "Source"])
        writer.writerows([[row[4], row[5], row[0], *row[6:10], row[3]] for row in code])


def load_json(folder: Path) -> int:
    documents = [json.loads(path.read_bytes()) for path in sorted((folder / NAME).glob("*.json"))]
    return sum(len(document["wave"]["instructions"]) for document in documents if "wave" in document)


def read_trace(folder: Path) -> int:
    from rocm_perf_lab.analysis.thread_trace import findings, read
    from rocm_perf_lab.arch.families import family_of

    traced = findings(read(folder / NAME), family_of("gfx942"))
    assert traced.waited_for is not None and not traced.trace.missing, traced.trace.missing
    return int(traced.instructions.value)


WAYS = {"json.load": load_json, "reader": read_trace}


def timed(way: str, folder: Path) -> tuple[float, int, float]:
    """The processor seconds of the work without Python's start-up, the number of records, and the peak memory in MB."""
    command = [sys.executable, __file__, "--way", way, folder]
    completed = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds, records, kib = json.loads(completed.stdout)
    return seconds, records, kib / 1024


def child(way: str, folder: Path) -> None:
    import rocm_perf_lab.analysis.thread_trace  # noqa: F401  start-up is not what is measured

    start = time.process_time()
    records = WAYS[way](folder)
    print(json.dumps([time.process_time() - start, records, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waves", type=int, default=32)
    parser.add_argument("--records", type=int, default=30_000, help="records of the longest wave")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alike", action="store_true", help="let all waves execute the same sequence")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path, nargs="?", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        return child(options.way, options.folder)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(Path(folder), options), indent=2))


def measure(folder: Path, options: argparse.Namespace) -> dict:
    lengths = [options.records - (0 if options.alike else wave) for wave in range(options.waves)]
    write(folder, lengths)
    size = sum(path.stat().st_size for path in (folder / NAME).iterdir())
    rounds = [{way: timed(way, folder) for way in WAYS} for _ in range(options.rounds)]
    records = sum(lengths)
    assert all(count == records for by_way in rounds for _, count, _ in by_way.values())
    result: dict = {"records": records, "megabytes": round(size / 1e6, 1)}
    for way in WAYS:
        result[f"{way}, s"] = spread([by_way[way][0] for by_way in rounds])
        result[f"{way}, MB of memory"] = spread([by_way[way][2] for by_way in rounds])
    result["reader / json.load, time"] = spread([by_way["reader"][0] / by_way["json.load"][0] for by_way in rounds])
    return result


def spread(values: list[float]) -> dict[str, float]:
    return {"median": round(statistics.median(values), 3), "min": round(min(values), 3), "max": round(max(values), 3)}


if __name__ == "__main__":
    main()
