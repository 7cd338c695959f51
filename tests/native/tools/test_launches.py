"""Every way to launch a kernel: its dispatch has the right name, stream and HIP call."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
SECOND_STREAM = 2  # in order of creation; 0 is the null stream

LAUNCHES = """SELECT k.name, k.stream_id, r.name FROM kernels k JOIN regions r ON r.id = k.stack_id
              WHERE k.name NOT LIKE '\\_\\_amd%' ESCAPE '\\' AND k.grid_x = 7 ORDER BY k.dispatch_id"""


@pytest.fixture(scope="module")
def module(compile_hip):
    return compile_hip(PROGRAMS / "module.hip", "--genco")


@pytest.mark.parametrize(
    "how", ["hipModuleLaunchKernel", "hipExtModuleLaunchKernel", "hipModuleLaunchCooperativeKernel", "hipDrvLaunchKernelEx"]
)
def test_kernels_of_a_module(how, traced, compile_hip, module, tmp_path):
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "launches.hip"), how, module)
    assert run.process.returncode == 0
    assert run.query(LAUNCHES) == [("from_module", SECOND_STREAM, how)]


@pytest.mark.parametrize("how", ["hipLaunchKernelExC", "hipExtLaunchKernel", "hipLaunchCooperativeKernel"])
def test_kernels_of_the_program(how, traced, compile_hip, tmp_path):
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "launches.hip"), how)
    assert run.process.returncode == 0
    assert run.query(LAUNCHES) == [("mark(int*)", SECOND_STREAM, how)]


@pytest.mark.parametrize("how", ["captured graph", "explicit graph"])
def test_kernels_of_a_graph_belong_to_its_launch(how, traced, compile_hip, tmp_path):
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "launches.hip"), how)
    assert run.process.returncode == 0
    kernels = ["mark(int*)", "other(int*)"]
    assert run.query(LAUNCHES) == [(name, SECOND_STREAM, "hipGraphLaunch") for name in kernels * 3]
    stacks = run.query("SELECT count(*) FROM kernels WHERE grid_x = 7 GROUP BY stack_id")
    assert stacks == [(2,)] * 3, "each launch of the graph has its own two kernels"
    with sqlite3.connect(run.path) as connection:
        ordered = connection.execute("""SELECT json_array_length(e.extdata, '$.depends_on') > 0 FROM rocpd_event e
                                        JOIN rocpd_kernel_dispatch k ON k.event_id = e.id ORDER BY k.dispatch_id""").fetchall()
    assert ordered[-5:] == [(1,)] * 5, "one after the other"


@pytest.mark.parametrize(
    ("flags", "function", "stream"),
    [
        ((), "hipLaunchKernel", 0),
        (("-fgpu-default-stream=per-thread",), "hipLaunchKernel_spt", 3),
    ],
)
def test_the_null_stream_is_the_threads_own_where_the_program_was_compiled_so(
    flags, function, stream, traced, compile_hip, tmp_path
):
    run = traced(tmp_path / "trace.db", compile_hip(PROGRAMS / "launches.hip", *flags), "null stream")
    assert run.process.returncode == 0
    assert len({stream for _, stream, _ in run.query(LAUNCHES)}) == 1
    assert run.query("SELECT count(*) FROM regions WHERE name = ?".replace("?", f"'{function}'")) == [(1,)]
    assert [(name, on, by) for name, on, by in run.query(LAUNCHES)] == [("mark(int*)", stream, function)]
