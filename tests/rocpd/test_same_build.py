"""Whether two runs can be from one build with one input, judged by the kernels that they loaded and launched."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

import rocpd_database
from rocm_perf_lab.rocpd.recorded_process import RecordedProcess, recorded_processes
from rocm_perf_lab.rocpd.same_build import difference, other_build
from rocpd_database import Copy, Dispatch

COPY = "__amd_rocclr_copyBuffer"
BASE = [Dispatch("a", 10, 20), Dispatch("b", 30, 40, workgroup=64), Dispatch("a", 50, 60, grid=1024), Copy(70, 80)]


@pytest.fixture
def run(tmp_path):
    """run(work, statement): the recorded process of a database with that work, which the SQL statement has changed."""

    def run(work, statement: str = "SELECT 1") -> RecordedProcess:
        path = rocpd_database.write(tmp_path / f"{len([*tmp_path.glob('*.db')])}.db", work)
        with sqlite3.connect(path) as database:
            database.execute(statement)
        (process,) = recorded_processes(path)
        return process

    return run


@pytest.mark.parametrize(
    "other",
    [
        BASE,
        BASE[::-1],
        [*BASE, Dispatch("a", 90, 99)],
        [*BASE, Dispatch(COPY, 90, 99)],
        [replace(one, start=one.start + 5, end=one.end + 9, queue=one.queue + 1) for one in BASE[:3]],
    ],
)
def test_times_order_and_kernels_of_the_runtime_do_not_matter(run, other):
    assert difference(run(BASE), run(other)) is None is difference(run(other), run(BASE))


@pytest.mark.parametrize(
    "other, said",
    [
        ([*BASE[:2], Dispatch("a", 50, 60, grid=512)], "a was launched with different grids, workgroups or LDS"),
        (BASE[:2], "a was launched with different grids, workgroups or LDS"),
        ([BASE[0], BASE[2], Dispatch("b", 30, 40, workgroup=128)], "b was launched with different grids, workgroups or LDS"),
        (
            [BASE[0], BASE[2], Dispatch("b", 30, 40, workgroup=64, lds=8)],
            "b was launched with different grids, workgroups or LDS",
        ),
    ],
)
def test_a_kernel_that_was_launched_in_another_shape(run, other, said):
    assert difference(run(BASE), run(other)) == said == difference(run(other), run(BASE))


def test_a_kernel_that_only_one_run_launched(run):
    """It is loaded in both runs or in only one."""
    first, second = run(BASE), run(BASE, "DELETE FROM rocpd_kernel_dispatch WHERE kernel_id = 2")
    assert difference(first, second) == f"only {first.label} launched b" == difference(second, first)
    less = run([BASE[0], BASE[2]])
    assert difference(less, first) == f"only {first.label} launched b" and other_build(less, first) is None


@pytest.mark.parametrize(
    "column, what, other",
    [("arch_vgpr_count", "VGPRs", "32"), ("accum_vgpr_count", "AGPRs", "0"), ("sgpr_count", "SGPRs", "16"),
     ("private_segment_size", "scratch", "0")],
)  # fmt: skip
def test_a_kernel_that_uses_other_resources_is_from_another_build(run, column, what, other):
    first, second = run(BASE, f"UPDATE rocpd_info_kernel_symbol SET {column} = 7 WHERE display_name = 'b'"), run(BASE)
    assert other_build(first, second) == f"b takes 7 {what} in one and {other} in the other"
    assert difference(second, first) == f"b takes {other} {what} in one and 7 in the other"


def test_all_resources_that_differ_are_named(run):
    first, second = run(BASE, "UPDATE rocpd_info_kernel_symbol SET sgpr_count = 7, arch_vgpr_count = 9"), run(BASE)
    assert other_build(first, second) == "a takes 9 VGPRs in one and 32 in the other, 7 SGPRs in one and 16 in the other"


def test_each_build_has_its_own_kernel(run):
    first, second = run([*BASE, Dispatch("c", 1, 2), Dispatch("d", 1, 2)]), run([*BASE, Dispatch("e", 1, 2)])
    assert other_build(first, second) == f"each has kernels that the other lacks: c is only in {first.label}"
    assert difference(second, first) == f"each has kernels that the other lacks: e is only in {second.label}"
    assert other_build(first, run(BASE)) is None


def test_a_file_that_was_rewritten_is_read_again(run):
    first, second = run(BASE), run(BASE)
    assert difference(first, second) is None
    with sqlite3.connect(second.path) as database:
        database.execute("UPDATE rocpd_info_kernel_symbol SET sgpr_count = 7")
    later = Path(second.path).stat().st_mtime_ns + 1_000_000
    os.utime(second.path, ns=(later, later))
    assert difference(first, second) == "a takes 16 SGPRs in one and 7 in the other"
