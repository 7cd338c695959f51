"""The memory after a replay, and the comparison of two replays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer, KernelInputs
from rocm_perf_lab.gate.equivalence.numbers import bits_of, dtype_of, in_words, is_float, ulps_between
from rocm_perf_lab.gate.verdict_document import DifferenceSection
from rocm_perf_lab.hip_source.layout import Leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocm_perf_lab.gate.equivalence.nans import Nans
    from rocm_perf_lab.gate.equivalence.numbers import Bytes, Numbers
    from rocm_perf_lab.isolate import Capture


class ChangedRegion(TypedDict):
    """A region's entry in outputs.json. base: its hexadecimal address. file: the name of the file that holds its bytes."""

    base: str
    bytes: int
    changed_bytes: int
    file: str


@dataclass(frozen=True)
class Outputs:
    """The regions that a kernel changed, read lazily from the folder that the replay dumped them to."""

    folder: Path

    @property
    def regions(self) -> dict[str, ChangedRegion]:
        """The regions, keyed by base address."""
        return {r["base"]: r for r in json.loads((self.folder / "outputs.json").read_bytes())["regions"]}

    @property
    def changed_bytes(self) -> int:
        return sum(region["changed_bytes"] for region in self.regions.values())

    def content(self, region: ChangedRegion) -> Bytes:
        """All bytes of the region, as uint8."""
        return np.fromfile(self.folder / region["file"], np.uint8)


@dataclass(frozen=True)
class Difference:
    """How two replays differ.

    reason: one sentence. where: the location for the JSON document; None if there is no location to name.
    """

    reason: str
    where: DifferenceSection | None = None


@dataclass(frozen=True)
class _LeafDifference:
    """How the numbers of one leaf in one buffer differ. indices: flat indices of the numbers that differ, shape (differing,),
    not empty.

    baseline, candidate: all numbers of the leaf, shape (count, *the leaf's dims).
    """

    buffer: Buffer
    leaf: Leaf
    indices: NDArray[np.intp]
    baseline: Numbers
    candidate: Numbers

    @property
    def first(self) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(self.indices[0], self.baseline.shape))

    @property
    def address(self) -> int:
        """Address of the first number that differs."""
        element, *index = self.first
        inside = sum(i * stride for i, (_, stride) in zip(index, self.leaf.dims, strict=True))
        return self.buffer.address + element * self.buffer.layout.size + self.leaf.offset + inside

    @property
    def largest_ulps(self) -> int | None:
        """The largest distance among the numbers that differ; None if they are not floating-point numbers, or if each pair
        contains a NaN.
        """
        if not is_float(self.leaf.scalar):
            return None
        x, y = (values.reshape(-1)[self.indices] for values in (self.baseline, self.candidate))
        numbers = ~(np.isnan(x) | np.isnan(y))
        return int(np.max(ulps_between(x[numbers], y[numbers]))) if numbers.any() else None


Inputs = Callable[[int, int], "Bytes"]
"""Returns the bytes of memory as they were before the kernel ran: (address, size) -> uint8."""


def inputs_of(capture: Capture, overlays: Sequence[tuple[int, bytes]]) -> Inputs:
    """The captured memory with these (address, bytes) pairs laid over it."""

    return lambda address, size: _with_overlays(capture.memory(address, size), address, overlays)


def _with_overlays(content: bytes, address: int, overlays: Sequence[tuple[int, bytes]]) -> Bytes:
    memory = np.frombuffer(content, np.uint8).copy()
    for start, written in overlays:
        low, high = max(start, address), min(start + len(written), address + memory.size)
        if low < high:
            memory[low - address : high - address] = np.frombuffer(written[low - start : high - start], np.uint8)
    return memory


def floats_in(kernel_inputs: KernelInputs, capture: Capture, overlays: Sequence[tuple[int, bytes]]) -> Iterator[Numbers]:
    """All floating-point numbers that a kernel receives with these (address, bytes) overlays, array by array."""
    inputs = inputs_of(capture, overlays)
    for buffer in kernel_inputs.buffers:
        leaves = [leaf for leaf in buffer.layout.leaves if is_float(leaf.scalar)]
        content = inputs(buffer.address, buffer.size) if leaves else None
        yield from (buffer.view(content, leaf) for leaf in leaves if content is not None)
    for number in kernel_inputs.numbers:
        if is_float(number.scalar):
            captured = np.array(number.value, dtype_of(number.scalar))
            yield _with_overlays(captured.tobytes(), number.address, overlays).view(captured.dtype)


