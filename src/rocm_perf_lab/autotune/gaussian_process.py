"""Gaussian-process regression with a Matern-5/2 kernel, one length scale per dimension, on at most a few hundred points.

Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: algorithm 2.1, equations 4.17 and 5.12. The process
scale that maximises the likelihood is computed in closed form. Length scales and noise, on the other hand, are sampled: each
fit continues the Metropolis walk of the previous one. A fit therefore costs about a millisecond. Over many fits, a search tries
all length scales that are consistent with the results, since a few results do not justify relying on the likeliest ones. The
prior's median for a length scale is the range of a coordinate.

Fits use double precision. Predictions usually use single precision, since a search ranks thousands of them. If weights are so
large that rounding errors would show, as when points nearly coincide, predictions use double precision, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.autotune.triangular import cholesky, solve_lower

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Reals

_LENGTHS, _NOISES = (0.05, 20.0), (1e-5, 0.1)  # for coordinates within 0..1; relative to the process's variance
_TYPICAL_LENGTH, _SPREAD_OF_LENGTHS = 1.0, 1.0  # the prior: median length, standard deviation of its logarithm
_START_NOISE, _MAX_NOISE = 1e-3, 1.0
_SMOOTH_NOISE = 0.01
_STEP_LENGTH, _STEP_NOISE = 0.5, 1.0  # standard deviations of a step of the walk, in logarithms
_MIN_VARIANCE = 1e-6  # in single precision, a smaller variance is only a rounding error
# Up to this sum of a mean's weights, single precision adds errors of up to 3e-4 standard deviations.
_MAX_SINGLE_PRECISION_WEIGHTS = 2000.0
_ROOT_5 = 5**0.5
_AT_ONCE = 1 << 16  # number of covariances that fit in a processor's cache


@dataclass(frozen=True)
class _Fit:
    lengths: Reals
    noise: float
    factor: Reals  # lower triangular
    weights: Reals
    variance: float
    likelihood: float  # logarithm of likelihood times prior, without constants


class GaussianProcess:
    """Call fit(), then predict(). Points are an array (count, dimensions), with each coordinate within 0..1."""

    def __init__(self, dimensions: int, generator: np.random.Generator):
        self._generator = generator
        self._lengths, self._noise = np.full(dimensions, _TYPICAL_LENGTH), _START_NOISE

    def fit(self, points: Reals, values: Reals, steps: int) -> None:
        """steps: number of steps of the walk over length scales and noise; with 0, both stay as they are."""
        standard = self._store_points(points, values)
        fit = self._first_fit(standard, self._lengths, self._noise)
        for _ in range(steps):
            other = self._try_fit(standard, *self._step(fit))
            if other is not None and other.likelihood - fit.likelihood > np.log(self._generator.random()):
                fit = other
        self._fit, self._lengths, self._noise = fit, fit.lengths, fit.noise

    def fit_smooth(self, points: Reals, values: Reals) -> None:
        """Fit with the typical length scale for all dimensions, whatever the results are; the walk does not move.

        If neighbours differ at random, the likely length scales are so short that a model using them shows no trend away
        from the points that have run.
        """
        self._fit = self._first_fit(
            self._store_points(points, values), np.full(points.shape[1], _TYPICAL_LENGTH), _SMOOTH_NOISE
        )

    def predict(self, points: Reals) -> tuple[Reals, Reals]:
        """(means, standard deviations) of single observations."""
        fit, precision = self._fit, self._precision(self._weights_of_mean())
        reduced = solve_lower(fit.factor.astype(precision), self._covariances(points, precision).T)
        variance = np.maximum(1 + fit.noise - np.einsum("ij,ij->j", reduced, reduced), _MIN_VARIANCE) * fit.variance
        return reduced.T @ fit.weights.astype(precision) * self._scale + self._mean, np.sqrt(variance) * self._scale

    def means(self, points: Reals) -> Reals:
        """The same means that predict() returns, computed many times faster."""
        weights = self._weights_of_mean()
        precision = self._precision(weights)
        weights = weights.astype(precision)
        rows = _AT_ONCE // len(weights) + 1
        parts = (points[first : first + rows] for first in range(0, len(points), rows))
        return np.concatenate([self._covariances(part, precision) @ weights for part in parts]) * self._scale + self._mean

    def errors(self) -> Reals:
        """The difference between each fitted value and its leave-one-out prediction."""
        inverse = solve_lower(self._fit.factor, np.eye(len(self._points)))
        precision = inverse.T @ inverse
        errors: Reals = precision @ (self._values - self._mean) / np.diag(precision)
        return errors

    def _weights_of_mean(self) -> Reals:
        """One weight per fitted point: the mean at a point is the weighted sum of its covariances with the fitted points."""
        return solve_lower(self._fit.factor, self._fit.weights, transposed=True)

    def _precision(self, weights: Reals) -> type[np.floating[Any]]:
        return np.float32 if np.abs(weights).sum() < _MAX_SINGLE_PRECISION_WEIGHTS else np.float64

    def _covariances(self, points: Reals, precision: type[np.floating[Any]]) -> Reals:
        """The covariances of `points` with the fitted points, as an array (points, fitted points)."""
        return _matern(*(array.astype(precision, copy=False) for array in (points, self._points, self._fit.lengths)))

    def _store_points(self, points: Reals, values: Reals) -> Reals:
        """Store the points and values; return the values, standardised."""
        self._points, self._values = points.astype(np.float64), values
        self._mean, self._scale = float(values.mean()), float(values.std()) or 1.0
        return (values - self._mean) / self._scale

    def _first_fit(self, standard: Reals, lengths: Reals, noise: float) -> _Fit:
        """Fit, raising the noise until the covariance is positive definite, which it may not be if points nearly coincide."""
        while (fit := self._try_fit(standard, lengths, noise)) is None:
            noise *= 10
            if noise > _MAX_NOISE:
                raise np.linalg.LinAlgError("the covariance of finite points is not positive definite")
        return fit

    def _step(self, fit: _Fit) -> tuple[Reals, float]:
        """A step of the walk, which changes the noise and about half of the length scales."""
        normal = self._generator.normal
        changed = self._generator.random(len(fit.lengths)) < 0.5
        lengths = fit.lengths * np.exp(normal(0, _STEP_LENGTH, len(changed)) * changed)
        return np.clip(lengths, *_LENGTHS), float(np.clip(fit.noise * np.exp(normal(0, _STEP_NOISE)), *_NOISES))

    def _try_fit(self, values: Reals, lengths: Reals, noise: float) -> _Fit | None:
        covariance = _matern(self._points, self._points, lengths)
        covariance.flat[:: len(values) + 1] += noise
        factor = cholesky(covariance)
        if factor is None:
            return None
        weights = solve_lower(factor, values)
        variance = max(float(weights @ weights) / len(values), 1e-12)
        likelihood = -0.5 * len(values) * np.log(variance) - np.log(factor.diagonal()).sum()
        likelihood -= 0.5 * np.sum((np.log(lengths / _TYPICAL_LENGTH) / _SPREAD_OF_LENGTHS) ** 2)
        return _Fit(lengths, noise, factor, weights, variance, float(likelihood))


def _matern(left: Reals, right: Reals, lengths: Reals) -> Reals:
    """exp(-d) (1 + d + d^2 / 3), where d is the scaled distance times the root of 5; in place, to save memory traffic."""
    left, right = left * (_ROOT_5 / lengths), right * (_ROOT_5 / lengths)
    # |a - b|^2 = (a, |a|^2, 1) (-2 b, 1, |b|^2): one product instead of three passes
    left = np.column_stack([left, np.einsum("ij,ij->i", left, left), np.ones_like(left[:, 0])])
    right = np.column_stack([-2 * right, np.ones_like(right[:, 0]), np.einsum("ij,ij->i", right, right)])
    squares: Reals = left @ right.T
    np.maximum(squares, 0, out=squares)
    distance = np.sqrt(squares)
    squares /= 3
    squares += distance
    squares += 1
    np.negative(distance, out=distance)
    squares *= np.exp(distance, out=distance)
    return squares
