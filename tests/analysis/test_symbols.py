"""Dispatches by kernel symbol, and the run that they belong to."""

from __future__ import annotations

import sqlite3

import pytest

import rocpd_database
from rocm_perf_lab.analysis.base_run import BaseRun, read_base_run, read_part
from rocm_perf_lab.analysis.symbols import matching, symbols_of
from rocm_perf_lab.errors import NoKernelsError
from rocm_perf_lab.rocpd.reader import read_trace
from rocm_perf_lab.rocpd.recorded_process import recorded_processes
from rocm_perf_lab.rocpd.trace_part import WHOLE_TRACE, EmptyPartError, TracePart
from rocpd_database import Copy, Dispatch

FILL = "__amd_rocclr_fillBufferAligned"
WORK = [
    Dispatch("a", 10, 30),
    Dispatch("b", 40, 70),
    Dispatch("a", 80, 110),
    Dispatch(FILL, 120, 220),
    Dispatch("a", 230, 260),
    Dispatch("c", 300, 330),
]


def trace(path, work=WORK, *statements: str):
    rocpd_database.write(path, work)
    with sqlite3.connect(path) as database:
        for one in statements:
            database.execute(one)
    return read_trace(path)


def told(of) -> list[tuple]:
    return [(one.name, one.rows.tolist(), one.total_ns, one.longest) for one in symbols_of(of)]


def test_each_symbol_has_its_rows_its_time_and_its_longest_dispatch(tmp_path):
    """Symbols are sorted by time, then by name; of equally long dispatches, the first is taken."""
    found = trace(tmp_path / "t.db")
    assert told(found) == [(FILL, [3], 100, 3), ("a", [0, 2, 4], 80, 2), ("b", [1], 30, 1), ("c", [5], 30, 5)]
    assert [one.is_runtime for one in symbols_of(found)] == [True, False, False, False]
    assert symbols_of(found) is symbols_of(found)
    assert told(trace(tmp_path / "copies.db", [Copy(1, 2)])) == []


def test_kernels_with_one_name_are_one_symbol_whatever_their_ids(tmp_path):
    same = "UPDATE rocpd_info_kernel_symbol SET kernel_name = 'a.kd' WHERE display_name = 'c'"
    assert told(trace(tmp_path / "t.db", WORK, same))[0][1:] == ([0, 2, 4, 5], 110, 2)


def test_a_kernel_that_the_file_lacks_has_a_name_nevertheless(tmp_path):
    found = trace(tmp_path / "t.db", WORK, "UPDATE rocpd_kernel_dispatch SET kernel_id = 99 WHERE id = 6")
    assert ("kernel 99", [5], 30, 5) in told(found)


def test_symbols_that_match_a_pattern(tmp_path):
    symbols = symbols_of(trace(tmp_path / "t.db"))
    assert [one.name for one in matching(symbols, "b")] == ["b"] and matching(symbols, None) == symbols
    with pytest.raises(EmptyPartError) as error:
        matching(symbols, "none")
    assert error.value.problem == "no kernel matches none"
    assert error.value.hint == f"the trace has 4 kernels, such as {FILL}, a, b"
    assert matching([], "none") == []


def test_the_base_run(tmp_path):
    run = BaseRun(trace(tmp_path / "t.db"), "^c$")
    assert [one.name for one in run.symbols] == ["c"] and (run.selection.row, run.selection.symbol.name) == (5, "c")
    assert run.path is not None and run.path.length_ns == 320 and len(run.dag) == 6
    run.expect_kernels()
    without = BaseRun(trace(tmp_path / "other.db", WORK, 'UPDATE rocpd_kernel_dispatch SET "end" = start'))
    assert without.path is None and len(without.symbols) == 4


@pytest.mark.parametrize("own, is_hint", [(None, True), ({"collector": "builtin-tracer"}, False)])
def test_a_run_without_kernels(tmp_path, own, is_hint):
    path = rocpd_database.write(tmp_path / "t.db", [Copy(1, 2)], own)
    with pytest.raises(NoKernelsError, match=r"\./app launched no GPU kernel") as error:
        read_base_run(path).expect_kernels()
    assert ("try --no-rocprof" in error.value.hint) == is_hint
    with sqlite3.connect(path) as database:
        database.execute("UPDATE rocpd_info_process SET command = ''")
    with pytest.raises(NoKernelsError, match=r"t\.db launched no GPU kernel"):
        read_base_run(path).expect_kernels()


def test_a_part_of_a_trace_is_read_by_its_path_or_its_process(tmp_path):
    path = rocpd_database.write(tmp_path / "t.db", WORK)
    (process,) = recorded_processes(path)
    assert len(read_part(path, WHOLE_TRACE).dispatches) == len(read_part(process, WHOLE_TRACE).dispatches) == 6
    part = TracePart(window=(100, None))
    assert len(read_part(process, part).dispatches) == len(read_base_run(path, None, part).trace.dispatches) == 3