def difference(
    expected: Outputs,
    actual: Outputs,
    buffers: Sequence[Buffer],
    ulps: int = 0,
    inputs: Inputs | None = None,
    nans: Nans | None = None,
) -> Difference | None:
    """How `actual` (the candidate's outputs) differs from `expected` (the baseline's); None if it does not.

    ulps: by how many units in the last place floating-point numbers may differ. nans: which NaNs count as equal; None if only
    NaNs with the same bits do. inputs: needed with `ulps` or `nans`, since one kernel may then leave memory unchanged where the
    other writes numbers that count as equal.
    """
    before, after = expected.regions, actual.regions
    if (ulps or nans is not None) and inputs is not None and before.keys() != after.keys():
        if not any(
            _compare_region_of_either(expected, actual, base, inputs, buffers, ulps, nans) for base in {**before, **after}
        ):
            return None
    if lost := before.keys() - after.keys():
        where = _region_in_words(lost, before, buffers)
        return Difference(f"the candidate leaves {where} unchanged, but the baseline writes to it")
    if more := after.keys() - before.keys():
        where = _region_in_words(more, after, buffers)
        return Difference(f"the candidate writes to {where}, which the baseline does not change")
    leaves: list[_LeafDifference] = []
    for base, region in before.items():
        result = _compare_region(int(base, 16), expected.content(region), actual.content(after[base]), buffers, ulps, nans)
        if isinstance(result, Difference):
            return result
        leaves += result
    return _number_difference(leaves) if leaves else None


def _compare_region_of_either(
    expected: Outputs,
    actual: Outputs,
    base: str,
    inputs: Inputs,
    buffers: Sequence[Buffer],
    ulps: int,
    nans: Nans | None,
) -> list[_LeafDifference] | Difference:
    """Compare a region that at least one of the two replays changed."""
    size = {**expected.regions, **actual.regions}[base]["bytes"]
    before, after = (
        outputs.content(outputs.regions[base]) if base in outputs.regions else inputs(int(base, 16), size)
        for outputs in (expected, actual)
    )
    return _compare_region(int(base, 16), before, after, buffers, ulps, nans)


def same_outside(extents: Sequence[tuple[int, bytes]], expected: Outputs, actual: Outputs) -> bool:
    """Whether both contain the same bytes outside these (address, bytes) extents."""
    before, after = expected.regions, actual.regions
    return before.keys() == after.keys() and all(
        np.array_equal(
            _with_zeroed_extents(extents, int(base, 16), expected.content(region)),
            _with_zeroed_extents(extents, int(base, 16), actual.content(after[base])),
        )
        for base, region in before.items()
    )


def _with_zeroed_extents(extents: Sequence[tuple[int, bytes]], base: int, content: Bytes) -> Bytes:
    for address, replaced in extents:
        begin, end = address - base, address - base + len(replaced)
        content[max(begin, 0) : max(end, 0)] = 0
    return content


def buffer_difference(buffer: Buffer, before: Bytes, after: Bytes, ulps: int = 0) -> Difference | None:
    """Like difference(), but for the bytes of one buffer, shape (buffer.size,)."""
    result = _compare_region(buffer.address, before, after, [buffer], ulps)
    return result if isinstance(result, Difference) else _number_difference(result) if result else None


def _region_in_words(bases: Iterable[str], regions: dict[str, ChangedRegion], buffers: Sequence[Buffer]) -> str:
    """Describe the first of the regions at these bases, naming the buffers in it."""
    start, base = min((int(base, 16), base) for base in bases)
    names = dict.fromkeys(buffer.name for buffer in buffers if start <= buffer.address < start + regions[base]["bytes"])
    return f"the region at {start:#x}" + (f" (of {', '.join(names)})" if names else "")


def _compare_region(
    base: int, a: Bytes, b: Bytes, buffers: Sequence[Buffer], ulps: int, nans: Nans | None = None
) -> list[_LeafDifference] | Difference:
    """Compare one region.

    a, b: the bytes of a region, shape (bytes,). Bytes that do not belong to numbers of a known type must be identical.
    """
    differing = np.flatnonzero(a != b)
    if not differing.size:
        return []
    explained = np.zeros(a.size, bool)
    leaves: list[_LeafDifference] = []
    for buffer in buffers:
        start = buffer.address - base
        if 0 <= start and start + buffer.size <= a.size and _has_index_in(differing, start, start + buffer.size):
            inside = slice(start, start + buffer.size)
            leaves += _compare_buffer(buffer, a[inside], b[inside], explained.view(np.uint8)[inside], ulps, nans)
    if (left := differing[~explained[differing]]).size and not leaves:
        return _byte_difference(base + int(left[0]), int(left.size), buffers)
    return leaves


