"""Whether two launches leave the same memory contents: bit for bit, or within a number of units in the last place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.gate.equivalence.nans import Nans
from rocm_perf_lab.gate.equivalence.numbers import bits_of, float_type, in_words, ulps_between
from rocm_perf_lab.gate.triton_kernel.recorded_launch import RecordedBuffer
from rocm_perf_lab.gate.verdict_document import DifferenceSection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocm_perf_lab.gate.equivalence.numbers import Numbers

# Where results are near zero because large terms cancel, units in the last place are meaningless. For each allowed ULP, a sum
# in the type's accumulator may be off by this fraction of the largest number that the launch wrote to the array. Numbers that
# the launch did not write do not count: they may be arbitrary.
_SHARE_OF_LARGEST = {8: 2.0**-51}
_SHARE_OF_LARGEST_IN_FLOAT32 = 2.0**-22


class ResultsDifferError(Exception):
    """How results differ, in words and as a section of the verdict."""

    def __init__(self, reason: str, section: DifferenceSection):
        super().__init__(reason)
        self.reason, self.section = reason, section


def expect_same(
    before: Path, after: Path, buffers: Sequence[RecordedBuffer], files: Path, types: dict[str, str], ulps: int,
    numbers: tuple[int, int],
) -> None:  # fmt: skip
    """Compare what two launches left in memory: the folder `before` holds the results of launch numbers[0], and `after` holds
    the results of launch numbers[1]. Raises ResultsDifferError.

    buffers: the memory before the launches; its contents are in `files`.
    """
    nans = nans_on(buffers, files, types)
    for index, memory in enumerate(buffers):
        x, y = (folder / f"{number}-{index}" for folder, number in zip((before, after), numbers, strict=True))
        expect_same_memory(x, y, memory, files, types, ulps, nans)


def expect_same_memory(
    x: Path, y: Path, memory: RecordedBuffer, files: Path, types: dict[str, str], ulps: int, nans: Nans
) -> None:
    """Compare what two launches left in the memory, as stored in the files x and y. nans: which NaNs count as equal. Raises
    ResultsDifferError.
    """
    _compare(x.read_bytes(), y.read_bytes(), (files / memory.contents).read_bytes(), memory, types, ulps, nans)


def nans_on(buffers: Sequence[RecordedBuffer], files: Path, types: dict[str, str]) -> Nans:
    """The NaNs that launches may produce from these buffers, whose contents are in `files`."""
    return Nans(lambda: _floats_in(buffers, files, types))


def _floats_in(buffers: Sequence[RecordedBuffer], files: Path, types: dict[str, str]) -> Iterator[Numbers]:
    for memory in buffers:
        dtype = float_type(types.get(memory.names[0], "")) if memory.names else None
        if dtype is not None:
            contents = (files / memory.contents).read_bytes()
            yield np.frombuffer(contents, dtype, len(contents) // dtype.itemsize)


def _compare(x: bytes, y: bytes, initial: bytes, memory: RecordedBuffer, types: dict[str, str], ulps: int, nans: Nans) -> None:
    if x == y:
        return
    name = memory.names[0]
    dtype = float_type(types.get(name, ""))
    if dtype is None:
        dtype = np.dtype(types[name]) if types.get(name, "").startswith(("int", "uint")) else np.dtype(np.uint8)
        a, b = (np.frombuffer(content, dtype, len(content) // dtype.itemsize) for content in (x, y))
        places, largest = np.flatnonzero(a != b), None
    else:
        a, b = (np.frombuffer(content, dtype, len(content) // dtype.itemsize) for content in (x, y))
        distances = ulps_between(a, b)
        wide = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(wide[0]) & np.isfinite(wide[1])
        counts = finite & _changed_elements(x, initial, dtype)
        scale = float(np.abs(wide[0][counts]).max()) if counts.any() else 0.0
        floor = ulps * _SHARE_OF_LARGEST.get(dtype.itemsize, _SHARE_OF_LARGEST_IN_FLOAT32) * scale
        with np.errstate(invalid="ignore"):
            near = bool(ulps) & finite & ((distances <= ulps) | (np.abs(wide[0] - wide[1]) <= floor))
        same = near | (bits_of(a) == bits_of(b)) | nans.same(a, b)
        places = np.flatnonzero(~same)
        numbers = places[finite[places]]
        largest = int(distances[numbers].max()) if numbers.size else None
    if not places.size:
        return
    first = int(places[0])
    before, after = in_words(a[first]), in_words(b[first])
    how_far = f", by {largest} ULP at most" if largest is not None else ""
    reason = f"{name}[{first}]: baseline {before}, candidate {after}; {places.size} of {a.size} elements differ{how_far}"
    section = DifferenceSection(
        parameter=name, element=f"{name}[{first}]", type=types.get(name), baseline=before, candidate=after,
        differing=int(places.size), of=int(a.size), largest_ulps=largest,
    )  # fmt: skip
    raise ResultsDifferError(reason, section)


def _changed_elements(left: bytes, initial: bytes, dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """For each element, whether any of its bits changed."""
    words = np.dtype(f"u{dtype.itemsize}")
    count = len(left) // dtype.itemsize
    written: NDArray[np.bool_] = np.frombuffer(left, words, count) != np.frombuffer(initial, words, count)
    return written
