"""Cholesky factors and triangular systems: LAPACK through SciPy if that is installed, otherwise NumPy.

NumPy has no triangular solver, and its general one takes several times as long. Results with and without SciPy differ only by
rounding, but even that can make searches diverge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Reals

try:  # calling LAPACK directly skips SciPy's checks, which saves a tenth of a fit's time
    from scipy.linalg.lapack import dpotrf, dtrtrs, strtrs
except ImportError:
    dpotrf = None


def cholesky(matrix: Reals) -> Reals | None:
    """The lower triangular factor of a symmetric matrix, which is overwritten; None if it is not positive definite."""
    if dpotrf is not None:
        factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # the transpose is the same matrix, in LAPACK's order
        return None if failed else factor
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None


def solve_lower(factor: Reals, right: Reals, transposed: bool = False) -> Reals:
    """Solve factor x = right, or the transposed system, in the precision of `factor`, whose upper triangle is not read."""
    if dpotrf is not None:
        solve = strtrs if factor.dtype == np.float32 else dtrtrs
        solved: Reals = solve(factor, right, lower=1, trans=int(transposed))[0]
        return solved
    lower = np.tril(factor)
    return np.linalg.solve(lower.T if transposed else lower, right)
