"""What --budget accepts."""

from __future__ import annotations

import pytest

from rocm_perf_lab.autotune.budget import parse_budget
from rocm_perf_lab.errors import UsageError


@pytest.mark.parametrize(
    "text, found",
    [
        ("1", (1, None)), ("200", (200, None)), ("999999999", (999_999_999, None)), ("90s", (None, 90.0)),
        ("0.5m", (None, 30.0)), ("2h", (None, 7200.0)), ("1.25h", (None, 4500.0)), ("0.001s", (None, 0.001)),
    ],
)  # fmt: skip
def test_a_number_of_evaluations_or_a_time(text, found):
    assert parse_budget(text) == found


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "007", "1234567890", "1.5", "s", "0s", "0.0h", "5d", "5 s", "1e3", ".5s", "5.s", "nans", "5s ", "٣"]
)
def test_anything_else_is_refused(text):
    with pytest.raises(UsageError) as error:
        parse_budget(text)
    assert error.value.problem == f"--budget {text}: neither a number of evaluations nor a time"
