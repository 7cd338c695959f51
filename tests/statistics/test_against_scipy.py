"""Intervals agree with those of scipy, which the package itself does not use."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rocm_perf_lab.statistics.bootstrap import ratio_of_means
from rocm_perf_lab.statistics.student import t_quantile, welch_interval


@given(st.floats(0.51, 1 - 1e-6), st.floats(1, 500))
def test_quantiles(probability, degrees):
    assert t_quantile(probability, degrees) == pytest.approx(stats.t.ppf(probability, degrees), rel=1e-8)


_SAMPLES = st.lists(st.floats(0.5, 50), min_size=2, max_size=8, unique=True).filter(lambda sample: np.std(sample) > 1e-3)


@given(_SAMPLES, _SAMPLES, st.sampled_from([0.9, 0.99, 0.99999]))
def test_welch(first, second, confidence):
    expected = stats.ttest_ind(first, second, equal_var=False).confidence_interval(confidence)
    assert welch_interval(first, second, confidence) == pytest.approx(tuple(expected), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_bootstrap(seed):
    """Both sample at random, so their ends may differ, by less than a tenth of the interval."""
    generator = np.random.default_rng(seed)
    new, base = generator.exponential(2.0, 40), generator.lognormal(0, 0.7, 60)
    expected = stats.bootstrap(
        (new, base), lambda one, other, axis: one.mean(axis=axis) / other.mean(axis=axis), confidence_level=0.95,
        n_resamples=20_000, method="BCa", rng=generator,
    ).confidence_interval  # fmt: skip
    found = ratio_of_means(new, base, 0.95, 20_000)
    assert found == pytest.approx((expected.low, expected.high), abs=0.1 * (expected.high - expected.low))


def test_samples_without_spread_use_percentiles():
    low, high = ratio_of_means(np.array([1.0, 2.0] * 10), np.full(20, 2.0), 0.9, 2000)
    assert 0.5 < low < 0.75 < high < 1
