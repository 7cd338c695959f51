"""The interval covers the true ratio as often as stated, and depends only on its input."""

from __future__ import annotations

import numpy as np
import pytest

from rocm_perf_lab.gate.measurement.speedup_interval import Ratio, ratio_of_medians


def test_the_interval_covers_the_true_ratio_as_often_as_stated():
    draw, covered, rounds = np.random.default_rng(5), 0, 200
    for _ in range(rounds):
        baseline = 10 * draw.lognormal(0, 0.1, 31)
        ratio = ratio_of_medians(baseline, 9 * draw.lognormal(0, 0.1, 31))
        covered += ratio.low <= 0.9 <= ratio.high
        assert ratio.low <= ratio.value <= ratio.high
    assert 0.90 <= covered / rounds <= 1.0


def test_exact_times_give_an_exact_ratio():
    ratio = ratio_of_medians([8.0] * 5, [6.0] * 5)
    assert (ratio.value, ratio.low, ratio.high, ratio.sure_improvement) == (0.75, 0.75, 0.75, 0.25)
    noisy = ([8, 9, 7, 8, 30], [6, 6, 7, 6, 5])
    assert ratio_of_medians(*noisy) == ratio_of_medians(*noisy)


@pytest.mark.parametrize("samples", [([], []), ([1], [1, 2]), ([1, 0], [1, 1]), ([1, float("nan")], [1, 1])])
def test_samples_without_information_are_refused(samples):
    with pytest.raises(ValueError):
        ratio_of_medians(*samples)


def test_a_single_pair_is_the_whole_interval():
    assert ratio_of_medians([8.0], [6.0], 0.5) == Ratio(0.75, 0.75, 0.75, 0.5)
    assert (Ratio(0.75, 0.5, 0.875, 0.95).improvement, Ratio(0.75, 0.5, 0.875, 0.95).sure_improvement) == (0.25, 0.125)


@pytest.mark.parametrize("slow", range(3))
def test_each_pair_is_drawn_as_often_as_the_others(slow):
    """The median of three is the slow one in 7 of 27 draws: beyond the middle 20 %, within the middle 60 %."""
    times = [2.0 if run == slow else 1.0 for run in range(3)]
    assert (ratio_of_medians([1.0] * 3, times, 0.2).high, ratio_of_medians([1.0] * 3, times, 0.6).high) == (1.0, 2.0)
