"""Which NaNs count as the same result.

IEEE 754-2019 leaves open the sign of a NaN that an operation produces (6.3), and which operand's payload it carries (6.2.3);
LLVM and GPUs leave them open too, so two correct compilations of an expression can differ in both. But copies must keep every
bit, and no operation may invent a payload. Programs that keep integers in floating-point numbers rely on this.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from rocm_perf_lab.gate.code_object.reached_functions import instructions_of
from rocm_perf_lab.gate.equivalence.numbers import bits_of, limits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocm_perf_lab.gate.equivalence.numbers import Numbers

_MAX_PAYLOAD_BITS = 51  # payload bits in double precision; a narrower type's payload corresponds to the leading bits
_FLOAT_INSTRUCTION = re.compile(r"(?!v_cmpx?_)\w+_b?f\d+")  # instructions and atomics with a floating-point result


class Nans:
    """The NaNs that operations on these inputs may produce.

    inputs: returns all floating-point input numbers, as arrays of any type and shape; it is called only if needed.
    """

    def __init__(self, inputs: Callable[[], Iterable[Numbers]]):
        self._inputs = inputs

    def same(self, x: Numbers, y: Numbers) -> NDArray[np.bool_]:
        """A mask of the places where both are NaNs of the same kind (quiet or signalling) and each has the payload of some
        input or none; signs are ignored. x, y: arrays of the same floating-point type and shape.
        """
        matching: NDArray[np.bool_] = np.isnan(x) & np.isnan(y)
        if matching.any():
            a, b = x[matching], y[matching]
            matching[matching] = (_is_quiet(a) == _is_quiet(b)) & self._have_known_payloads(a) & self._have_known_payloads(b)
        return matching

    def _have_known_payloads(self, nans: Numbers) -> NDArray[np.bool_]:
        payload_bits = _payload_bits(nans.dtype)
        known = self._payloads & ~np.uint64((1 << _MAX_PAYLOAD_BITS - payload_bits) - 1)  # a conversion keeps the leading bits
        return np.isin(_payloads(nans), known)

    @functools.cached_property
    def _payloads(self) -> NDArray[np.uint64]:
        of_inputs = (_payloads(numbers[np.isnan(numbers)]) for numbers in self._inputs())
        return np.unique(np.concatenate([np.zeros(1, np.uint64), *of_inputs]))


def _payload_bits(dtype: np.dtype[np.generic]) -> int:
    """The number of payload bits; 0 for one-byte types, whose NaNs carry no information."""
    return int(limits_of(dtype).nmant) - 1 if dtype.itemsize > 1 else 0


def _payloads(nans: Numbers) -> NDArray[np.uint64]:
    bits = _payload_bits(nans.dtype)
    own = bits_of(np.ascontiguousarray(nans)).astype(np.uint64) & np.uint64((1 << bits) - 1)
    return own << np.uint64(_MAX_PAYLOAD_BITS - bits)


def _is_quiet(nans: Numbers) -> NDArray[np.bool_]:
    quiet_bit = max(int(limits_of(nans.dtype).nmant) - 1, 0)
    bits: NDArray[np.uint64] = bits_of(np.ascontiguousarray(nans)).astype(np.uint64)
    return (bits >> np.uint64(quiet_bit) & np.uint64(1)).astype(np.bool_)


def computes_with_floats(image: bytes, kernel: str, target: str) -> bool:
    """Whether a code object's kernel computes with floating-point numbers; a kernel that only moves them keeps every bit.
    Raises SourceError.
    """
    return any(_FLOAT_INSTRUCTION.match(text) for text in instructions_of(image, kernel, target))
