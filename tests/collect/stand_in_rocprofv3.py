"""Stands in for AMD's rocprofv3 where there is none: takes the options of ROCm 7's, and nothing else, and writes a small
rocpd database of a program that copied and launched two kernels. Never copies anything from a recording.

STAND_IN_CALLS: a file that gets one JSON line a call. STAND_IN_UNKNOWN: counters that this "GPU" does not have.
STAND_IN_SUBFOLDER: put the database into a folder of its own, as some versions do for counter passes.
STAND_IN_JOURNAL: break off while writing.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

TRUTH = {"true": True, "1": True, "false": False, "0": False}
KERNELS = {1: ("_Z5scalePfi.kd", "scale(float*, int)"), 2: ("_Z5totalPfi.kd", "total(float*, int)")}
DISPATCHES = [(1, 1_000, 41_000), (2, 45_000, 50_000), (1, 51_000, 90_000)]  # kernel, start ns, end ns


def main() -> int:
    words = sys.argv[1:]
    if "--" not in words:
        sys.exit("rocprofv3 requires double-hyphen (--) before the application to be executed")
    options = parse(words[: words.index("--")])
    application = words[words.index("--") + 1 :]
    note_call(options, application)
    unknown = set(options.pmc or []) & set(os.environ.get("STAND_IN_UNKNOWN", "").split())
    if unknown:
        sys.exit(f"[rocprofv3] cannot collect {sorted(unknown)}")
    status = subprocess.call(application)
    if status == 0:
        write_database(output_path(options), options.pmc or [])
    return status


def parse(words):
    parser = argparse.ArgumentParser(prog="rocprofv3", allow_abbrev=False)
    for trace in ("--kernel-trace", "--memory-copy-trace", "--hip-trace"):
        parser.add_argument(trace, nargs="?", type=TRUTH.__getitem__, const=True, default=False)
    parser.add_argument("--pmc", nargs="*")
    parser.add_argument("-f", "--output-format", nargs="+", choices=["csv", "json", "pftrace", "otf2", "rocpd"])
    parser.add_argument("-d", "--output-directory", required=True)
    parser.add_argument("-o", "--output-file", required=True)
    options = parser.parse_args(words)
    if options.output_format not in (None, ["rocpd"]):
        sys.exit("this stand-in writes rocpd only")
    return options


def note_call(options, application):
    calls = os.environ.get("STAND_IN_CALLS")
    if calls:
        with open(calls, "a") as file:
            print(json.dumps({**vars(options), "application": application}), file=file)


def output_path(options) -> Path:
    folder = Path(options.output_directory)
    if options.pmc and os.environ.get("STAND_IN_SUBFOLDER"):
        folder /= "pass_1"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{options.output_file}_results.db"


def write_database(path: Path, counters):
    """The tables of rocpd schema 3 that matter here, without the uuid suffix, which readers must not rely on."""
    with sqlite3.connect(path) as database:
        database.executescript(
            """
            CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
            CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT);
            CREATE TABLE rocpd_info_node(id INTEGER PRIMARY KEY, hostname TEXT);
            CREATE TABLE rocpd_info_process(id INTEGER PRIMARY KEY, nid INT, pid INT, command TEXT, extdata TEXT);
            CREATE TABLE rocpd_info_agent(id INTEGER PRIMARY KEY, type TEXT, name TEXT, product_name TEXT, uuid INT,
                extdata TEXT);
            CREATE TABLE rocpd_info_kernel_symbol(id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT,
                arch_vgpr_count INT, accum_vgpr_count INT, sgpr_count INT, group_segment_size INT, private_segment_size INT);
            CREATE TABLE rocpd_event(id INTEGER PRIMARY KEY, extdata TEXT);
            CREATE TABLE rocpd_kernel_dispatch(id INTEGER PRIMARY KEY, event_id INT, kernel_id INT, agent_id INT, queue_id INT,
                stream_id INT, start INT, "end" INT, group_segment_size INT, private_segment_size INT, workgroup_size_x INT,
                workgroup_size_y INT, workgroup_size_z INT, grid_size_x INT, grid_size_y INT, grid_size_z INT);
            CREATE TABLE rocpd_memory_copy(id INTEGER PRIMARY KEY, event_id INT, stream_id INT, start INT, "end" INT, size INT,
                name_id INT);
            CREATE TABLE rocpd_info_pmc(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE rocpd_pmc_event(id INTEGER PRIMARY KEY, event_id INT, pmc_id INT, value REAL);
            INSERT INTO rocpd_metadata(tag, value) VALUES ('schema_version', '3');
            INSERT INTO rocpd_string VALUES (1, 'MEMORY_COPY_HOST_TO_DEVICE');
            INSERT INTO rocpd_info_node VALUES (1, 'stand-in');
            INSERT INTO rocpd_memory_copy VALUES (1, 100, 0, 100, 900, 4096, 1);
            """
        )
        pid = os.getpid()
        figures = {"cu_count": 304, "simd_per_cu": 4, "max_engine_clk_fcompute": 2100, "num_xcc": 8, "device_id": 0x74A1}
        database.execute("INSERT INTO rocpd_info_process VALUES (?, 1, ?, 'application', '{}')", (pid, pid))
        database.execute("INSERT INTO rocpd_info_agent VALUES (1, 'GPU', 'gfx942', 'MI300X', 29857, ?)", (json.dumps(figures),))
        for kernel, names in KERNELS.items():
            database.execute("INSERT INTO rocpd_info_kernel_symbol VALUES (?, ?, ?, 16, 0, 32, 0, 0)", (kernel, *names))
        for dispatch, (kernel, start, end) in enumerate(DISPATCHES, start=1):
            database.execute("INSERT INTO rocpd_event VALUES (?, '{}')", (dispatch,))
            row = (dispatch, dispatch, kernel, 1, 0, 0, start, end, 0, 0, 256, 1, 1, 65536, 1, 1)
            database.execute(f"INSERT INTO rocpd_kernel_dispatch VALUES ({', '.join('?' * len(row))})", row)
        for pmc, name in enumerate(counters, start=1):
            database.execute("INSERT INTO rocpd_info_pmc VALUES (?, ?)", (pmc, name))
            for dispatch in range(1, len(DISPATCHES) + 1):
                rows = [(dispatch, pmc)] * 2  # of two instances, to be summed
                database.executemany("INSERT INTO rocpd_pmc_event(event_id, pmc_id, value) VALUES (?, ?, 512)", rows)
    if os.environ.get("STAND_IN_JOURNAL"):
        path.with_name(path.name + "-journal").write_bytes(b"hot")


if __name__ == "__main__":
    sys.exit(main())
