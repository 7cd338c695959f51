"""The tracer's databases, compared with independent sources: the compiler's metadata, real rocprofv3 databases, and
programs whose dispatches, order and end are known."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from disassembly import llvm_tool
from hip_compiler import compile_hip
from rocm_perf_lab.rocpd.reader import read_trace

PROGRAMS = Path(__file__).parent / "programs"

RESOURCES = """SELECT kernel_name, kernarg_segment_size, group_segment_size, private_segment_size,
               sgpr_count, arch_vgpr_count, accum_vgpr_count FROM rocpd_info_kernel_symbol"""
NAMES = """SELECT kernel_name, display_name, json_extract(extdata, '$.formatted_kernel_name'),
           json_extract(extdata, '$.demangled_kernel_name'), json_extract(extdata, '$.truncated_kernel_name')
           FROM rocpd_info_kernel_symbol"""
DISPATCHES = """SELECT name, stream, queue, grid_x, grid_y, grid_z, workgroup_x, workgroup_y, workgroup_z,
                lds_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count FROM kernels ORDER BY dispatch_id"""


@pytest.fixture(scope="module")
def kernels(traced, compile_hip, tmp_path_factory):
    run = traced(tmp_path_factory.mktemp("kernels") / "trace.db", compile_hip(PROGRAMS / "kernels.hip"))
    assert run.process.returncode == 0
    return run


@pytest.fixture(scope="module")
def recorded(traced, compile_hip, shared_data, tmp_path_factory):
    """Program ms: traced here, and as recorded by rocprofv3 in a database."""
    folder = shared_data / "rocprofv3"
    run = traced(tmp_path_factory.mktemp("ms") / "trace.db", compile_hip(folder / "_inputs" / "ms.hip"))
    assert run.process.returncode == 0
    return run, sqlite3.connect(f"file:{folder / 'ms_trace' / 'ms_results.db'}?mode=ro&immutable=1", uri=True)


# ---- the database itself ----


def test_the_database_is_sound(kernels):
    assert kernels.query("PRAGMA integrity_check") == [("ok",)]
    assert kernels.query("PRAGMA foreign_key_check") == []
    (suffix,) = kernels.query("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'")[0]
    (guid,) = kernels.query("SELECT value FROM rocpd_metadata WHERE tag = 'guid'")[0]
    assert suffix == "_" + guid.replace("-", "_")
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", guid)
    strings = [text for (text,) in kernels.query("SELECT string FROM rocpd_string ORDER BY id")]
    assert strings[0] == "" and strings == sorted(strings, key=str.encode)


def test_every_view_of_rocprofv3_exists_with_the_same_columns(recorded):
    run, real = recorded
    for kind in ("table", "view"):
        names = [name for (name,) in real.execute(f"SELECT name FROM sqlite_master WHERE type = '{kind}'")]
        suffix = real.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()[0]
        (our_suffix,) = run.query("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'")[0]
        for name in names:
            our_name = name.replace(suffix, our_suffix)
            columns = "SELECT name, type FROM pragma_table_info('{}')"
            assert run.query(columns.format(our_name)) == real.execute(columns.format(name)).fetchall(), name
            run.query(f"SELECT * FROM {our_name}")


def test_kernels_and_dispatches_equal_those_of_rocprofv3(recorded):
    run, real = recorded
    for sql in (RESOURCES, NAMES):
        ours, theirs = set(run.query(sql)), set(real.execute(sql))
        # HIP's own kernels come from the installed HIP, and differ if its version differs from the recorded one.
        own = {row for row in theirs if not row[0].startswith("__amd_rocclr_")}
        assert own <= ours
        assert {row[0] for row in theirs - ours} <= {row[0] for row in theirs - own}
    assert run.query(DISPATCHES) == real.execute(DISPATCHES).fetchall()


def test_the_reader_of_this_project_reads_it(kernels):
    trace = read_trace(kernels.path)
    assert trace is not None
    extdata = json.loads(kernels.query("SELECT extdata FROM rocpd_info_process")[0][0])["rocm_perf_lab"]
    assert extdata["collector"] == "builtin-tracer"
    assert extdata["unfinished_dispatches"] == extdata["lost_records"] == 0


# ---- against the compiler ----


def notes_of(source: Path, target: str, folder: Path) -> dict[str, dict[str, int]]:
    """The integer metadata of each kernel in a code object, by descriptor name, as llvm-readelf prints it."""
    readelf = llvm_tool("llvm-readelf")
    code_object = folder / "kernels.hsaco"
    flags = f"--offload-arch={target}", "-O3", "--offload-device-only", "--no-gpu-bundle-output"
    compile_hip(*flags, "-o", code_object, source)
    text = subprocess.run([readelf, "--notes", code_object], check=True, capture_output=True, text=True).stdout
    kernels = {}
    for block in re.split(r"(?m)^ {2}- (?=\.a)", text)[1:]:
        fields = dict(re.findall(r"(?m)^(?: {4})?\.(\w+):\s+(\d+)$", block))
        kernels[re.search(r"\.symbol:\s+(\S+)", block)[1]] = {name: int(value) for name, value in fields.items()}
    return kernels


def align(value: int, granule: int) -> int:
    return -(-max(value, 1) // granule) * granule


def test_kernel_resources_equal_the_compilers(kernels, device, tmp_path):
    # The expected register counts below hold for a unified register file only.
    unified = device.target.startswith(("gfx90a", "gfx94"))
    known = slice(None) if unified else slice(4)
    notes = notes_of(PROGRAMS / "kernels.hip", device.target, tmp_path)
    assert len(notes) == 5
    expected = set()
    for symbol, note in notes.items():
        # vgpr_count counts both kinds, and the accumulation registers start at a multiple of four.
        arch = align(note["vgpr_count"] - note.get("agpr_count", 0), 4)
        sizes = (note["kernarg_segment_size"], note["group_segment_fixed_size"], note["private_segment_fixed_size"])
        registers = (align(note["sgpr_count"], 16), arch, align(note["vgpr_count"], 8) - arch)
        expected.add((symbol, *sizes, *registers)[known])
    ours = {row for row in kernels.query(RESOURCES) if not row[0].startswith("__amd_rocclr_")}
    assert {row[known] for row in ours} == expected
    assert any(row[3] > 0 for row in ours), "scratch is not tried"
    assert not unified or any(row[6] > 8 for row in ours), "AGPRs are not tried"


def test_the_recorded_kernels_are_those_that_were_launched(kernels):
    rows = kernels.query("""SELECT name, grid_x, grid_y, workgroup_x, workgroup_y, lds_size, stream_id, scratch_size > 0
                            FROM kernels WHERE name NOT LIKE '__amd%' ORDER BY dispatch_id""")
    assert rows == [
        ("fill_ones", 65536, 1, 256, 1, 0, 0, 0),
        ("saxpy(float, float const*, float*, int)", 65536, 1, 128, 1, 0, 1, 0),
        ("void tiles::transpose<float, 16>(float const*, float*, int)", 256, 256, 16, 16, 16 * 17 * 4, 2, 0),
        ("spills(float const*, float*, int)", 64, 1, 64, 1, 0, 0, 1),
    ]
    assert all(start < end for start, end in kernels.query("SELECT start, end FROM kernels"))


def test_dispatches_belong_to_the_hip_calls_that_made_them(kernels):
    joined = kernels.query("""SELECT k.name, r.name FROM kernels k JOIN regions r ON r.id = k.stack_id
                              WHERE k.name NOT LIKE '__amd%' ORDER BY k.dispatch_id""")
    assert [call for _, call in joined] == ["hipLaunchKernel"] * 4
    assert kernels.query("SELECT count(*) FROM regions WHERE name = 'hipMalloc'") == [(2,)]


def test_copies_have_direction_size_and_time(kernels):
    copies = kernels.query("SELECT name, size, end > start, src_agent_type, dst_agent_type FROM memory_copies ORDER BY id")
    assert copies == [
        ("MEMORY_COPY_HOST_TO_DEVICE", 262144, 1, "CPU", "GPU"),
        ("MEMORY_COPY_DEVICE_TO_HOST", 262144, 1, "GPU", "CPU"),
    ]


def test_the_software_device_adds_its_counters(kernels, device):
    waves = kernels.query("""SELECT grid_size / 64, value FROM counters_collection WHERE counter_name = 'SQ_WAVES'
                             AND kernel_name NOT LIKE '\\_\\_amd%' ESCAPE '\\' ORDER BY dispatch_id""")
    assert len(waves) == (0 if device.is_hardware else 4)  # on a GPU rocprofv3 counts
    assert all(expected == counted for expected, counted in waves)


# ---- order ----


def ancestors(run) -> dict[int, set[int]]:
    """For each of order.hip's kernels (by grid size), those that had to be complete before it."""
    rows = run.query("""SELECT e.id, k.grid_size_x, json_extract(e.extdata, '$.depends_on')
                        FROM rocpd_event e LEFT JOIN rocpd_kernel_dispatch k ON k.event_id = e.id
                        WHERE json_extract(e.extdata, '$.depends_on') IS NOT NULL""")
    direct = {event: [before for before, _ in json.loads(edges)] for event, _, edges in rows}
    grids = {event: grid for event, grid, _ in rows if grid in (10, 20, 30, 40, 50, 60)}

    def all_before(event: int) -> set[int]:
        return {event}.union(*(all_before(before) for before in direct[event]))

    return {grid: {grids[e] for e in all_before(event) if e in grids} - {grid} for event, grid in grids.items()}


