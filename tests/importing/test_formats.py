"""Files of other profilers: they are read as written, recordings agree with their databases, and the rest is refused."""

from __future__ import annotations

import csv
import gzip
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from other_profilers import (
    CALLS,
    COPY,
    COUNTERS,
    DISPATCHES,
    REGISTERS,
    write_compute_folder,
    write_rocprofv3_csv,
    write_rocprofv3_json,
    write_rpd,
)
from rocm_perf_lab.errors import MissingInputError, TraceError
from rocm_perf_lab.importing.formats import Imports
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.trace import Trace

FLAT = {index: tuple(int(np.prod(one[index])) for one in DISPATCHES) for index in (5, 6)}


def read(path: Path) -> tuple[list[Trace], list[str]]:
    said: list[str] = []
    with Imports(said.append) as imports:
        return [read_trace(database) for database in imports.databases(path)], said


def check(trace: Trace, *, shapes: bool = True, registers: bool = True, counters: bool = True) -> None:
    """Compares with what was written, as far as the format holds it."""
    rows = trace.dispatches
    names = [trace.kernels[int(id)].name for id in rows.kernel_id]
    assert names == [one[0] for one in DISPATCHES]
    assert list(zip(rows.start.tolist(), rows.end.tolist(), strict=True)) == [one[3:5] for one in DISPATCHES]
    assert rows.lds_bytes.tolist() == [one[7] for one in DISPATCHES]
    for column, index in ((rows.workgroup, 5), (rows.grid, 6)):
        assert tuple(np.prod(column, axis=1)) == FLAT[index]
        assert not shapes or [tuple(row) for row in column.tolist()] == [one[index] for one in DISPATCHES]
    kernels = {one.name: (one.arch_vgprs, one.accum_vgprs, one.sgprs) for one in trace.kernels.values()}
    assert kernels == (REGISTERS if registers else dict.fromkeys(REGISTERS, (0, 0, 0)))
    expected = {name: [one[name] for one in COUNTERS] for name in COUNTERS[0]} if counters else {}
    assert {name: values.tolist() for name, values in trace.counters.items()} == expected


def check_host(trace: Trace, copy_bytes: int) -> None:
    assert trace.copies.name == [f"MEMORY_COPY_{COPY[0]}"] and trace.copies.bytes.tolist() == [copy_bytes]
    assert (int(trace.copies.start[0]), int(trace.copies.end[0])) == COPY[1:3]
    assert trace.calls is not None and set(trace.calls.names) == {name for name, *_ in CALLS}
    launches = {
        (int(s), int(t)) for s, t, k in zip(trace.edges.source, trace.edges.target, trace.edges.kind, strict=True) if k == 4
    }
    assert len(launches) == len(DISPATCHES) + 1  # each of them and the copy has its own call


def test_rocprofv3_csv(tmp_path):
    write_rocprofv3_csv(tmp_path)
    (trace,), said = read(tmp_path)
    check(trace)
    check_host(trace, copy_bytes=-1)
    assert any("sizes of copies" in line for line in said)
    assert trace.collector == "rocprofv3 (CSV)" and trace.process.imported_from == str(tmp_path)
    gpu = trace.agents[3]
    assert (gpu.target, gpu.product, gpu.pci_id, gpu.figure("cu_count")) == ("gfx942", "AMD Instinct MI300X", 29857, 304)
    assert trace.dispatches.agent_id.tolist() == [3, 3, 3] and trace.dispatches.stream_id.tolist() == [0, 1, 0]


def test_one_csv_file_represents_all_files_of_its_run(tmp_path):
    write_rocprofv3_csv(tmp_path, "first")
    write_rocprofv3_csv(tmp_path, "second", kernels=False)
    (trace,), _ = read(tmp_path / "first_kernel_trace.csv")
    check(trace)
    (trace,), said = read(tmp_path / "second_counter_collection.csv")
    check(trace, shapes=False)
    assert any("without their shape" in line for line in said)
    assert len(read(tmp_path)[0]) == 2


