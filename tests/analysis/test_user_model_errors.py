"""The error between modelled and measured ratios of times, by hand."""

from __future__ import annotations

import pytest

from rocm_perf_lab.analysis.user_model_errors import MIN_ENTRIES, RecordedDifference, add, error_for


def difference(predicted: float, recorded: float, candidate: str = "b", parameters: str = "f00d") -> RecordedDifference:
    return RecordedDifference("a", candidate, "MI300X", parameters, predicted, recorded)


@pytest.mark.parametrize("predicted, recorded, error", [(0.5, 0.5, 0), (3, 2, 0.5), (2, 3, 0.5), (0.25, 1, 3), (1, 0.25, 3)])
def test_a_ratio_is_equally_wrong_above_and_below(predicted, recorded, error):
    assert difference(predicted, recorded).error == pytest.approx(error)


def test_four_of_five_are_within_the_error_of_the_table(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    errors = [index / 10 for index in range(MIN_ENTRIES)]  # 0, 0.1 ... 0.9
    add([difference(1 + error, 1, f"candidate {error}") for error in errors[:-1]])
    add([difference(9, 1, "of other parameters", "beef")])
    assert error_for("f00d") is None  # too few
    add([difference(1 + errors[-1], 1, f"candidate {errors[-1]}")])
    assert error_for("f00d") == pytest.approx(0.7)  # 8 of 10
    assert error_for("beef") is None
