"""Compares two results of one program, array by array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# By the bytes of an element, relative to the array's largest number: what reordered sums and a different exp() cause after a
# few layers.
_TOLERANCES = {2: 1e-2, 4: 2e-4, 8: 1e-6}
_OF_TYPES_THAT_NUMPY_LACKS = {"bfloat16": 1e-2}  # by the last part of the places' names

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Agreement:
    """How well two results agree.

    largest_difference: the largest difference, in units of the array's largest number. reason: where they differ; empty if they
    agree. arrays: how many were compared. without_numbers: how many hold only NaN, as unwritten memory does.
    """

    largest_difference: float
    reason: str
    arrays: int
    without_numbers: int


def agreement(ours: Arrays, theirs: Arrays) -> Agreement:
    """Compare the device's arrays with the interpreter's."""
    if ours.keys() != theirs.keys():
        return Agreement(np.inf, f"only one result has {', '.join(sorted(ours.keys() ^ theirs.keys()))}", 0, 0)
    worst, reason, empty = 0.0, "", 0
    for array_name in ours:
        apart, why = _difference(
            ours[array_name], theirs[array_name], _OF_TYPES_THAT_NUMPY_LACKS.get(array_name.rpartition(".")[2])
        )
        empty += _has_no_numbers(ours[array_name])
        worst = max(worst, apart)
        reason = reason or (why and f"{array_name}: {why}")
    return Agreement(worst, reason, len(ours), empty)


def _has_no_numbers(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and array.size > 0 and bool(np.isnan(array).all())


def _difference(ours: np.ndarray, theirs: np.ndarray, tolerance: float | None) -> tuple[float, str]:
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        return np.inf, f"{ours.dtype}{list(ours.shape)} and {theirs.dtype}{list(theirs.shape)}"
    if ours.dtype.kind not in "fc":
        unequal = int(np.count_nonzero(ours != theirs))
        return (np.inf, f"{unequal} of {ours.size} elements differ") if unequal else (0.0, "")
    return _floats_apart(ours, theirs, tolerance or _TOLERANCES[ours.dtype.itemsize])


def _floats_apart(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> tuple[float, str]:
    special = ~(np.isfinite(ours) & np.isfinite(theirs))
    unlike = special & ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
    if unlike.any():
        return np.inf, f"{int(unlike.sum())} of {ours.size} are NaN or infinite in only one result"
    a, b = (_wide(np.where(special, 0, array)) for array in (ours, theirs))
    scale = float(np.abs(b).max(initial=0.0)) or 1.0
    apart = float(np.abs(a - b).max(initial=0.0)) / scale
    return apart, "" if apart <= tolerance else f"{apart:.1e} of its largest number apart"


def _wide(array: np.ndarray) -> Any:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
