"""The errors that benchmarks/calibration.py prints, worked out by hand, and which of the recorded sizes it runs."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def calibration(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import calibration

    yield calibration
    sys.modules.pop("calibration")


def test_the_table_has_the_errors(calibration):
    points = [
        calibration.Point("relu", "1", 10.0, 12.0),
        calibration.Point("relu", "2", 20.0, 18.0),
        calibration.Point("fir", "1", 70.0, 70.0),
    ]
    assert list(calibration._table(points))[2:] == [
        "| fir | 1 | 0.0% | +0.0% |",
        "| relu | 2 | 15.0% | +5.0% |",
        "| all | 3 | 10.0% | +3.3% |",
        "",
        "Median 10.0%, weighted by time 4.0%.",
    ]
    assert len(list(calibration._table([]))) == 2


def test_large_sizes_and_unknown_programs_are_left_out(calibration, tmp_path):
    rows = ["relu,1024,51,0.0045,0,0", "relu,1073741824,51,3.5,0,0", "stencil2d,64x65,51,1,0,0", "other,1,51,1,0,0"]
    times = tmp_path / "times.csv"
    times.write_text("\n".join(["kernel_name,problem_size,iterations,avg_ms,min_ms,max_ms", *rows]))
    assert list(calibration._chosen(times, ["relu", "stencil2d"], False)) == [calibration.Point("relu", "1024", 4.5)]
    assert len(list(calibration._chosen(times, ["relu"], True))) == 2
