"""The number types that kernels use, as NumPy types, and the distance between two floating-point numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[Any]  # with a dtype that dtype_of() returns
    Bytes = NDArray[np.uint8]

_SIGN = np.uint64(1) << np.uint64(63)  # where zero is on the scale of distances


def dtype_of(scalar: str) -> np.dtype[Any]:
    """The NumPy type for a kind of number.

    scalar: a key of hip_source.layout.BYTES. A bool is treated as the byte that stores it, which need not be 0 or 1.
    """
    if scalar == "bool":
        return np.dtype(np.uint8)
    return np.dtype(getattr(ml_dtypes, scalar, None) or scalar)


def is_float(scalar: str | None) -> bool:
    """Whether a kind of number is floating-point; False for None, which stands for a pointer."""
    return scalar is not None and "float" in scalar


def limits_of(dtype: np.dtype[Any]) -> np.finfo[Any]:
    """The limits of a floating-point type."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]  # ml_dtypes has no annotations for it


def bits_of(values: Numbers) -> Numbers:
    """The bits of the numbers, as unsigned integers of the same width."""
    return values.view(f"u{values.dtype.itemsize}")


def nan_of(dtype: np.dtype[Any], negative: bool, signalling: bool, random: np.random.Generator) -> NDArray[Any] | None:
    """A NaN with a random payload, of this kind if the type has it, in an array of shape (1,); None if the type has no NaN."""
    unsigned, bits = np.dtype(f"u{dtype.itemsize}"), 8 * dtype.itemsize
    if dtype.itemsize == 1:
        every = np.arange(256, dtype=np.uint8)
    else:
        fraction = limits_of(dtype).nmant
        exponent = (1 << bits - 1) - (1 << fraction)
        payloads = random.integers(1, 1 << fraction, 64, np.uint64) | np.uint64(exponent)
        every = np.concatenate([payloads, payloads | np.uint64(1 << bits - 1)])
        every = np.concatenate([every | np.uint64(1 << fraction - 1), every & ~np.uint64(1 << fraction - 1)]).astype(unsigned)
    nans = every[np.isnan(every.view(dtype))]
    nans = _with_bit(nans, bits - 1, negative)
    nans = _with_bit(nans, max(limits_of(dtype).nmant - 1, 0), not signalling)
    return random.choice(nans, 1).view(dtype) if nans.size else None


def _with_bit(bits: Numbers, position: int, is_set: bool) -> Numbers:
    """The values whose bit at `position` is set (or clear, if not `is_set`); all values if there are none."""
    wanted = (bits >> np.array(position, bits.dtype) & np.array(1, bits.dtype)) == is_set
    return bits[wanted] if wanted.any() else bits


def ulps_between(x: Numbers, y: Numbers) -> NDArray[np.uint64]:
    """The distance in representable values from one number to the other (uint64); both zeros count as the same number.

    x, y: arrays of the same floating-point type and shape. The result is meaningless where either is a NaN.
    """
    a, b = _ordered(x), _ordered(y)
    return np.where(a > b, a - b, b - a)


def _ordered(values: Numbers) -> NDArray[np.uint64]:
    """Integers that sort in the same order as the values: floats of the same sign are ordered like their bit patterns."""
    bits: NDArray[np.uint64] = bits_of(values).astype(np.uint64)
    sign = np.uint64(8 * values.dtype.itemsize - 1)
    magnitude = bits & ((np.uint64(1) << sign) - np.uint64(1))
    ordered: NDArray[np.uint64] = np.where(bits >> sign, _SIGN - magnitude, _SIGN + magnitude)
    return ordered


def in_words(value: np.generic) -> str:
    """The shortest decimal that identifies this number among all numbers of its type."""
    return str(value.item() if value.dtype.kind in "iu" else value)


def float_type(kind: str) -> np.dtype[Any] | None:
    """The type of an array's numbers; None if they are not floating-point numbers, or NumPy has no such type."""
    try:
        dtype = dtype_of(kind)
        limits_of(dtype)
    except (TypeError, ValueError, AttributeError):
        return None
    return dtype
