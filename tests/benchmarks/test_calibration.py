"""What benchmarks/calibration.py prints, worked out by hand; which recorded sizes it runs; and a fit with a known answer."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest


@pytest.fixture
def calibration(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import calibration

    yield calibration
    for name in [name for name in sys.modules if name == "calibration" or name.partition(".")[0] == "silicon"]:
        sys.modules.pop(name)


def test_the_table_has_the_errors(calibration):
    points = [
        calibration.Modelled("relu", "1", 10.0, 12.0),
        calibration.Modelled("relu", "2", 20.0, 18.0),
        calibration.Modelled("fir", "1", 70.0, 70.0),
    ]
    assert list(calibration.table(points))[2:] == [
        "| fir | 1 | 0.0% | +0.0% |",
        "| relu | 2 | 15.0% | +5.0% |",
        "| all | 3 | 10.0% | +3.3% |",
        "",
        "Median 10.0%, weighted by time 4.0%.",
    ]
    assert len(list(calibration.table([]))) == 2


def test_large_sizes_and_unknown_programs_are_left_out(calibration, tmp_path):
    rows = ["relu,1024,3,0.005,0,0.006", "relu,1073741824,51,3.5,0,0", "stencil2d,64x65,51,1,0,0", "other,1,51,1,0,0"]
    times = tmp_path / "times.csv"
    times.write_text("\n".join(["kernel_name,problem_size,iterations,avg_ms,min_ms,max_ms", *rows]))
    (point,) = calibration.recorded_points(times, ["relu", "stencil2d"], False)
    assert (point.name, point.arguments) == ("relu 1024", ["--size", "1024"])
    assert point.recorded_us == pytest.approx(4.5)  # 3 iterations of 15 us in all; the longest took 6
    assert len(list(calibration.recorded_points(times, ["relu"], True))) == 2


def test_a_fit_finds_the_parameters_that_the_times_were_computed_from(calibration):
    """Times that consist of an overhead and a product, with one program that no parameter describes."""
    from silicon import fit

    def times(overhead, rate):
        return [overhead + work / rate for work in (1, 10, 100, 1000, 10000)] + [5.0]

    parameters = [fit.Parameter("overhead", 2.0, 0.5), fit.Parameter("rate", 10.0, 0.5), fit.Parameter("idle", 7.0, 0.1)]
    steps = {parameter.name: parameter.stepped() for parameter in parameters}
    stepped = {"overhead": times(steps["overhead"], 10), "rate": times(2, steps["rate"]), "idle": times(2, 10)}
    recorded = [*times(2.4, 9.0)[:5], 50.0]
    model = fit.linearised(parameters, recorded, times(2, 10), stepped)
    found = model.fitted(np.full(6, True))
    assert found == pytest.approx({"overhead": 2.4, "rate": 9.0, "idle": 7.0}, rel=0.03)
    far = fit.linearised(parameters, [100 * time for time in times(2, 10)], times(2, 10), stepped)
    assert far.fitted(np.full(6, True))["rate"] == pytest.approx(10 / 1.5)  # no further than the bounds of its source
    assert math.isclose(far.fitted(np.full(6, False))["rate"], 10)  # with nothing to fit to, the value from its source
