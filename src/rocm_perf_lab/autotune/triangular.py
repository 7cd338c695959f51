"""Cholesky factors and triangular systems: LAPACK through scipy if that is installed, else through NumPy.

NumPy has no triangular solver, and a general one takes several times as long. The results differ only by rounding, which can
nevertheless make two searches diverge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rocm_perf_lab.arrays import Reals

try:  # a tenth of a fit's time is saved by leaving out scipy's checks
    from scipy.linalg.lapack import dpotrf, dtrtrs, strtrs
except ImportError:
    dpotrf = None


def cholesky(matrix: Reals) -> Reals | None:
    """The lower triangular factor of a symmetric matrix, which is overwritten; None if it is not positive definite."""
    if dpotrf is not None:
        factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=1)  # transposed: symmetric, and in LAPACK's order
        return None if failed else factor
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None


def solve_lower(factor: Reals, right: Reals, transposed: bool = False) -> Reals:
    """x in factor x = right, or in the transposed system, in the precision of `factor`, whose upper triangle is not read."""
    if dpotrf is not None:
        solve = strtrs if factor.dtype == np.float32 else dtrtrs
        solved: Reals = solve(factor, right, lower=1, trans=int(transposed))[0]
        return solved
    lower = np.tril(factor)
    return np.linalg.solve(lower.T if transposed else lower, right)
