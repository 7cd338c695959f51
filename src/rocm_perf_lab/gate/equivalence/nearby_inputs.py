"""Other numbers, near the captured ones but not among them, that give a kernel about as much work."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocm_perf_lab.gate.equivalence.kernel_inputs import NumberArgument
    from rocm_perf_lab.gate.equivalence.numbers import Numbers

_MAX_FLAG = 2  # an integer up to this value is more likely to be a choice than an amount
_MIN_STEP = 4  # the number of floats in a vector


def nearby_values(values: Numbers, random: np.random.Generator) -> Numbers:
    """Move each finite number towards zero: equal numbers by the same amount, and each by at most half the distance to the
    nearest other number of its sign or to zero.

    Order, signs, zeros and the number of equal values are preserved. A kernel that looks up the answers for the captured values
    finds none for the new ones. Integers that leave no gaps in their range stay unchanged, because the whole range was seen.
    """
    result = values.copy()
    wide = values if values.dtype.kind in "iu" else values.astype(np.float64)
    for negative in (False, True):
        chosen = (wide < 0 if negative else wide > 0) & np.isfinite(wide)
        seen, places = np.unique(_magnitudes(wide[chosen]), return_inverse=True)
        if seen.size:
            closer = _closer_to_zero(seen, random)[places]
            result[chosen] = (-closer if negative else closer).astype(values.dtype)
    return result


def _magnitudes(values: Numbers) -> Numbers:
    if values.dtype.kind == "i":
        return np.abs(values.astype(np.int64)).view(np.uint64)  # correct even for the smallest integer
    return values.astype(np.uint64) if values.dtype.kind == "u" else np.abs(values)


def _closer_to_zero(magnitudes: Numbers, random: np.random.Generator) -> NDArray[np.uint64] | NDArray[np.float64]:
    """New magnitudes, each closer to zero. magnitudes: uint64 or float64, all different, ascending."""
    below = np.diff(magnitudes, prepend=np.zeros(1, magnitudes.dtype))
    room = np.minimum(below, np.append(below[1:], below[-1:]))
    if magnitudes.dtype.kind != "u":
        closer: NDArray[np.float64] = magnitudes - room * random.uniform(0.25, 0.5, room.size)
        return closer
    half = room // np.uint64(2)
    least: NDArray[np.uint64] = magnitudes - random.integers(np.minimum(half, 1), half, dtype=np.uint64, endpoint=True)
    return least


def nearby_number(number: NumberArgument, random: np.random.Generator) -> int | float | None:
    """A number to pass instead; None for flags, enums, zeros and non-finite numbers, as other values may select other code.

    Sizes become smaller, by at most a quarter, since larger ones may lead to out-of-bounds accesses. They remain divisible by
    the powers of two that vectors and tiles depend on, as long as there are several such sizes to draw from.
    """
    if isinstance(number.value, float):
        usable = math.isfinite(number.value) and number.value != 0
        return number.value * float(random.uniform(0.8, 0.95)) if usable else None
    size = abs(number.value)
    if number.values is not None or size <= _MAX_FLAG:
        return None
    most = max(1, size // 4)
    step = 1 << min(size & -size, max(size // 32, _MIN_STEP), most).bit_length() - 1
    smaller = size - step * int(random.integers(1, most // step + 1))
    return smaller if number.value > 0 else -smaller
