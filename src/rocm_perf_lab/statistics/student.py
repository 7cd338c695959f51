"""Student's t distribution."""

from __future__ import annotations

import functools
import math

_PRECISION = 1e-10
_MAX_STEPS = 60


@functools.lru_cache(maxsize=256)
def t_quantile(probability: float, degrees: float) -> float:
    """The value below which t lies with this probability, which is at least 0.5. degrees: degrees of freedom, above 0.

    P(|T| > t) is the regularized incomplete beta function of y = degrees / (degrees + t^2) [Abramowitz and Stegun, 26.7.1].
    Its logarithm is a convex, nearly linear function of log(y), so Newton's method needs few steps.
    """
    import mpmath

    tails, half = 2 * (1 - probability), degrees / 2
    if tails >= 1:
        return 0.0
    beta, wanted = mpmath.beta(half, 0.5), math.log(tails)
    x = mpmath.mpf(wanted / half)  # the logarithm of y
    for _ in range(_MAX_STEPS):
        y = mpmath.exp(x)
        share = mpmath.betainc(half, 0.5, 0, y, regularized=True)
        slope = y**half / mpmath.sqrt(-mpmath.expm1(x)) / beta / share
        step = (wanted - mpmath.log(share)) / slope
        x = min(x + step, x / 2)  # y stays below 1
        if abs(step) <= _PRECISION * -x:
            break
    return math.sqrt(degrees * math.expm1(-float(x)))


def welch_interval(first: list[float], second: list[float], confidence: float) -> tuple[float, float]:
    """The confidence interval for the difference of the means (first - second) of two normal samples with different variances.

    B. L. Welch, Biometrika 34, 1947. Each sample must have at least two values, and at least one sample must vary.
    """
    import statistics

    parts = [statistics.variance(sample) / len(sample) for sample in (first, second)]
    degrees = sum(parts) ** 2 / sum(part**2 / (len(sample) - 1) for part, sample in zip(parts, (first, second), strict=True))
    difference = statistics.fmean(first) - statistics.fmean(second)
    half = t_quantile((1 + confidence) / 2, degrees) * math.sqrt(sum(parts))
    return difference - half, difference + half
