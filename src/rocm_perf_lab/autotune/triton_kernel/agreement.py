"""Whether two configurations of a function compute the same results, apart from rounding."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rocm_perf_lab.gate.equivalence.numbers import float_type, limits_of

_EPSILONS = 32  # machine epsilons of the type; reordered sums differ by a few, sums of thousands of products by more


def disagreement(
    reference: Mapping[str, str], outputs: Mapping[str, str], types: Mapping[str, str], folder: Path, tolerance: float | None
) -> str | None:
    """How the arrays that a configuration changed differ from those that the reference changed; None if they agree.

    reference, outputs: array -> name of the file in `folder` that holds it. types: array -> name of its dtype. tolerance:
    largest difference allowed, relative to the array's largest number; None for 32 machine epsilons of the type. Integers, and
    numbers of types that NumPy does not know, must be equal.
    """
    if reference.keys() != outputs.keys():
        return f"it changes {_names(outputs)}, where the reference changes {_names(reference)}"
    for name in reference:
        if reference[name] != outputs[name]:
            before, after = ((folder / files[name]).read_bytes() for files in (reference, outputs))
            if (difference := _difference_in_words(before, after, types[name], tolerance)) is not None:
                return f"{name} {difference}"
    return None


def _names(files: Mapping[str, str]) -> str:
    return ", ".join(sorted(files)) or "nothing"


def _difference_in_words(before: bytes, after: bytes, kind: str, tolerance: float | None) -> str | None:
    dtype = float_type(kind)
    if dtype is None:
        return "is not the same"
    # Bytes after the last complete number are not part of any number that the kernel was given.
    size = min(len(before), len(after)) // dtype.itemsize * dtype.itemsize
    x, y = (np.frombuffer(contents[:size], dtype).astype(np.float64) for contents in (before, after))
    if (np.isfinite(x) != np.isfinite(y)).any():
        return "has infinities or NaN in different places"
    finite = np.isfinite(x)
    if not (differing := np.flatnonzero(x[finite] != y[finite])).size:
        return None
    scale = float(np.abs(x[finite]).max()) or 1.0
    largest = float(np.abs(x[finite] - y[finite])[differing].max()) / scale
    limit = _EPSILONS * float(limits_of(dtype).eps) if tolerance is None else tolerance
    return None if largest <= limit else f"differs by {largest:.2g} of its largest number; {limit:.2g} is allowed"
