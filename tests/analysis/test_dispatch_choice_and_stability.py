"""Which dispatch a profile is about, and how stable its runtime is."""

from __future__ import annotations

import sqlite3
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.analysis.base_run import BaseRun
from rocm_perf_lab.analysis.critical_path import critical_path, dominant_symbol
from rocm_perf_lab.analysis.dag import build_dag
from rocm_perf_lab.analysis.dispatch_choice import select
from rocm_perf_lab.analysis.stability import classify, runtime_ms, stability
from rocm_perf_lab.analysis.symbols import symbols_of
from rocm_perf_lab.analysis.thread_trace_target import choose_dispatch
from rocm_perf_lab.profiling.pipeline import analyse
from rocm_perf_lab.rocpd.reader import read_trace
from rocpd_database import Dispatch


def trace_of(tmp_path, *dispatches):
    return read_trace(rocpd_database.write(tmp_path / "t.db", list(dispatches)))


def test_the_longest_dispatch_wins_not_the_symbol_with_the_most_time(tmp_path):
    trace = trace_of(
        tmp_path,
        Dispatch("__amd_rocclr_fillBufferAligned", 0, 1000),
        Dispatch("many", 1000, 1060),
        Dispatch("many", 1100, 1160),
        Dispatch("long", 1200, 1300),
        Dispatch("__amd_rocclr_copyBuffer", 2000, 9000),
    )
    symbols = symbols_of(trace)
    chosen = select(trace, symbols)
    assert (chosen.symbol.name, chosen.row, chosen.only_runtime_kernels) == ("long", 3, False)
    assert chosen.passed_over.name == "__amd_rocclr_copyBuffer"
    assert [symbol.name for symbol in symbols if not symbol.is_runtime] == ["many", "long"]
    assert runtime_ms(trace) == 220e-6


def test_of_equally_long_dispatches_the_first_is_chosen(tmp_path):
    trace = trace_of(tmp_path, Dispatch("z", 0, 50), Dispatch("a", 100, 150))
    assert select(trace, symbols_of(trace)).row == 0


def test_with_only_runtime_kernels_the_longest_of_them_is_chosen(tmp_path):
    trace = trace_of(tmp_path, Dispatch("__amd_rocclr_copyBuffer", 0, 9), Dispatch("__amd_rocclr_fillBufferAligned", 20, 50))
    chosen = select(trace, symbols_of(trace))
    assert (chosen.symbol.name, chosen.only_runtime_kernels) == ("__amd_rocclr_fillBufferAligned", True)
    assert runtime_ms(trace) == 39e-6


@given(st.lists(st.floats(0.1, 1e4), min_size=2, max_size=9))
def test_stability_uses_the_sample_standard_deviation(runs):
    found = stability(runs)
    assert found.median_ms == statistics.median(runs)
    assert found.cv == pytest.approx(statistics.stdev(runs) / statistics.mean(runs))
    assert found.classification == classify(found.cv)


@pytest.mark.parametrize(
    "cv, name", [(0, "stable"), (0.05, "stable"), (0.0501, "moderate"), (0.10, "moderate"), (0.11, "unstable")]
)
def test_classes(cv, name):
    assert classify(cv) == name


def test_one_run_has_no_spread():
    assert stability([3.0]).cv is None and stability([3.0]).median_ms == 3.0


@pytest.mark.parametrize("name", ["hipify_image", "hsa_like", "hip", "__amd_rocclr_of_mine"])
def test_no_name_makes_a_kernel_of_the_program_a_runtime_kernel(tmp_path, name):
    trace = trace_of(tmp_path, Dispatch(name, 0, 900), Dispatch("__amd_rocclr_copyBuffer", 1000, 3000))
    with sqlite3.connect(trace.path) as connection:
        connection.execute("UPDATE rocpd_info_kernel_symbol SET code_object_id = 2 WHERE kernel_name = ?", (f"{name}.kd",))
    trace = read_trace(trace.path)
    assert select(trace, symbols_of(trace)).symbol.name == name
    path = critical_path(build_dag(trace))
    assert dominant_symbol(path).name == name and choose_dispatch(BaseRun(trace), True).symbol.name == name


def test_a_new_helper_in_the_runtimes_code_object_is_a_runtime_kernel(tmp_path):
    trace = trace_of(tmp_path, Dispatch("mine", 0, 9), Dispatch("__amd_rocclr_new", 20, 90), Dispatch(
        "__amd_rocclr_copyBuffer", 100, 200))  # fmt: skip
    assert {symbol.name for symbol in symbols_of(trace) if symbol.is_runtime} == {"__amd_rocclr_new", "__amd_rocclr_copyBuffer"}


def test_a_longer_kernel_that_was_passed_over_is_reported(tmp_path):
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("mine", 0, 10), Dispatch("__amd_rocclr_copyBuffer", 20, 900)])
    documents = analyse(path)
    assert documents.profile.kernel.name == "mine" and "__amd_rocclr_copyBuffer" in documents.profile.kernel.selection
    assert any(note.startswith("__amd_rocclr_copyBuffer accounts for 97.8 % of the path") for note in documents.dag.notes)
    reached = analyse(path, kernel="copyBuffer")
    assert [kernel.kernel for kernel in reached.analysis.kernels] == ["__amd_rocclr_copyBuffer"]