def _has_index_in(places: NDArray[np.intp], start: int, end: int) -> bool:
    first, last = np.searchsorted(places, (start, end))
    return bool(first < last)


def _compare_buffer(
    buffer: Buffer, a: Bytes, b: Bytes, explained: Bytes, ulps: int, nans: Nans | None
) -> Iterator[_LeafDifference]:
    """Compare the numbers of one buffer. explained: set to 1 for every byte that belongs to one of the numbers."""
    for leaf in buffer.layout.leaves:
        if leaf.scalar is None:
            continue
        x, y = buffer.view(a, leaf), buffer.view(b, leaf)
        differing = bits_of(x) != bits_of(y)
        if is_float(leaf.scalar):
            differing &= ~_are_within_tolerance(x, y, ulps) if ulps else True
            differing &= ~nans.same(x, y) if nans is not None else True
        bits_of(buffer.view(explained, leaf))[...] = _all_bytes(x.dtype.itemsize)
        if differing.any():
            yield _LeafDifference(buffer, leaf, np.flatnonzero(differing), x, y)


def _all_bytes(size: int) -> int:
    """An integer in which every byte is 1."""
    return int.from_bytes(b"\x01" * size, "little")


def _are_within_tolerance(x: Numbers, y: Numbers, ulps: int) -> NDArray[np.bool_]:
    return (ulps_between(x, y) <= ulps) & ~np.isnan(x) & ~np.isnan(y)


def _byte_difference(address: int, count: int, buffers: Sequence[Buffer]) -> Difference:
    where, section = location(address, buffers)
    differ = f"{count} bytes differ, the first" if count > 1 else "1 byte differs,"
    return Difference(f"{differ} at {where}", section.model_copy(update={"differing_bytes": count}))


def location(address: int, buffers: Sequence[Buffer]) -> tuple[str, DifferenceSection]:
    """The location in words ("0x7f00 (in out, 0 bytes from its beginning)") and as a section of the JSON document."""
    inside = next((buffer for buffer in buffers if buffer.address <= address < buffer.address + buffer.size), None)
    where = f" (in {inside.name}, {address - inside.address} bytes from its beginning)" if inside else ""
    section = DifferenceSection(parameter=inside.parameter if inside else None, address=f"{address:#x}")
    return f"{address:#x}{where}", section


def _number_difference(leaves: Sequence[_LeafDifference]) -> Difference:
    """What the next attempt needs to know: the first number that differs, how many differ, and by how much."""
    first = min(leaves, key=lambda leaf: leaf.address)
    name = first.buffer.element(first.leaf, first.first)
    before, after = _first_pair_in_words(first)
    count, total = sum(leaf.indices.size for leaf in leaves), sum(leaf.baseline.size for leaf in leaves)
    distances = [ulps for leaf in leaves if (ulps := leaf.largest_ulps) is not None]
    largest = max(distances, default=None)
    where = DifferenceSection(
        parameter=first.buffer.parameter,
        element=name,
        type=first.leaf.scalar,
        baseline=before,
        candidate=after,
        differing=count,
        of=total,
        largest_ulps=largest,
    )
    how_far = f", by {largest} ULP at most" if largest is not None else ""
    return Difference(f"{name}: baseline {before}, candidate {after}; {count} of {total} elements differ{how_far}", where)


def _first_pair_in_words(leaf: _LeafDifference) -> tuple[str, str]:
    """The first differing pair as decimal numbers, with their bits if both decimals look the same."""
    x, y = leaf.baseline[leaf.first], leaf.candidate[leaf.first]
    words = in_words(x), in_words(y)
    if words[0] != words[1]:
        return words
    bits = (int(bits_of(np.array([value]))[0]) for value in (x, y))
    before, after = (
        f"{word} ({value:#x})" for word, value in zip(words, bits, strict=True)
    )  # both are NaNs, whose highest hexadecimal digit is never 0
    return before, after
