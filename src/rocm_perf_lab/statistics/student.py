"""Student's t distribution."""

from __future__ import annotations

import functools
import math

_PRECISION = 1e-14


@functools.lru_cache(maxsize=256)
def t_quantile(probability: float, degrees: float) -> float:
    """The value that t stays below with this probability, which is at least 0.5. degrees: of freedom, above 0.

    P(|T| > t) is the regularized incomplete beta function of degrees / (degrees + t^2) [Abramowitz and Stegun, 26.7.1], of
    which bisection finds the logarithm.
    """
    import mpmath

    tails = 2 * (1 - probability)
    if tails >= 1:
        return 0.0
    low, high = 2 / degrees * math.log(tails) - 10, 0.0
    while high - low > _PRECISION * -low:
        middle = (low + high) / 2
        if mpmath.betainc(degrees / 2, 0.5, 0, mpmath.exp(middle), regularized=True) < tails:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees * math.expm1(-high))


def welch_interval(first: list[float], second: list[float], confidence: float) -> tuple[float, float]:
    """The interval of the difference of the means (first - second) of two normal samples with different variances.

    B. L. Welch, Biometrika 34, 1947. At least two values each, and not all the same.
    """
    import statistics

    parts = [statistics.variance(sample) / len(sample) for sample in (first, second)]
    degrees = sum(parts) ** 2 / sum(part**2 / (len(sample) - 1) for part, sample in zip(parts, (first, second), strict=True))
    difference = statistics.fmean(first) - statistics.fmean(second)
    half = t_quantile((1 + confidence) / 2, degrees) * math.sqrt(sum(parts))
    return difference - half, difference + half
