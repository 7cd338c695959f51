"""The kinds of numbers that kernels work on, as NumPy has them, and how far apart two floating-point ones are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[Any]  # of one of the kinds that dtype_of() gives
    Bytes = NDArray[np.uint8]

_SIGN = np.uint64(1) << np.uint64(63)  # of the distances' scale: what zero is mapped to


def dtype_of(scalar: str) -> np.dtype[Any]:
    """scalar: a key of hip_source.layout.BYTES. A bool is its byte, which need not be 0 or 1 in memory."""
    if scalar == "bool":
        return np.dtype(np.uint8)
    return np.dtype(getattr(ml_dtypes, scalar, None) or scalar)


def is_float(scalar: str | None) -> bool:
    """None, of pointers, is none."""
    return scalar is not None and "float" in scalar


def limits_of(dtype: np.dtype[Any]) -> np.finfo[Any]:
    """Of a floating-point type."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]  # which ml_dtypes leaves without types


def bits_of(values: Numbers) -> Numbers:
    """The same numbers' bits, as unsigned integers of their width."""
    return values.view(f"u{values.dtype.itemsize}")


def ulps_between(x: Numbers, y: Numbers) -> NDArray[np.uint64]:
    """How many steps from one representable number to the next lie between them (uint64); both zeros are one number.

    x, y: of one floating-point type and shape. Without meaning where one is a NaN.
    """
    a, b = _ordered(x), _ordered(y)
    return np.where(a > b, a - b, b - a)


def _ordered(values: Numbers) -> NDArray[np.uint64]:
    """Numbers that are ordered as the values are: floats of one sign are ordered as their bits."""
    bits: NDArray[np.uint64] = bits_of(values).astype(np.uint64)
    sign = np.uint64(8 * values.dtype.itemsize - 1)
    magnitude = bits & ((np.uint64(1) << sign) - np.uint64(1))
    ordered: NDArray[np.uint64] = np.where(bits >> sign, _SIGN - magnitude, _SIGN + magnitude)
    return ordered


def in_words(value: np.generic) -> str:
    """The shortest decimal that is this number alone among those of its type."""
    return str(value.item() if value.dtype.kind in "iu" else value)
