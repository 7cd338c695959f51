"""Durations against rocprofv3's own statistics of the same run, and against their definition."""

from __future__ import annotations

import csv
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.profiling.pipeline import analyse
from rocpd_database import Dispatch


def test_durations_equal_those_of_rocprofv3(shared_data):
    folder = shared_data / "rocprofv3" / "ms_stats"
    with (folder / "ms_kernel_stats.csv").open(newline="") as file:
        theirs = {row["Name"]: row for row in csv.DictReader(file)}
    kernels = analyse(folder / "ms_results.db").analysis.kernels
    assert {kernel.kernel for kernel in kernels} == set(theirs)
    for kernel in kernels:
        row, ours = theirs[kernel.kernel], kernel.durations
        assert (kernel.dispatches, ours.min_ns, ours.max_ns) == (int(row["Calls"]), int(row["MinNs"]), int(row["MaxNs"]))
        assert ours.mean_ns == pytest.approx(float(row["AverageNs"]))
        assert (ours.stddev_ns or 0) == pytest.approx(float(row["StdDev"]))


@settings(max_examples=25)
@given(took=st.lists(st.integers(1, 50), min_size=1, max_size=60))
def test_median_and_p95_equal_those_of_numpy(took, tmp_path_factory):
    path = tmp_path_factory.mktemp("durations") / "t.db"
    work, now = [], 0
    for duration in took:
        work.append(Dispatch("k", now, now + duration))
        now += duration
    (kernel,) = analyse(rocpd_database.write(path, work)).analysis.kernels
    found = kernel.durations
    assert found.median_ns == statistics.median(took) == np.median(took)
    assert found.p95_ns == pytest.approx(np.percentile(took, 95))
