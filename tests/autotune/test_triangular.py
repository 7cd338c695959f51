"""The two ways to solve triangular systems agree."""

import numpy as np
import pytest
from scipy.special import ndtr

from rocm_perf_lab.autotune import triangular
from rocm_perf_lab.autotune.strategies.sequential import _normal_distribution


def both(monkeypatch, call):
    with_scipy = call()
    monkeypatch.setattr(triangular, "dpotrf", None)
    return with_scipy, call()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("transposed", [False, True])
def test_systems(monkeypatch, kind, transposed):
    generator = np.random.default_rng(0)
    points = generator.random((30, 30))
    matrix = points @ points.T + 30 * np.eye(30)
    factors = both(monkeypatch, lambda: triangular.cholesky(matrix.copy()))
    np.testing.assert_allclose(*map(np.tril, factors), atol=1e-12)
    monkeypatch.undo()
    # Upper triangles are not read.
    factor, right = (np.tril(factors[1]) + np.triu(points, 1)).astype(kind), generator.random((30, 4)).astype(kind)
    one, other = both(monkeypatch, lambda: triangular.solve_lower(factor, right, transposed))
    assert one.dtype == other.dtype == kind
    np.testing.assert_allclose(one, other, rtol=1e-4 if kind == np.float32 else 1e-10)


def test_a_matrix_without_a_factor(monkeypatch):
    assert both(monkeypatch, lambda: triangular.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))) == (None, None)


def test_the_normal_distribution():
    values = np.linspace(-9, 9, 100)
    np.testing.assert_allclose(_normal_distribution(values), ndtr(values), rtol=1e-12)
