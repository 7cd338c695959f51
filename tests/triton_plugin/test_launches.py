"""The launcher on the software device, with a kernel compiled by hipcc in place of one by Triton, so Triton is not needed."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from hip_compiler import compile_hip

pytestmark = pytest.mark.usefixtures("native_dir")
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def code_object(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kernel") / "kernel.hsaco"
    compile_hip("--genco", "--offload-arch=gfx942", "-O2", HERE / "kernel.hip", "-o", path)
    return path


def test_kernels_see_their_arguments_and_leave_their_results(code_object: Path, rocm_perf):
    ran = rocm_perf("run", sys.executable, HERE / "launches.py", code_object)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["scalars", "views", "read-only", "nothing", "scratch", "benchmark"]


def test_copies_for_launches_are_in_no_trace(code_object: Path, rocm_perf, tmp_path: Path):
    ran = rocm_perf("profile", "--no-deep-analysis", sys.executable, HERE / "launches.py", code_object)
    assert ran.returncode == 0, ran.stderr
    rows = parquet.read_table(tmp_path / "launches.py.rocm-perf" / "dispatches.parquet").to_pylist()
    assert {(row["kind"], row["name"]) for row in rows} == {("dispatch", "arguments"), ("dispatch", "add")}
