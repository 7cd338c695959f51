"""Other inputs, derived from the captured ones: numbers of every type in memory, and numbers passed by value.

Integers may be indices, counts or sizes: they are permuted, and drawn from the observed range, so that a correct kernel stays
within its buffers. Pointers are not changed. Sizes passed by value become smaller, or one grows while another shrinks. A case
on which the baseline itself fails is dropped, and its changes are tried part by part.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.gate.buffers import Arguments, Buffer, NumberArgument
from rocm_perf_lab.gate.numbers import bits_of, dtype_of, is_float, limits_of, nan_of
from rocm_perf_lab.hip_source.layout import Leaf
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocm_perf_lab.gate.numbers import Bytes, Numbers

    Values = Callable[[Numbers, np.random.Generator], Numbers]

_MOST_TRADED, _LARGEST_SIZE = 4, 1 << 20
_MOST_ENUMERATORS = 6  # values tried per enum
_MOST_PARTS = 32  # cases that a dropped case is split into


@dataclass(frozen=True)
class Field:
    """The numbers of one leaf in a buffer."""

    buffer: Buffer
    leaf: Leaf

    @property
    def group(self) -> str:
        """Unit of change when a case is split: one parameter, or for structs one of its members."""
        return self.buffer.parameter + self.leaf.path

    @property
    def name(self) -> str:
        return self.buffer.name + self.leaf.path


@dataclass(frozen=True)
class Perturbation:
    """One set of other inputs.

    name: used in the verdict and the journal. overlays: (address, bytes) each. kind: a key of FLOATS or INTEGERS; None for a
    number by value. fields: the fields whose bits it changes. beyond: whether the kernel may read past the end of a buffer.
    """

    name: str
    overlays: tuple[tuple[int, bytes], ...]
    kind: str | None = None
    fields: tuple[Field, ...] = ()
    beyond: bool = False


def _shuffled(values: Numbers, random: np.random.Generator) -> Numbers:
    return values[random.permutation(values.size)]


def _in_range(values: Numbers, random: np.random.Generator) -> Numbers:
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high = (float(np.min(finite)), float(np.max(finite))) if finite.size else (-1.0, 1.0)
    if low == high:
        low, high = min(low, -1.0), max(high, 1.0)
    return random.uniform(low, high, values.size)


def _some(share: float, special: Callable[[np.finfo[Any]], list[float]]) -> Values:
    """Values from the captured range, with special values at random places."""

    def make(values: Numbers, random: np.random.Generator) -> Numbers:
        result = _in_range(values, random).astype(values.dtype)
        places = random.random(values.size) < share
        chosen = np.array(special(limits_of(values.dtype)), np.float64).astype(values.dtype)
        result[places] = chosen[random.integers(chosen.size, size=int(places.sum()))]
        return result

    return make


def _integers_in_range(values: Numbers, random: np.random.Generator) -> Numbers:
    """If only one value was seen, from zero to that value; if it was zero, zeros and ones."""
    low, high = int(values.min()), int(values.max())
    if low == high:
        low, high = (min(low, 0), max(high, 0)) if low else (0, 1)
    return random.integers(low, high, values.size, values.dtype, endpoint=True)


def _bools(values: Numbers, random: np.random.Generator) -> Numbers:
    return random.integers(0, 1, values.size, values.dtype, endpoint=True)


def _of_those_seen(values: Numbers, random: np.random.Generator) -> Numbers:
    seen = np.unique(values)
    return seen[random.integers(seen.size, size=values.size)]


def _zeros(values: Numbers, random: np.random.Generator) -> Numbers:
    return random.choice([0.0, -0.0], values.size)


def _some_beyond(values: Numbers, random: np.random.Generator) -> Numbers:
    """Values from the observed range, a few of them scaled by up to 2**14 either way: among ordinary values they are large
    enough to decide a comparison and small enough not to swallow an error in a sum.
    """
    result, limits = np.asarray(_in_range(values, random), np.float64), limits_of(values.dtype)
    places = _few(values.size, random)
    with np.errstate(over="ignore"):  # an infinity is clipped as well
        scaled = result[places] * np.exp2(random.uniform(-14, 14, int(places.sum())))
    result[places] = np.clip(scaled, -float(limits.max), float(limits.max))
    return result


def _just_beyond(values: Numbers, random: np.random.Generator) -> Numbers:
    """Values from the observed range, a few of them replaced by the integer just above or below it."""
    low, high, limits = int(values.min()), int(values.max()), np.iinfo(values.dtype)
    result = random.integers(low, high, values.size, values.dtype, endpoint=True)
    places = _few(values.size, random)
    beyond = [number for number in (low - 1, high + 1) if limits.min <= number <= limits.max]
    if beyond:
        result[places] = random.choice(np.array(beyond, values.dtype), int(places.sum()))
    return result


def _few(size: int, random: np.random.Generator) -> NDArray[np.bool_]:
    places = random.random(size) < 0.05
    places[random.integers(size)] = True
    return places


def _of_every_magnitude(values: Numbers, random: np.random.Generator) -> Numbers:
    """Products of such numbers underflow and overflow, which numbers in the observed range may not do."""
    info = limits_of(values.dtype)
    exponents = random.uniform(float(np.log2(float(info.smallest_normal))), float(np.log2(float(info.max))), values.size)
    return np.exp2(exponents) * random.choice([-1.0, 1.0], values.size)


def _partly(make: Values, places: Callable[[int, np.random.Generator], NDArray[np.bool_]]) -> Values:
    """The captured values, with others at a few places. A kernel that looks at only some of its inputs, to find out whether
    they are the captured ones, takes these for them.
    """

    def others(values: Numbers, random: np.random.Generator) -> Numbers:
        result, chosen = values.copy(), places(values.size, random)
        result[chosen] = make(values, random).astype(values.dtype)[chosen]
        return result

    return others


def _one(size: int, random: np.random.Generator) -> NDArray[np.bool_]:
    places = np.zeros(size, bool)
    places[random.integers(size)] = True
    return places


def _one_in(number: Callable[[int], float]) -> Callable[[int, np.random.Generator], NDArray[np.bool_]]:
    return lambda size, random: (random.random(size) < 1 / number(size)) | _one(size, random)


_PLACES = {"one": _one, "a few": _one_in(lambda size: size**0.5), "an eighth": _one_in(lambda size: 8)}


@dataclass(frozen=True)
class _Nans:
    """Values from the captured range, with NaNs of one sign and kind at random places, all with the same bits: if two operands
    are different NaNs, the compiler may swap them and so decide which of the two propagates.
    """

    negative: bool
    signalling: bool

    def __call__(self, values: Numbers, random: np.random.Generator, of_case: np.random.Generator | None = None) -> Numbers:
        """Draw the values. of_case: shared by all numbers of a type in a case; it decides the bits of the NaN."""
        result = _in_range(values, random).astype(values.dtype)
        nan = nan_of(values.dtype, self.negative, self.signalling, of_case or random)
        if nan is not None:
            result[random.random(values.size) < 0.05] = nan
            result[random.integers(values.size)] = nan[0]
        return result


NANS = {
    f"{'negative' if negative else 'positive'} {'signalling' if signalling else 'quiet'} NaNs": _Nans(negative, signalling)
    for negative in (False, True)
    for signalling in (False, True)
}
FLOATS: dict[str, Values] = {
    "shuffled": _shuffled,
    "observed range": _in_range,
    "zeros": _some(0.5, lambda info: [0.0, -0.0]),
    "denormals": _some(0.3, lambda info: [float(info.smallest_subnormal), -3 * float(info.smallest_subnormal)]),
    "some beyond the observed range": _some_beyond,
    "every magnitude": _of_every_magnitude,
    "huge": _some(0.1, lambda info: [float(info.max) / 2, -float(info.max) / 2]),
    "NaN and infinity": _some(0.05, lambda info: [np.nan, np.inf, -np.inf]),
    "nothing but zeros": _zeros,
    **NANS,
    **{f"{share} of the numbers changed": _partly(_in_range, places) for share, places in _PLACES.items()},
}
INTEGERS: dict[str, Values] = {
    "integers shuffled": _shuffled,
    "integers in the observed range": _integers_in_range,
    "integers just beyond the observed range": _just_beyond,
    **{f"{share} of the integers changed": _partly(_of_those_seen, places) for share, places in _PLACES.items()},
}
FIRST = ("shuffled", "integers shuffled")
"""One perturbation per kind of number, for the level that tries few cases."""
PREFERRED = ("shuffled", "observed range", "integers shuffled", "integers in the observed range")
"""The kinds that are most like the captured inputs, for measurements."""


class Perturber:
    """The other inputs for one captured dispatch, reproducible from the seed."""

    def __init__(self, capture: Capture, arguments: Arguments, seed: int):
        self._capture, self._numbers, self._seed = capture, arguments.numbers, seed
        fields = [Field(buffer, leaf) for buffer in arguments.buffers for leaf in buffer.layout.leaves if leaf.scalar]
        self.floats = tuple(field for field in fields if is_float(field.leaf.scalar))
        self.integers = tuple(field for field in fields if not is_float(field.leaf.scalar))

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.floats + self.integers

    def all(self) -> Iterator[Perturbation]:
        """All perturbations in a fixed order: the kinds of values, for all buffers together, then each number passed
        by value.
        """
        for kinds, fields in ((FLOATS, self.floats), (INTEGERS, self.integers)):
            for kind in kinds if fields else ():
                one = self._changed(kind, kind, fields)
                # Multiplying nothing but zeros shows only in the signs of the zeros.
                yield self._with_negative_numbers(one) if FLOATS.get(kind) is _zeros else one
        for number in self._numbers:
            for value in _other_values(number, self._random(number.name)):
                yield Perturbation(f"{number.name} = {value:g}", (_by_value(number, value),))
            yield from self._nans_by_value(number)
        yield from self._traded()
        if behind := self._behind():
            yield Perturbation("other bytes after the buffers", behind)

    def _nans_by_value(self, number: NumberArgument) -> Iterator[Perturbation]:
        for name, kind in NANS.items() if is_float(number.scalar) else ():
            nan = nan_of(dtype_of(number.scalar), kind.negative, kind.signalling, self._random(name))
            if nan is not None:
                yield Perturbation(f"{number.name} = one of the {name}", ((number.address, nan.tobytes()),))

    def _behind(self) -> tuple[tuple[int, bytes], ...]:
        """Other bytes between allocations: pages extend past the allocations in them, and a kernel that reads past a buffer
        reads these.
        """
        found = []
        for region in self._capture.regions:
            ends = sorted(start + size for start, size in region.allocations)
            starts = sorted(start for start, _ in region.allocations)[1:] + [region.base + region.bytes]
            if region.kind != "code":
                gaps = [(end, start - end) for end, start in zip(ends, starts, strict=True) if end < start]
                found += [(end, self._random(f"behind {end}").bytes(size)) for end, size in gaps]
        return tuple(found)

    def _with_negative_numbers(self, one: Perturbation) -> Perturbation:
        numbers = [(number, -abs(number.value) - 1) for number in self._numbers if is_float(number.scalar)]
        name = ", ".join([one.name, *(f"{number.name} = {value:g}" for number, value in numbers)])
        return replace(one, name=name, overlays=(*one.overlays, *(_by_value(*pair) for pair in numbers)))

    def _traded(self) -> Iterator[Perturbation]:
        """One size grows as another shrinks: together they often stay within the buffers (rows, columns)."""
        sizes = [
            one for one in self._numbers if not is_float(one.scalar) and one.values is None and 1 < one.value <= _LARGEST_SIZE
        ][:_MOST_TRADED]
        for larger, smaller in itertools.permutations(sizes, 2):
            factor = self._random(larger.name + smaller.name).uniform(1.2, 2.5)
            values = int(larger.value * factor), max(1, int(smaller.value / factor))
            name = f"{larger.name} = {values[0]:g}, {smaller.name} = {values[1]:g}"
            yield Perturbation(name, (_by_value(larger, values[0]), _by_value(smaller, values[1])), beyond=True)

    def parts(self, whole: Perturbation) -> list[Perturbation]:
        """The same values, for one parameter or member at a time; none if there is only one, or too many."""
        groups: dict[str, list[Field]] = {}
        for field in whole.fields:
            groups.setdefault(field.group, []).append(field)
        if whole.kind is None or not 1 < len(groups) <= _MOST_PARTS:
            return []
        return [self._changed(f"{whole.kind} of {name}", whole.kind, fields) for name, fields in groups.items()]

    def _changed(self, name: str, kind: str, fields: Sequence[Field]) -> Perturbation:
        contents: dict[Buffer, Bytes] = {}
        changed = []
        for field in fields:
            buffer = field.buffer
            if buffer not in contents:
                contents[buffer] = np.frombuffer(self._capture.memory(buffer.address, buffer.size), np.uint8).copy()
            if self._change(kind, field, contents[buffer]):
                changed.append(field)
        overlays = tuple((buffer.address, content.tobytes()) for buffer, content in contents.items())
        return Perturbation(name, overlays, kind, tuple(changed), beyond=(FLOATS | INTEGERS)[kind] is _just_beyond)

    def _change(self, kind: str, field: Field, content: Bytes) -> bool:
        """Write other values to the field; whether any bits changed."""
        view = field.buffer.view(content, field.leaf)
        values = view.flatten()
        make = (FLOATS | INTEGERS)[kind]
        if make is _integers_in_range:
            make = _of_those_seen if field.leaf.enumerated else _bools if field.leaf.scalar == "bool" else make
        if isinstance(make, _Nans):
            make = functools.partial(make, of_case=self._random(kind))
        with np.errstate(over="ignore", invalid="ignore"):
            others = make(values, self._random(kind + field.name)).astype(values.dtype)
        view[...] = others.reshape(view.shape)
        return not np.array_equal(bits_of(others), bits_of(values))

    def _random(self, what: str) -> np.random.Generator:
        return np.random.default_rng([self._seed, zlib.crc32(what.encode())])


def _by_value(number: NumberArgument, value: int | float) -> tuple[int, bytes]:
    return number.address, np.array([value]).astype(dtype_of(number.scalar)).tobytes()


def _few_of(values: list[int], random: np.random.Generator) -> list[int]:
    chosen = random.permutation(len(values))[:_MOST_ENUMERATORS]
    return [values[which] for which in sorted(chosen)]


def _other_values(number: NumberArgument, random: np.random.Generator) -> Sequence[int | float]:
    if number.values is not None:
        return _few_of([value for value in number.values if value != number.value], random)
    if is_float(number.scalar):
        scale = float(random.uniform(0.5, 2.0))
        size, info = (abs(number.value) + 1) * scale, limits_of(dtype_of(number.scalar))
        special = [0.0, float("inf"), float(info.smallest_subnormal), float(info.smallest_normal) * 100 * scale]
        return [number.value * scale + 0.25, -size, size * 100, *special]
    captured = int(number.value)
    if captured <= 0:  # an offset, a flag, or no size
        return sorted({-captured, 1, int(random.integers(2, 9))} - {captured})
    smaller = {0, 1, captured - 1, int(random.integers(1, captured + 1)), int(random.integers(1, captured + 1))}
    return sorted(value for value in smaller if value < captured)
