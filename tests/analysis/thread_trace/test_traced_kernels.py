"""Traces by kernel: which of several is used, and why others yield nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fuzz import thread_traces
from rocm_perf_lab.analysis.thread_trace.traced_kernels import NOT_MADE, TracedKernels, traced_kernels

UI = "ui_output_agent_1_dispatch_2"


def trace(folder: Path, dispatch: int, kernel: str | None = thread_traces.KERNEL, waves: int = 1) -> Path:
    """A trace of the dispatch below `folder`; without a table, it holds the listing alone."""
    made = thread_traces.write(folder / f"made-{dispatch}", waves=waves)
    place = folder / f"ui_output_agent_1_dispatch_{dispatch}"
    (made / UI).rename(place)
    shutil.rmtree(made)
    if kernel != thread_traces.KERNEL:
        document = json.loads((place / "code.json").read_text())
        if kernel is None:
            del document["code"][0]
        else:
            document["code"][0][0], document["code"][0][3] = f"; {kernel}", kernel
        (place / "code.json").write_text(json.dumps(document))
    return place


def test_of_several_traces_of_a_kernel_the_one_with_most_instructions_is_used(tmp_path):
    trace(tmp_path, 3, waves=1)
    trace(tmp_path, 4, waves=3)
    trace(tmp_path, 5, waves=3)
    trace(tmp_path, 6, "other()")
    found = traced_kernels(tmp_path, None)
    assert {name: one.trace.dispatch for name, one in found.by_symbol.items()} == {thread_traces.KERNEL: 4, "other()": 6}
    assert (found.reason, found.notes) == ("the thread trace is of another kernel", ())


def test_traces_that_yield_nothing_are_noted(tmp_path):
    trace(tmp_path, 3)
    (trace(tmp_path, 4) / "code.json").unlink()
    trace(tmp_path, 5, waves=0)
    trace(tmp_path, 6, kernel=None)
    found = traced_kernels(tmp_path, None)
    assert found.notes == (
        "the trace of dispatch 4 has no usable data: code.json: No such file or directory",
        "dispatch 5 was traced, but no wave of it ran on the traced CU and SIMDs: choose others (--att-target-cu, "
        "--att-simd-select)",
        "ui_output_agent_1_dispatch_6 does not name its kernel",
    )
    assert found.reason == "; ".join(("the thread trace is of another kernel", *found.notes)) and len(found.by_symbol) == 1


@pytest.mark.parametrize("name", ["mine", UI])
def test_without_a_usable_trace_the_reasons_of_all_are_given(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "code.json").write_text("{")
    found = traced_kernels(tmp_path / name, None)
    who = "dispatch 2" if name == UI else "mine"
    assert found.by_symbol == {} and found.reason.startswith(f"the trace of {who} has no usable data: code.json is truncated")
    assert found.notes == (found.reason,)


def test_where_there_is_no_trace(tmp_path):
    found = traced_kernels(tmp_path, None)
    assert (found.by_symbol, found.reason, found.notes) == ({}, f"{tmp_path} has no thread trace", ())
    assert TracedKernels().reason == NOT_MADE