def test_the_recorded_order_follows_queues_events_and_waits(traced, compile_hip, tmp_path):
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "order.hip"))
    assert run.process.returncode == 0
    assert ancestors(run) == {
        10: set(), 20: {10}, 30: set(), 40: {10, 20}, 50: {10, 20, 30}, 60: {10, 20, 30, 40, 50},
    }  # fmt: skip
    kinds = dict(
        run.query("""SELECT k.grid_size_x, group_concat(DISTINCT json_extract(edge.value, '$[1]'))
                              FROM rocpd_kernel_dispatch k JOIN rocpd_event e ON e.id = k.event_id,
                              json_each(e.extdata, '$.depends_on') edge GROUP BY 1""")
    )
    assert kinds[20] == kinds[40] == "queue"
    assert set(kinds[50].split(",")) == {"queue", "signal"}


# ---- ends ----


@pytest.mark.parametrize(
    ("end", "status"),
    [("return", 0), ("exit", 3), ("_exit", 4), ("abort", -signal.SIGABRT), ("kill", -signal.SIGKILL),
     ("segfault", -signal.SIGSEGV), ("unsynchronized", 0), ("wait", 0)],
)  # fmt: skip
def test_every_way_to_end_leaves_a_complete_database(end, status, traced, compile_hip, tmp_path):
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "ends.hip"), end, 5)
    assert run.process.returncode == status
    assert run.query("PRAGMA integrity_check") == [("ok",)]
    assert run.query("SELECT count(*) FROM kernels WHERE name = 'add_one(int*)'") == [(5,)]
    assert run.query("SELECT start < end FROM processes") == [(1,)]
    assert os.listdir(tmp_path) == ["trace.db"]


