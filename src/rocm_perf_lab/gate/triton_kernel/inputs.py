"""Makes contents for a launch's memory that differ from what the script provided."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.gate.equivalence.numbers import float_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

InputGenerator = Callable[["NDArray[Any]", np.random.Generator], "NDArray[Any]"]

_SPECIAL_SHARE = 0.01
_LARGE_FACTOR = 64.0  # times the spread of the script's values


def replace_numbers(contents: bytes, kind: str | None, make: InputGenerator, generator: np.random.Generator) -> bytes:
    """Replace the numbers in an array with others; integers, which may be indices into other arrays, are only permuted.

    kind: the array's dtype, or None if it is not known; in that case the contents stay as they are.
    """
    dtype = float_type(kind) if kind is not None else None
    if dtype is not None:
        count = len(contents) // dtype.itemsize
        values = np.frombuffer(contents, dtype, count)
        with np.errstate(over="ignore", invalid="ignore"):  # infinities in narrow types are valid inputs
            return make(values, generator).astype(dtype).tobytes() + contents[count * dtype.itemsize :]
    if kind is None or not kind.startswith(("int", "uint", "bool")):
        return contents
    return generator.permutation(np.frombuffer(contents, np.dtype(kind))).tobytes()


def _spread(values: NDArray[Any]) -> float:
    finite = values.astype(np.float64)
    finite = finite[np.isfinite(finite)]
    return float(finite.std()) if finite.size and finite.std() > 0 else 1.0


def random_values(values: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    """Normally distributed values, with the same spread as the script's."""
    drawn: NDArray[Any] = generator.standard_normal(values.shape) * _spread(values)
    return drawn


def positive_values(values: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    """Values of one sign, so that sums are large."""
    drawn: NDArray[Any] = (0.5 + generator.random(values.shape)) * _spread(values)
    return drawn


def large_values(values: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    drawn: NDArray[Any] = random_values(values, generator) * _LARGE_FACTOR
    return drawn


def special_values(values: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    """A few infinities, NaNs and zeros of both signs among random numbers."""
    drawn = random_values(values, generator)
    chosen = generator.random(values.shape) < _SPECIAL_SHARE
    drawn[chosen] = generator.choice(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0]), int(chosen.sum()))
    return drawn


INPUTS: dict[str, InputGenerator] = {
    "random": random_values,
    "positive": positive_values,
    "large": large_values,
    "special values": special_values,
}


def store_contents(contents: bytes, files: Path) -> str:
    """Store the contents in a file in `files`, and return its name."""
    name = hashlib.sha256(contents).hexdigest()
    if not (files / name).exists():
        (files / name).write_bytes(contents)
    return name
