"""Shapley values: what each of several causes costs if they hide one another.

The Shapley value of a cause is the gain from removing it, averaged over all orders in which the causes can be removed [Shapley,
A Value for n-Person Games, 1953]. The values sum to the cost of all causes together. With few causes, they are computed exactly
from the time without each set of causes; with many, they are estimated from random orders [Castro et al., Polynomial
calculation of the Shapley value based on sampling, 2009].
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import stdev

MAX_EXACT_CAUSES = 10
_SEED = 1953
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class ShapleyEstimate:
    """value: the mean over the drawn orders; the means sum to the cost of all causes. within: half the 95 % interval."""

    value: Fraction
    within: float


def shapley(times: Sequence[int]) -> list[Fraction]:
    """Each cause's part of the total cost. times: the time without each set of causes; bit i of the index stands for the i-th
    cause.

    Exact: the parts sum to times[0] - times[-1].
    """
    n = len(times).bit_length() - 1
    parts = [Fraction(0)] * n
    for removed in range(len(times)):
        size = removed.bit_count()
        for i in range(n):
            if not removed >> i & 1:
                orders = Fraction(math.factorial(size) * math.factorial(n - size - 1), math.factorial(n))
                parts[i] += orders * (times[removed] - times[removed | 1 << i])
    return parts


def sampled_shapley(times: Callable[[Iterable[int]], Mapping[int, int]], n: int, pairs: int) -> list[ShapleyEstimate]:
    """Each cause's part of the total cost, for n causes, estimated from 2 * pairs random orders (the same ones in every call).
    times: returns the time without each of the requested sets.

    Each order is drawn together with its reverse: a cause that is removed early in one order is removed late in the other, so a
    pair varies less than two independent orders would. `pairs` must be at least 2.
    """
    draw = random.Random(_SEED)
    orders = [draw.sample(range(n), n) for _ in range(pairs)]
    paths = [[_sets(order), _sets(order[::-1])] for order in orders]
    known = times({removed for pair in paths for path in pair for removed in path})
    gains: list[list[Fraction]] = [[] for _ in range(n)]
    for order, (forward, backward) in zip(orders, paths, strict=True):
        for position, cause in enumerate(order):
            first = known[forward[position]] - known[forward[position + 1]]
            last = known[backward[n - 1 - position]] - known[backward[n - position]]
            gains[cause].append(Fraction(first + last, 2))
    return [ShapleyEstimate(sum(samples, Fraction(0)) / pairs, _half_width(samples)) for samples in gains]


def _sets(order: Sequence[int]) -> list[int]:
    """The set of causes that have been removed after each step: none, the first, the first two, and so on up to all."""
    sets = [0]
    for cause in order:
        sets.append(sets[-1] | 1 << cause)
    return sets


def _half_width(values: Sequence[Fraction]) -> float:
    numbers = [float(value) for value in values]
    return _NORMAL_95 * stdev(numbers) / math.sqrt(len(numbers))
