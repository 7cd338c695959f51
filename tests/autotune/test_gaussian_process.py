"""The Gaussian process against scikit-learn's, which is slower and in double precision."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocm_perf_lab.autotune.gaussian_process import GaussianProcess

points_seen, points_asked = st.integers(3, 60), 700


def likeness(process):
    """scikit-learn's process with the same lengths, noise and variance."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    fit = process._fit
    kernel = ConstantKernel(fit.variance) * Matern(fit.lengths, nu=2.5) + WhiteKernel(fit.variance * fit.noise)
    return GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)


@settings(max_examples=12)
@example(seed=524, count=3, dimensions=1, smooth=False)  # points with large weights
@given(seed=st.integers(0, 1000), count=points_seen, dimensions=st.integers(1, 7), smooth=st.booleans())
def test_predictions_equal_those_of_scikit_learn(seed, count, dimensions, smooth):
    generator = np.random.default_rng(seed)
    points = generator.integers(0, 5, (count, dimensions)) / 4  # on a grid, so some of them occur more than once
    values = np.sin(3 * points).sum(axis=1) + 0.1 * generator.standard_normal(count)
    process = GaussianProcess(dimensions, generator)
    process.fit(points, values, steps=8)
    if smooth:
        process.fit_smooth(points, values)
    asked = generator.random((points_asked, dimensions)).astype(np.float32)
    means, spreads = likeness(process).fit(points, values).predict(asked, return_std=True)
    scale = values.std()
    ours = process.predict(asked)
    assert ours[0] == pytest.approx(means, abs=3e-3 * scale)  # ours is in single precision
    assert ours[1] == pytest.approx(spreads, abs=1e-2 * scale)
    assert process.means(asked) == pytest.approx(ours[0], abs=1e-3 * scale)


@pytest.mark.parametrize("smooth", [True, False])
def test_errors_are_those_of_predictions_made_without_the_value(smooth):
    generator = np.random.default_rng(0)
    points = generator.random((25, 3))
    values = points[:, 0] * 4 + np.cos(5 * points[:, 1])
    process = GaussianProcess(3, generator)
    process.fit_smooth(points, values) if smooth else process.fit(points, values, steps=8)
    errors = process.errors()
    for left_out in (0, 7, 24):
        others = np.arange(25) != left_out
        without = likeness(process)
        without.normalize_y = False  # the mean and scale of all values are kept
        standard = (values - values.mean()) / values.std()
        predicted = without.fit(points[others], standard[others]).predict(points[[left_out]])[0]
        assert errors[left_out] / values.std() == pytest.approx(standard[left_out] - predicted, abs=1e-6)


def test_a_smooth_fit_does_not_move_the_walk():
    generator = np.random.default_rng(0)
    points, values = generator.random((40, 4)), generator.random(40)
    process = GaussianProcess(4, generator)
    process.fit(points, values, steps=10)
    before = process.predict(points)[0]
    process.fit_smooth(points, values)
    process.fit(points, values, steps=0)
    assert (process.predict(points)[0] == before).all()
