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
from rocm_perf_lab.gate.equivalence.overlay_builder import OverlayBuilder
from rocm_perf_lab.gate.equivalence.perturbation import Field, Perturbation
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.numbers import Numbers

Pair = TypeVar("Pair")
_SMALL_BUFFER = 16  # in a buffer of at most this many numbers, each is changed on its own
_MAX_SINGLE, _MAX_CONTAINED, _MAX_PAIRS, _MAX_PASSED = 48, 48, 6, 8
_SHARE = 1 / 8
_MAX_NUMBERS_CONSIDERED = 1 << 12  # numbers considered in each buffer


@dataclass(frozen=True)
class RelatedInputs:
    """The cases for one captured dispatch, reproducible from the seed. fields: as in Perturber."""

    capture: Capture
    kernel_inputs: KernelInputs
    fields: Sequence[Field]
    seed: int

    def all(self) -> Iterator[Perturbation]:
        yield from itertools.islice(self._single_numbers(), _MAX_SINGLE)
        yield from itertools.islice(self._copied_buffers(), _MAX_CONTAINED)
        yield from self._all_numbers_equal()
        yield from itertools.islice(self._passed_numbers_in_memory(), _MAX_PASSED)
        yield from itertools.islice(self._pointers_to_same_memory(), _MAX_PAIRS)

    def _single_numbers(self) -> Iterator[Perturbation]:
        """Change the numbers of a small buffer one at a time: each letter of a pattern, say, or each weight of a filter."""
        for field in self._input_fields():
            if _number_count(field) > _SMALL_BUFFER:
                continue
            values = OverlayBuilder(self.capture).captured(field)
            for index in np.ndindex(values.shape):
                other = self._other_number(field, values, index)
                if other is not None:
                    builder = OverlayBuilder(self.capture)
                    builder.numbers(field)[index] = other
                    yield Perturbation(f"{field.buffer.element(field.leaf, index)} = {other:g}", builder.overlays)

    def _other_number(self, field: Field, values: Numbers, index: tuple[int, ...]) -> float | int | None:
        """A different number; None if there is none. An integer may be an index, so it is drawn from the captured inputs."""
        random = self._random(f"{field.name} {index}")
        if is_float(field.leaf.scalar):
            return float(random.uniform(0.5, 2.0)) * (abs(float(np.nan_to_num(values[index]))) + 1)
        seen = self._captured_values(field.leaf.scalar)
        other_values = seen[seen != values[index]]
        return int(random.choice(other_values)) if other_values.size else None

    def _copied_buffers(self) -> Iterator[Perturbation]:
        """Copy the numbers of one buffer into another: to its beginning, to its end and to a place in between."""
        sizes = {field: _number_count(field) for field in self._input_fields()}
        pairs = [
            (part, holder)
            for part, holder in itertools.permutations(sizes, 2)
            if part.leaf.scalar == holder.leaf.scalar and part.buffer != holder.buffer and sizes[part] <= sizes[holder]
        ]
        for part, holder in itertools.islice(self._shuffled(pairs, "contained"), _MAX_PAIRS):
            last = sizes[holder] - sizes[part]
            between = int(self._random(part.name + holder.name).integers(last + 1))
            for start in sorted({0, between, last}):
                yield self._with_copied_part(holder, part, start)
            for unlike in range(sizes[part]) if sizes[part] <= _SMALL_BUFFER else ():
                yield self._with_copied_part(holder, part, between, unlike)

    def _with_copied_part(self, holder: Field, part: Field, start: int, unlike: int | None = None) -> Perturbation:
        """Copy `part` into `holder` at index `start`. unlike: index of the number that is changed in the copy, or None."""
        builder = OverlayBuilder(self.capture)
        values = builder.captured(part)
        name = f"{holder.name} holds {part.name} from its number {start} on"
        if unlike is not None:
            index = tuple(map(int, np.unravel_index(unlike, values.shape)))
            values[index] = values[index] if (other := self._other_number(part, values, index)) is None else other
            name += f", but for {part.buffer.element(part.leaf, index)}"
        builder.numbers(holder).flat[start : start + values.size] = values.reshape(-1)
        return Perturbation(name, builder.overlays)

    def _all_numbers_equal(self) -> Iterator[Perturbation]:
        """For each type of number that occurs in several buffers: replace all numbers of the type with the same number."""
        by_type: dict[str | None, list[Field]] = {}
        for field in self._input_fields():
            by_type.setdefault(field.leaf.scalar, []).append(field)
        for scalar, fields in by_type.items():
            if len({field.buffer for field in fields}) > 1:
                builder = OverlayBuilder(self.capture)
                smallest = builder.captured(min(fields, key=_number_count))
                number = self._random(f"alike {scalar}").choice(smallest.reshape(-1))
                for field in fields:
                    builder.numbers(field)[...] = number
                names = ", ".join(dict.fromkeys(field.buffer.name for field in fields))
                yield Perturbation(f"{float(number):g} everywhere in {names}", builder.overlays)

    def _passed_numbers_in_memory(self) -> Iterator[Perturbation]:
        """Write each number passed by value to an eighth of the places that hold numbers of its type."""
        for number in self.kernel_inputs.numbers:
            fields = [field for field in self._input_fields() if field.leaf.scalar == number.scalar]
            if not fields or number.values is not None:
                continue
            random, builder = self._random(f"passed {number.name}"), OverlayBuilder(self.capture)
            for field in fields:
                numbers = builder.numbers(field)
                numbers[random.random(numbers.shape) < _SHARE] = number.value
            names = ", ".join(dict.fromkeys(field.buffer.name for field in fields))
            yield Perturbation(f"{number.name} among the numbers of {names}", builder.overlays)

    def _pointers_to_same_memory(self) -> Iterator[Perturbation]:
        """Replace a pointer with another of its type that has at least as many bytes behind it, if the kernel changes the
        memory behind either of them.
        """
        pairs = [
            (pointer, other)
            for pointer, other in itertools.permutations(self.kernel_inputs.pointers, 2)
            if pointer.pointee == other.pointee
            and bytes_behind(self.capture, pointer.target) <= bytes_behind(self.capture, other.target)
            and pointer.target != other.target
            and (self._kernel_changes(pointer.target) or self._kernel_changes(other.target))
        ]
        for pointer, other in self._shuffled(pairs, "same memory"):
            overlay = (pointer.address, other.target.to_bytes(8, "little"))
            yield Perturbation(f"{pointer.name} = {other.name}", (overlay,), same_memory=True)

    def _kernel_changes(self, address: int) -> bool:
        """Whether the kernel changes the allocation at this address."""
        for region in self.capture.regions:
            for start, size in region.allocations:
                if start <= address < start + size:
                    return self.capture.memory(start, size) != self.capture.memory(start, size, after=True)
        return False

    def _captured_values(self, scalar: str | None) -> Numbers:
        """The distinct numbers of a type in the captured inputs, considering only the first part of each buffer."""
        same = [field for field in self._input_fields() if field.leaf.scalar == scalar]
        return np.unique(
            np.concatenate(
                [OverlayBuilder(self.capture).captured(field).reshape(-1)[:_MAX_NUMBERS_CONSIDERED] for field in same]
            )
        )

    def _input_fields(self) -> list[Field]:
        """The fields, other than enums and bools, whose memory the kernel does not change; if it changes the memory of every
        such field, all of them.
        """
        fields = [field for field in self.fields if not field.leaf.enumerated and field.leaf.scalar != "bool"]
        return [field for field in fields if not self._kernel_changes(field.buffer.address)] or fields

    def _shuffled(self, pairs: Sequence[Pair], label: str) -> Iterator[Pair]:
        return (pairs[which] for which in self._random(label).permutation(len(pairs)))

    def _random(self, label: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(label.encode())])


def _number_count(field: Field) -> int:
    """How many numbers the field holds."""
    return field.buffer.count * field.leaf.count
