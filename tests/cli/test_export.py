"""`rocm-perf export` writes what was requested, completely or not at all."""

from __future__ import annotations

import csv
import json

import pytest

import rocpd_database
from rocpd_database import Copy, Dispatch


@pytest.fixture
def trace(tmp_path):
    work = [Dispatch("void f<int, 2>(float*)", 0, 3000, grid=512), Copy(3100, 4000, size=77), Dispatch("g(int)", 4100, 4600)]
    return rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)


def test_tables(trace, rocm_perf, tmp_path):
    done = rocm_perf("export", "t.db", "--csv", "out/tables", "--markdown", "-")
    assert done.returncode == 0, done.stderr
    kernels = list(csv.DictReader((tmp_path / "out/tables/kernels.csv").open()))
    assert [(one["kernel"], one["time_ms"], one["grid"]) for one in kernels] == [
        ("void f<int, 2>(float*)", "0.003", "512x1x1"), ("g(int)", "0.0005", "256x1x1"),
    ]  # fmt: skip
    assert kernels[0]["operational_intensity"] == ""  # unknown, not 0
    rows = list(csv.DictReader((tmp_path / "out/tables/dispatches.csv").open()))
    assert [(one["kind"], one["start_ns"], one["end_ns"], one["bytes"]) for one in rows] == [
        ("dispatch", "0", "3000", ""), ("dispatch", "4100", "4600", ""), ("copy", "3100", "4000", "77"),
    ]  # fmt: skip
    assert "| f\\<int, 2\\> | 1 | 3 us |" in done.stdout and "modelled; no GPU ran this" in done.stdout


def test_timelines_of_a_whole_trace_and_of_a_time_window(trace, rocm_perf, tmp_path):
    assert rocm_perf("analyze", "-o", "r.rocm-perf", "t.db").returncode == 0
    assert rocm_perf("export", "t.db", "--chrome", "whole.json", "--perfetto", "whole.pftrace").returncode == 0
    assert rocm_perf("export", "t.db", "--chrome", "part.json", "--time-window", "4us:").returncode == 0
    whole, part = (json.loads((tmp_path / f"{name}.json").read_text())["traceEvents"] for name in ("whole", "part"))
    counts = [len({(one["name"], one["cat"]) for one in events if one["ph"] == "X"}) for events in (whole, part)]
    assert counts == [3, 1] and (tmp_path / "whole.pftrace").stat().st_size > 500


def test_what_cannot_be_exported(trace, rocm_perf, tmp_path):
    assert rocm_perf("export", "t.db").returncode == 2
    assert rocm_perf("export", "absent.db", "--chrome", "x.json").returncode == 66
    rocpd_database.write(tmp_path / "timeless.db", [Dispatch("k", 5, 5)])
    done = rocm_perf("export", "timeless.db", "--chrome", "x.json")
    assert done.returncode == 65 and "no GPU times" in done.stderr
    done = rocm_perf("export", "t.db", "--chrome", "no/such/folder/x.json")
    assert done.returncode == 73 and "no/such/folder/x.json cannot be written (No such file" in done.stderr
    assert not (tmp_path / "x.json").exists()
