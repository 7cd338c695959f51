"""Other inputs than the captured ones, made from them: only floating-point buffers and numbers passed by value change.

Indices, counts in memory and pointers stay as they are: nonsense there makes a correct kernel fault. Sizes passed by value
only become smaller, which stays within the buffers for most kernels; where the baseline itself faults, the case is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from rocm_perf_lab.isolate import Capture

from .buffers import Buffer, Number

Values = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Perturbation:
    """name: for verdict and journal. overlays: (address, bytes) each."""

    name: str
    overlays: tuple[tuple[int, bytes], ...]


def _shuffled(values, random):
    return random.permutation(values)


def _in_range(values, random):
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high = (finite.min(), finite.max()) if finite.size else (-1.0, 1.0)
    if low == high:
        low, high = min(low, -1.0), max(high, 1.0)
    return random.uniform(low, high, values.size)


def _some(share: float, special: Callable[[np.dtype], list[float]]) -> Values:
    """The captured values' range with some special ones strewn in."""

    def make(values, random):
        result = _in_range(values, random).astype(values.dtype)
        places = random.random(values.size) < share
        result[places] = random.choice(np.array(special(values.dtype), values.dtype), int(places.sum()))
        return result

    return make


KINDS: dict[str, Values] = {
    "shuffled": _shuffled,
    "observed range": _in_range,
    "zeros": _some(0.5, lambda dtype: [0.0, -0.0]),
    "denormals": _some(
        0.3, lambda dtype: [float(np.finfo(dtype).smallest_subnormal), -3 * float(np.finfo(dtype).smallest_subnormal)]
    ),
    "huge": _some(0.1, lambda dtype: [float(np.finfo(dtype).max) / 2, -float(np.finfo(dtype).max) / 2]),
    "NaN and infinity": _some(0.02, lambda dtype: [np.nan, np.inf, -np.inf]),
}


def perturbations(capture: Capture, buffers: list[Buffer], numbers: list[Number], seed: int) -> Iterator[Perturbation]:
    """The same for the same seed, in a fixed order: first the kinds of values, then each number."""
    random = np.random.default_rng(seed)
    for name, values in KINDS.items():
        if overlays := tuple((b.address, _content(capture, b, values, random)) for b in buffers):
            yield Perturbation(name, overlays)
    for number in numbers:
        for value in _other_values(number, random):
            yield Perturbation(f"{number.name} = {value:g}", ((number.address, np.array([value], number.dtype).tobytes()),))


def _content(capture: Capture, buffer: Buffer, values: Values, random: np.random.Generator) -> bytes:
    captured = np.frombuffer(capture.memory(buffer.address, buffer.count * buffer.dtype.itemsize), buffer.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return values(captured, random).astype(buffer.dtype).tobytes()


def _other_values(number: Number, random: np.random.Generator) -> list[int | float]:
    if number.dtype.kind == "f":
        return [number.value * float(random.uniform(0.5, 2.0)) + 0.25]
    smaller = {number.value - 1, number.value // 2 + 1}
    return sorted(value for value in smaller if 0 < value < number.value)
