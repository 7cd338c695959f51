"""The Python interface agrees with the documents, is fast, and raises the command line's errors."""

from __future__ import annotations

import subprocess
import sys

import pytest

import needs
import rocm_perf_lab as rpl
import rocpd_database
from rocm_perf_lab.errors import MissingInputError, UsageError
from rocpd_database import Copy, Dispatch

HOSTILE = "k<script>(float*)"


@pytest.fixture
def trace(tmp_path):
    work = [Dispatch(HOSTILE, 0, 5000), Copy(5000, 5500), Dispatch("b(int)", 6000, 7000, depends_on=[(0, "queue")])]
    return rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)


def test_tables_are_arrow_and_agree_with_the_documents(trace, tmp_path, rocm_perf):
    assert rocm_perf("analyze", "-o", "r.rocm-perf", "t.db").returncode == 0
    for run in (rpl.load(trace), rpl.load(tmp_path / "r.rocm-perf")):
        assert run.kernels["kernel"].to_pylist() == [one.kernel for one in run.analysis.kernels] == [HOSTILE, "b(int)"]
        assert run.kernels["time_ms"].to_pylist() == [0.005, 0.001] and run.is_modelled
        assert hasattr(run.kernels, "__arrow_c_stream__")  # a form that pandas, polars and others read without a copy
        assert run.dispatches["end_ns"].to_pylist() == [5000, 7000, 5500]
        assert "MODELLED" in run.report() and "modelled" in repr(run)
        shown = run._repr_html_()
        assert "MODELLED" in shown and "k&lt;script&gt;" in shown and "<script>" not in shown


def test_a_roofline_is_drawn(trace):
    needs.module("matplotlib").use("agg")
    axes = rpl.load(trace).roofline.plot("L2")
    assert axes.get_xscale() == "log" and axes.get_xlabel() == "FLOP per byte (L2)"


def test_errors_are_those_of_the_command_line(trace, tmp_path):
    with pytest.raises(MissingInputError, match="there is no trace"):
        rpl.load(tmp_path / "absent")
    with pytest.raises(MissingInputError, match="no run directory; compare the database itself"):
        rpl.compare(rpl.load(trace), trace)
    with pytest.raises(UsageError, match="is not a metric"):
        rpl.compare(trace, trace, fail_on=["tme>1"])
    assert not rpl.compare(trace, trace, fail_on=["time>0"]).exceeded


def test_the_names_are_those_of_the_interface_whatever_was_imported_before():
    code = "import rocm_perf_lab as rpl; import rocm_perf_lab.cli; rpl.load; import rocm_perf_lab.comparison.compare as c;" \
           "print(all(callable(getattr(rpl, name)) for name in rpl.__all__), set(rpl.__all__) <= set(dir(rpl)))"  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rpl.nothing  # noqa: B018


def test_importing_the_package_costs_nothing():
    code = (
        "import rocm_perf_lab, sys; print([name for name in ('numpy', 'pyarrow', 'pydantic', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
