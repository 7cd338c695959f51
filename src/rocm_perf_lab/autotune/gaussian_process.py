"""Gaussian-process regression with a Matern-5/2 kernel, one length for each dimension, on at most a few hundred points.

Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: algorithm 2.1, equation 4.17. The scale of the process
is the one that maximises the likelihood, in closed form. Lengths and noise are searched from those of the fit before, so that
a fit costs some milliseconds; scikit-learn's takes gradients and costs a hundred times that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

_LENGTHS, _NOISES = (0.05, 20.0), (1e-5, 0.1)  # of coordinates within 0..1; of the process's variance
_START_LENGTH, _START_NOISE = 0.5, 1e-3
_TRIALS = 8
_STEP_LENGTH, _STEP_NOISE = 0.5, 1.0  # standard deviations of a trial's steps, in logarithms


@dataclass(frozen=True)
class _Fit:
    lengths: np.ndarray
    noise: float
    factor: np.ndarray  # lower triangular
    weights: np.ndarray
    variance: float
    likelihood: float


class GaussianProcess:
    """fit(), then predict(). Points are (count, dimensions), each coordinate within 0..1."""

    def __init__(self, dimensions: int, generator: np.random.Generator):
        self._generator = generator
        self._lengths, self._noise = np.full(dimensions, _START_LENGTH), _START_NOISE

    def fit(self, points: np.ndarray, values: np.ndarray) -> None:
        self._points = points
        self._mean, self._scale = float(values.mean()), float(values.std()) or 1.0
        standard = (values - self._mean) / self._scale
        fits = [self._attempt(standard, *self._trial(number)) for number in range(_TRIALS)]
        self._fit = max(filter(None, fits), key=lambda fit: fit.likelihood)
        self._lengths, self._noise = self._fit.lengths, self._fit.noise

    def predict(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(means, standard deviations) of single observations."""
        fit = self._fit
        reduced = solve_triangular(fit.factor, _matern(self._points, points, fit.lengths), lower=True, check_finite=False)
        variance = np.maximum(1 + fit.noise - np.einsum("ij,ij->j", reduced, reduced), 1e-9) * fit.variance
        return reduced.T @ fit.weights * self._scale + self._mean, np.sqrt(variance) * self._scale

    def left_out(self) -> np.ndarray:
        """What each point would be predicted as without itself (equation 5.12)."""
        inverse = solve_triangular(self._fit.factor, np.eye(len(self._points)), lower=True, check_finite=False)
        precision = inverse.T @ inverse
        standard = self._fit.factor @ self._fit.weights
        return (standard - (precision @ standard) / np.diag(precision)) * self._scale + self._mean

    def _trial(self, number: int) -> tuple[np.ndarray, float]:
        """The former lengths and noise as they are, then about half of the lengths changed at random."""
        if number == 0:
            return self._lengths, self._noise
        normal = self._generator.normal
        changed = self._generator.random(len(self._lengths)) < 0.5
        lengths = self._lengths * np.exp(normal(0, _STEP_LENGTH, len(changed)) * changed)
        return np.clip(lengths, *_LENGTHS), float(np.clip(self._noise * np.exp(normal(0, _STEP_NOISE)), *_NOISES))

    def _attempt(self, values: np.ndarray, lengths: np.ndarray, noise: float) -> _Fit | None:
        covariance = _matern(self._points, self._points, lengths)
        covariance[np.diag_indices_from(covariance)] += noise
        try:
            factor = cholesky(covariance, lower=True, check_finite=False)
        except LinAlgError:
            return None
        weights = solve_triangular(factor, values, lower=True, check_finite=False)
        variance = max(float(weights @ weights) / len(values), 1e-12)
        likelihood = -0.5 * len(values) * np.log(variance) - np.log(np.diag(factor)).sum()
        return _Fit(lengths, noise, factor, weights, variance, float(likelihood))


def _matern(left: np.ndarray, right: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """exp(-d) (1 + d + d^2 / 3), d being the distance in lengths times the root of 5."""
    left, right = left / lengths, right / lengths
    squares = (left**2).sum(1)[:, None] + (right**2).sum(1) - 2 * left @ right.T
    distance = np.sqrt(5 * np.maximum(squares, 0))
    return np.exp(-distance) * (1 + distance + distance**2 / 3)
