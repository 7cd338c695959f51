"""What no clock and no dispatch can have is refused, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.rocpd import validate

YEAR_NS = 366 * 24 * 3600 * 1_000_000_000


def rows(start: list[int], end: list[int]) -> None:
    validate.rows("dispatches", np.arange(len(start)), np.array(start), np.array(end))


def test_a_year_is_possible_and_more_is_not():
    rows([5, 6], [6, 5 + YEAR_NS])
    with pytest.raises(validate.Nonsense, match="the dispatches span more than a year"):
        rows([5, 6], [6, 6 + YEAR_NS])


@pytest.mark.parametrize(
    ("start", "end", "why"), [([-1], [5], "have no times"), ([3, 4], [2, 3], "2 dispatches end before they start")]
)
def test_times_that_cannot_be(start, end, why):
    rows([0], [0])
    with pytest.raises(validate.Nonsense, match=why):
        rows(start, end)


def test_ids_are_unique():
    with pytest.raises(validate.Nonsense, match="two dispatches have the same id"):
        validate.rows("dispatches", np.array([1, 1]), np.array([0, 0]), np.array([1, 1]))