def test_older_csv_files_have_other_columns(tmp_path):
    """ROCm 6.2: agents are numbers, segments replace blocks, and there are no registers or streams."""
    write_rocprofv3_csv(tmp_path, counters=False)
    file = tmp_path / "app_kernel_trace.csv"
    drop = {"Stream_Id", "Thread_Id", "Dispatch_Id", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count"}
    renamed = {"LDS_Block_Size": "Group_Segment_Size", "Scratch_Size": "Private_Segment_Size"}
    rows = list(csv.DictReader(file.open(newline="")))
    kept = [name for name in rows[0] if name not in drop]
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([renamed.get(name, name) for name in kept])
        writer.writerows(
            [row[name].removeprefix("Agent ") if name == "Agent_Id" else row[name] for name in kept] for row in rows
        )
    (trace,), _ = read(tmp_path)
    check(trace, registers=False, counters=False)
    assert trace.dispatches.agent_id.tolist() == [3, 3, 3] and trace.dispatches.stream_id.tolist() == [-1, -1, -1]


@pytest.mark.parametrize("compressed", [False, True])
def test_rocprofv3_json(tmp_path, compressed):
    path = tmp_path / "app_results.json"
    write_rocprofv3_json(path)
    if compressed:
        path.with_name("app_results.json.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    (trace,), said = read(tmp_path)
    check(trace)
    check_host(trace, copy_bytes=COPY[3])
    assert (
        trace.process.command == "./app 3" and trace.process.host == "host" and said == [f"reading {next(tmp_path.iterdir())}"]
    )
    assert {kernel.symbol for kernel in trace.kernels.values()} == {"mangled1", "mangled2"}


def test_rocprof_compute_folder(tmp_path):
    write_compute_folder(tmp_path / "workload")
    (trace,), _ = read(tmp_path)
    check(trace, shapes=False)
    gpu = trace.agents[1]
    assert (gpu.target, gpu.product, gpu.pci_id, gpu.figure("num_xcc")) == ("gfx942", "AMD Instinct MI300X", 0x74A1, 8)
    assert trace.process.command == "./app 3" and trace.collector == "rocprof-compute"


def test_an_older_rocprof_result(tmp_path):
    path = tmp_path / "results.csv"
    header = (
        "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,"
        "SQ_WAVES,TCC_HIT_sum,DispatchNs,BeginNs,EndNs,CompleteNs"
    )
    lines = [
        f'{n},"{name} [clone .kd]",0,{queue},0,1,1,{grid[0] * grid[1]},{wg[0] * wg[1]},{lds},0,{registers},64,0x0,0x1,'
        f"{counts},0,{start},{end},0"
        for n, (name, queue, _, start, end, wg, grid, lds, _) in enumerate(DISPATCHES)
        for registers in [",".join(map(str, REGISTERS[name]))]
        for counts in [",".join(map(str, COUNTERS[n].values()))]
    ]
    path.write_text("\n".join([header, *lines]) + "\n")
    (trace,), said = read(path)
    check(trace, shapes=False)
    assert trace.collector == "rocprof" and any("GPU is not known" in line for line in said)


def test_rpd(tmp_path):
    path = tmp_path / "trace.rpd"
    write_rpd(path)
    (trace,), said = read(path)
    check(trace, registers=False, counters=False)
    check_host(trace, copy_bytes=COPY[3])
    assert trace.dispatches.stream_id.tolist() == [0, 1, 0] and any("no registers" in line for line in said)


def test_commands_accept_these_files_and_report_what_is_unknown(tmp_path, rocm_perf):
    write_rpd(tmp_path / "trace.rpd")
    write_rocprofv3_csv(tmp_path, "app")
    done = rocm_perf("analyze", "trace.rpd", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    kernel = document["analysis"]["kernels"][0]
    assert kernel["resources"]["vgpr_per_thread"] is None and "vgpr_per_thread" in kernel["resources"]["reasons"]
    assert kernel["occupancy"]["theoretical"] is None
    assert document["profile"]["run"] | {"created": None} == {
        "command": "an unnamed program", "host": "", "pid": 77, "created": None, "collector": "rocmProfileData",
    }  # fmt: skip
    assert "an unnamed program on an unnamed GPU" in rocm_perf("analyze", "-v", "trace.rpd").stdout
    same = rocm_perf("compare", "trace.rpd", "trace.rpd", "--fail-on", "span>0")
    assert same.returncode == 0, same.stderr
    assert rocm_perf("export", "app_kernel_trace.csv", "--csv", "tables").returncode == 0
    assert (tmp_path / "tables" / "dispatches.csv").read_text().count("\n") == 1 + len(DISPATCHES) + 1
    assert not list(tmp_path.glob("*.db")), "the files are converted elsewhere"


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    write_rocprofv3_csv(tmp_path)
    text = (tmp_path / "app_kernel_trace.csv").read_text()
    (tmp_path / "app_kernel_trace.csv").write_text(text[: text.rindex(",") - 20])
    with pytest.raises(TraceError, match=r"app_kernel_trace\.csv, line 4: \d+ of 22 columns; it was cut off"):
        read(tmp_path)
    (tmp_path / "app_kernel_trace.csv").write_text(text.replace(",5000,", ',"soon",'))
    with pytest.raises(TraceError, match="line 2: End_Timestamp is 'soon', not a number"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pftrace", b"\n\x12", "a Perfetto trace"),
        ("a_kernel_stats.csv", b'"Name","Calls"\n', "statistics without individual dispatches"),
        ("a.csv", b"a,b\n1,2\n", "not those of rocprofv3"),
        ("a.json", b"[]", "that rocprofv3 did not write"),
        ("a.json", b'{"rocprofiler-sdk-tool": [{"meta', "not a complete JSON file"),
        ("a.json", b'{"rocprofiler-sdk-tool": [{"counters": []}]}', "lacks what rocprofv3 writes"),
        ("a.nsys-rep", b"x", "a report of NVIDIA's profilers"),
        ("a.json.gz", gzip.compress(b'{"rocprofiler-sdk-tool": [' + b" " * 9000)[:-8], "cannot read"),
    ],
)
def test_useless_files_are_named(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TraceError, match=said):
        read(tmp_path / name)


def test_a_damaged_rpd_is_named(tmp_path):
    path = tmp_path / "trace.rpd"
    write_rpd(path)
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE rocpd_op DROP COLUMN queueId")
    with pytest.raises(TraceError, match="cannot be read as a database of rocmProfileData"):
        read(path)


def test_a_folder_without_traces(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(MissingInputError, match="contains no trace"):
        read(tmp_path)


CSV_ONLY = ["ms_pmc_ktrace", "v_pmc", "ms_stats", "ms_pmc_txt/pmc_1"]
BOTH = ["ms_trace", "ms_pmc", "v_trace", "msr_systrace"]


@pytest.mark.parametrize(
    ("name", "format"), [*((name, "csv") for name in (*CSV_ONLY, *BOTH)), *((name, "json") for name in BOTH)]
)
def test_recordings_agree_with_their_databases(tmp_path, shared_data, name, format):
    """rocprofv3 wrote the same runs in several formats."""
    folder = shared_data / "rocprofv3" / name
    files = [one for one in folder.iterdir() if one.name.endswith((f".{format}", f".{format}.gz"))]
    for file in files:
        shutil.copy(file, tmp_path)
    database = read_trace(next(folder.glob("*.db")))
    (trace,), _ = read(tmp_path)
    ours, theirs = (np.lexsort((one.dispatches.end, one.dispatches.start)) for one in (trace, database))
    for column in ("start", "end", "queue_id", "agent_id", "scratch_bytes"):
        assert np.array_equal(getattr(trace.dispatches, column)[ours], getattr(database.dispatches, column)[theirs]), column
    lds, exact = trace.dispatches.lds_bytes[ours], database.dispatches.lds_bytes[theirs]
    assert np.array_equal(lds, exact if format == "json" else -(-exact // 512) * 512)
    assert np.array_equal(np.prod(trace.dispatches.grid[ours], 1), np.prod(database.dispatches.grid[theirs], 1))
    used = [
        [
            (k.name, k.arch_vgprs, k.accum_vgprs, k.sgprs)
            for k in (one.kernels[int(id)] for id in one.dispatches.kernel_id[order])
        ]
        for one, order in ((trace, ours), (database, theirs))
    ]
    assert used[0] == used[1]
    assert set(trace.counters) == set(database.counters)
    for name, values in database.counters.items():
        assert np.allclose(trace.counters[name][ours], values[theirs], equal_nan=True)
    assert trace.copies.name == database.copies.name
    assert (trace.calls and len(trace.calls)) == (database.calls and len(database.calls))