def test_a_forked_child_is_not_waited_for(traced, compile_hip, tmp_path):
    begin = time.monotonic()
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "ends.hip"), "fork", 3)
    assert time.monotonic() - begin < 25  # the child sleeps for 30 s
    assert run.query("SELECT count(*) FROM kernels WHERE name = 'add_one(int*)'") == [(3,)]


def test_a_second_process_writes_its_own_database(traced, compile_hip, tmp_path):
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "ends.hip"), "spawn", 3)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("trace_*.db")) and time.monotonic() < deadline:  # its writer runs independently
        time.sleep(0.05)
    (other,) = tmp_path.glob("trace_*.db")
    assert run.process.returncode == 0
    (pid,) = re.findall(r"trace_(\d+)\.db", other.name)
    with sqlite3.connect(other) as connection:
        assert connection.execute("SELECT pid FROM processes").fetchall() == [(int(pid),)]
        assert connection.execute("SELECT count(*) FROM kernels WHERE name = 'add_one(int*)'").fetchall() == [(2,)]
    assert run.query("SELECT count(*) FROM kernels WHERE name = 'add_one(int*)'") == [(3,)]


def test_without_preloading_dispatches_are_recorded_but_no_hip_calls(traced, compile_hip, tmp_path):
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "kernels.hip"), preload=False)
    assert run.query("SELECT count(*) FROM regions") == [(0,)]
    assert run.query("SELECT DISTINCT stream FROM kernels") == [("Default Stream",)]
    assert run.query("SELECT count(*) FROM kernels WHERE name = 'fill_ones'") == [(1,)]


def test_without_a_path_nothing_happens(device, native_dir, compile_hip, tmp_path):
    library = native_dir / "lib" / "librocmperf_tracer.so"
    environment = device.environment(os.environ, (library,)) | {"LD_PRELOAD": str(library)}
    program = compile_hip(PROGRAMS / "ends.hip")
    assert subprocess.run([program, "exit", "1"], env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL).returncode == 3
    assert os.listdir(tmp_path) == []


def test_preloading_does_not_disturb_a_program_without_hip(native_dir, tmp_path):
    library = native_dir / "lib" / "librocmperf_tracer.so"
    environment = os.environ | {"LD_PRELOAD": str(library), "ROCM_PERF_TRACE": str(tmp_path / "trace.db")}
    result = subprocess.run(["/bin/sh", "-c", "echo fine"], env=environment, capture_output=True, text=True)
    assert (result.stdout, result.stderr, os.listdir(tmp_path)) == ("fine\n", "", [])
