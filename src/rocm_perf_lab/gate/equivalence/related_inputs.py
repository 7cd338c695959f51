"""Other inputs whose numbers are related to each other: for example, the sequence that a kernel searches for is present, keys
are equal in all buffers or equal to a number passed by value, one number of a small buffer differs, or two pointers point to
the same memory. Random numbers almost never produce such cases.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rocm_perf_lab.gate.equivalence.kernel_inputs import KernelInputs, bytes_behind
from rocm_perf_lab.gate.equivalence.numbers import is_float
from rocm_perf_lab.gate.equivalence.overlay_builder import Contents
from rocm_perf_lab.gate.equivalence.perturbation import Field, Perturbation
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.numbers import Numbers

Pair = TypeVar("Pair")
_SMALL = 16  # in a buffer of at most this many numbers, each is changed on its own
_MOST_SINGLE, _MOST_CONTAINED, _MOST_PAIRS, _MOST_PASSED = 48, 48, 6, 8
_SHARE = 1 / 8
_LOOKED_AT = 1 << 12  # numbers considered in each buffer


@dataclass(frozen=True)
class RelatedInputs:
    """The cases for one captured dispatch, reproducible from the seed. fields: as in Perturber."""

    capture: Capture
    arguments: KernelInputs
    fields: Sequence[Field]
    seed: int

    def all(self) -> Iterator[Perturbation]:
        yield from itertools.islice(self._single(), _MOST_SINGLE)
        yield from itertools.islice(self._contained(), _MOST_CONTAINED)
        yield from self._alike()
        yield from itertools.islice(self._passed(), _MOST_PASSED)
        yield from itertools.islice(self._in_same_memory(), _MOST_PAIRS)

    def _single(self) -> Iterator[Perturbation]:
        """Change the numbers of a small buffer one at a time: each letter of a pattern, say, or each weight of a filter."""
        for field in self._related():
            if _size(field) > _SMALL:
                continue
            values = Contents(self.capture).captured(field)
            for place in np.ndindex(values.shape):
                other = self._other(field, values, place)
                if other is not None:
                    contents = Contents(self.capture)
                    contents.numbers(field)[place] = other
                    yield Perturbation(f"{field.buffer.element(field.leaf, place)} = {other:g}", contents.overlays)

    def _other(self, field: Field, values: Numbers, place: tuple[int, ...]) -> float | int | None:
        """A different number; None if there is none. An integer may be an index, so it is drawn from the captured inputs."""
        random = self._random(f"{field.name} {place}")
        if is_float(field.leaf.scalar):
            return float(random.uniform(0.5, 2.0)) * (abs(float(np.nan_to_num(values[place]))) + 1)
        seen = self._seen(field.leaf.scalar)
        others = seen[seen != values[place]]
        return int(random.choice(others)) if others.size else None

    def _contained(self) -> Iterator[Perturbation]:
        """Copy the numbers of one buffer into another: to its beginning, to its end and to a place in between."""
        sizes = {field: _size(field) for field in self._related()}
        pairs = [
            (part, whole)
            for part, whole in itertools.permutations(sizes, 2)
            if part.leaf.scalar == whole.leaf.scalar and part.buffer != whole.buffer and sizes[part] <= sizes[whole]
        ]
        for part, whole in itertools.islice(self._some(pairs, "contained"), _MOST_PAIRS):
            last = sizes[whole] - sizes[part]
            between = int(self._random(part.name + whole.name).integers(last + 1))
            for at in sorted({0, between, last}):
                yield self._holding(whole, part, at)
            for unlike in range(sizes[part]) if sizes[part] <= _SMALL else ():
                yield self._holding(whole, part, between, unlike)

    def _holding(self, whole: Field, part: Field, at: int, unlike: int | None = None) -> Perturbation:
        """Copy `part` into `whole` at index `at`. unlike: index of the number that is changed in the copy, or None."""
        contents = Contents(self.capture)
        values = contents.captured(part)
        name = f"{whole.name} holds {part.name} from its number {at} on"
        if unlike is not None:
            place = tuple(map(int, np.unravel_index(unlike, values.shape)))
            values[place] = values[place] if (other := self._other(part, values, place)) is None else other
            name += f", but for {part.buffer.element(part.leaf, place)}"
        contents.numbers(whole).flat[at : at + values.size] = values.reshape(-1)
        return Perturbation(name, contents.overlays)

    def _alike(self) -> Iterator[Perturbation]:
        """For each type of number that occurs in several buffers: replace all numbers of the type with the same number."""
        by_type: dict[str | None, list[Field]] = {}
        for field in self._related():
            by_type.setdefault(field.leaf.scalar, []).append(field)
        for scalar, fields in by_type.items():
            if len({field.buffer for field in fields}) > 1:
                contents = Contents(self.capture)
                smallest = contents.captured(min(fields, key=_size))
                number = self._random(f"alike {scalar}").choice(smallest.reshape(-1))
                for field in fields:
                    contents.numbers(field)[...] = number
                names = ", ".join(dict.fromkeys(field.buffer.name for field in fields))
                yield Perturbation(f"{float(number):g} everywhere in {names}", contents.overlays)

    def _passed(self) -> Iterator[Perturbation]:
        """Write each number passed by value to an eighth of the places that hold numbers of its type."""
        for number in self.arguments.numbers:
            fields = [field for field in self._related() if field.leaf.scalar == number.scalar]
            if not fields or number.values is not None:
                continue
            random, contents = self._random(f"passed {number.name}"), Contents(self.capture)
            for field in fields:
                numbers = contents.numbers(field)
                numbers[random.random(numbers.shape) < _SHARE] = number.value
            names = ", ".join(dict.fromkeys(field.buffer.name for field in fields))
            yield Perturbation(f"{number.name} among the numbers of {names}", contents.overlays)

    def _in_same_memory(self) -> Iterator[Perturbation]:
        """Replace a pointer with another of its type that has at least as many bytes behind it, if the kernel changes the
        memory behind either of them.
        """
        pairs = [
            (one, other)
            for one, other in itertools.permutations(self.arguments.pointers, 2)
            if one.pointee == other.pointee
            and bytes_behind(self.capture, one.target) <= bytes_behind(self.capture, other.target)
            and one.target != other.target
            and (self._changes(one.target) or self._changes(other.target))
        ]
        for one, other in self._some(pairs, "same memory"):
            overlay = (one.address, other.target.to_bytes(8, "little"))
            yield Perturbation(f"{one.name} = {other.name}", (overlay,), same_memory=True)

    def _changes(self, address: int) -> bool:
        """Whether the kernel changes the allocation at this address."""
        for region in self.capture.regions:
            for start, size in region.allocations:
                if start <= address < start + size:
                    return self.capture.memory(start, size) != self.capture.memory(start, size, after=True)
        return False

    def _seen(self, scalar: str | None) -> Numbers:
        """The distinct numbers of a type in the captured inputs, considering only the first part of each buffer."""
        same = [field for field in self._related() if field.leaf.scalar == scalar]
        return np.unique(np.concatenate([Contents(self.capture).captured(one).reshape(-1)[:_LOOKED_AT] for one in same]))

    def _related(self) -> list[Field]:
        """The fields, other than enums and bools, whose memory the kernel does not change; if it changes the memory of every
        such field, all of them.
        """
        fields = [field for field in self.fields if not field.leaf.enumerated and field.leaf.scalar != "bool"]
        return [field for field in fields if not self._changes(field.buffer.address)] or fields

    def _some(self, pairs: Sequence[Pair], what: str) -> Iterator[Pair]:
        return (pairs[which] for which in self._random(what).permutation(len(pairs)))

    def _random(self, what: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(what.encode())])


def _size(field: Field) -> int:
    """How many numbers the field holds."""
    return field.buffer.count * field.leaf.count
