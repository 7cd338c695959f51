"""Other inputs, derived from the captured ones: numbers of every type in memory, and numbers passed by value.

Integers may be indices, counts or sizes: they are permuted, or drawn from the observed range, so that a correct kernel stays
within its buffers. Pointers are not changed. Sizes passed by value are made smaller (small numbers also larger), or one grows
while another shrinks. In one case, all inputs change together, but only slightly. For inputs that change in only a few places,
there are also cases in which the outputs initially hold the results for the captured inputs. A case on which the baseline
itself fails is dropped, and its parts are tried one at a time.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.gate.equivalence.kernel_inputs import Buffer, KernelInputs, NumberArgument
from rocm_perf_lab.gate.equivalence.nearby_inputs import nearby_number, nearby_values
from rocm_perf_lab.gate.equivalence.numbers import bits_of, dtype_of, is_float, limits_of, nan_of
from rocm_perf_lab.hip_source.layout import Leaf
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocm_perf_lab.gate.equivalence.numbers import Bytes, Numbers

    Values = Callable[[Numbers, np.random.Generator], Numbers]

_MAX_TRADED, _MAX_SIZE = 4, 1 << 20
_MAX_CHOICE = 8  # a number passed by value that is larger than this is a size, or data
_MAX_ENUMERATORS = 6  # values tried per enum
_MAX_PARTS = 32  # cases that a dropped case is split into
_MAX_PAIRS = 12  # pairs of parameters with floats
_MAX_CHANGED_ALONE = 8  # parameters that are each changed alone while the outputs hold results
_ON_RESULTS = "outputs as after the captured inputs"


@dataclass(frozen=True)
class Field:
    """The numbers of one leaf in a buffer."""

    buffer: Buffer
    leaf: Leaf

    @property
    def group(self) -> str:
        """The unit of change when a case is split: one parameter or, for structs, one of its members."""
        return self.buffer.parameter + self.leaf.path

    @property
    def name(self) -> str:
        return self.buffer.name + self.leaf.path


@dataclass(frozen=True)
class Perturbation:
    """One alternative set of inputs.

    name: used in the verdict and the journal. overlays: (address, bytes) pairs. kind: a key of FLOATS or INTEGERS, or NEARBY;
    None for other changes, such as a number passed by value. fields: the fields whose bits it changes. numbers: names of the
    by-value numbers that it changes. may_leave_buffers: whether the kernel may access memory past the end of a buffer.
    on_results: whether the memory that the kernel changed holds the results for the captured inputs and so must not be
    poisoned. same_memory: whether two arguments point to the same memory.
    """

    name: str
    overlays: tuple[tuple[int, bytes], ...]
    kind: str | None = None
    fields: tuple[Field, ...] = ()
    numbers: tuple[str, ...] = ()
    may_leave_buffers: bool = False
    on_results: bool = False
    same_memory: bool = False

    @property
    def inputs(self) -> frozenset[str]:
        """The inputs that it changes: parameters, or members of struct parameters, and numbers passed by value."""
        return frozenset([*(field.group for field in self.fields), *self.numbers])


def _shuffled(values: Numbers, random: np.random.Generator) -> Numbers:
    return values[random.permutation(values.size)]


def _in_range(values: Numbers, random: np.random.Generator) -> Numbers:
    finite = values[np.isfinite(values)].astype(np.float64)
    low, high = (float(np.min(finite)), float(np.max(finite))) if finite.size else (-1.0, 1.0)
    if low == high:
        low, high = min(low, -1.0), max(high, 1.0)
    return random.uniform(low, high, values.size)


def _with_some(share: float, special: Callable[[np.finfo[Any]], list[float]]) -> Values:
    """Values from the captured range, with special values at random places."""

    def make(values: Numbers, random: np.random.Generator) -> Numbers:
        result = _in_range(values, random).astype(values.dtype)
        places = random.random(values.size) < share
        chosen = np.array(special(limits_of(values.dtype)), np.float64).astype(values.dtype)
        result[places] = chosen[random.integers(chosen.size, size=int(places.sum()))]
        return result

    return make


def _integers_in_range(values: Numbers, random: np.random.Generator) -> Numbers:
    """Integers from the observed range. If only one value was seen, the range is extended to zero; if that value was zero, the
    integers are zeros and ones.
    """
    low, high = int(values.min()), int(values.max())
    if low == high:
        low, high = (min(low, 0), max(high, 0)) if low else (0, 1)
    return random.integers(low, high, values.size, values.dtype, endpoint=True)


def _bools(values: Numbers, random: np.random.Generator) -> Numbers:
    return random.integers(0, 1, values.size, values.dtype, endpoint=True)


def _captured_values_mixed(values: Numbers, random: np.random.Generator) -> Numbers:
    seen = np.unique(values)
    return seen[random.integers(seen.size, size=values.size)]


def _one_captured_value(values: Numbers, random: np.random.Generator) -> Numbers:
    """One value everywhere: this produces counts, ties and collisions that no mixture of values can produce."""
    return np.full(values.size, random.choice(values), values.dtype)


def _signed_zeros(values: Numbers, random: np.random.Generator) -> Numbers:
    return random.choice([0.0, -0.0], values.size)


def _filled_with_limit(of: Callable[[Numbers], np.integer[Any]]) -> Values:
    return lambda values, _random: np.full(values.size, of(values), values.dtype)


def _infinities(sign: float) -> Values:
    return lambda values, _random: np.full(values.size, sign * np.inf)


def _huge_negative(values: Numbers, random: np.random.Generator) -> Numbers:
    """Values below any number that a kernel may have assumed to be the smallest."""
    return -float(limits_of(values.dtype).max) * random.uniform(0.5, 1.0, values.size)


def _some_far_outside_range(values: Numbers, random: np.random.Generator) -> Numbers:
    """Values from the observed range, a few of them scaled up or down by a factor of up to 2**14: large enough to decide a
    comparison with ordinary values, and small enough not to swallow an error in a sum.
    """
    result, limits = np.asarray(_in_range(values, random), np.float64), limits_of(values.dtype)
    places = _few_places(values.size, random)
    with np.errstate(over="ignore"):  # infinities are clipped as well
        scaled = result[places] * np.exp2(random.uniform(-14, 14, int(places.sum())))
    result[places] = np.clip(scaled, -float(limits.max), float(limits.max))
    return result


def _some_just_outside_range(values: Numbers, random: np.random.Generator) -> Numbers:
    """Values from the observed range, a few of them replaced by the integer just above or below that range."""
    low, high, limits = int(values.min()), int(values.max()), np.iinfo(values.dtype)
    result = random.integers(low, high, values.size, values.dtype, endpoint=True)
    places = _few_places(values.size, random)
    beyond = [number for number in (low - 1, high + 1) if limits.min <= number <= limits.max]
    if beyond:
        result[places] = random.choice(np.array(beyond, values.dtype), int(places.sum()))
    return result


def _few_places(size: int, random: np.random.Generator) -> NDArray[np.bool_]:
    places = random.random(size) < 0.05
    places[random.integers(size)] = True
    return places


def _of_every_magnitude(values: Numbers, random: np.random.Generator) -> Numbers:
    """Values of every magnitude: their products underflow and overflow; products of values in the observed range may do
    neither.
    """
    info = limits_of(values.dtype)
    exponents = random.uniform(float(np.log2(float(info.smallest_normal))), float(np.log2(float(info.max))), values.size)
    return np.exp2(exponents) * random.choice([-1.0, 1.0], values.size)


def _with_changed_places(make: Values, places: Callable[[int, np.random.Generator], NDArray[np.bool_]]) -> Values:
    """The captured values, with different ones in a few places. A kernel that recognises the captured inputs by a few of their
    numbers alone mistakes these inputs for the captured ones.
    """

    def others(values: Numbers, random: np.random.Generator) -> Numbers:
        result, chosen = values.copy(), places(values.size, random)
        result[chosen] = make(values, random).astype(values.dtype)[chosen]
        return result

    return others


def _one_place(size: int, random: np.random.Generator) -> NDArray[np.bool_]:
    places = np.zeros(size, bool)
    places[random.integers(size)] = True
    return places


def _places_at_rate(number: Callable[[int], float]) -> Callable[[int, np.random.Generator], NDArray[np.bool_]]:
    return lambda size, random: (random.random(size) < 1 / number(size)) | _one_place(size, random)


_CHANGED_PLACES = {
    "one": _one_place,
    "a few": _places_at_rate(lambda size: size**0.5),
    "an eighth": _places_at_rate(lambda size: 8),
}


@dataclass(frozen=True)
class _Nans:
    """Values from the captured range, with NaNs of one sign and kind at random places, all with the same bits: if two operands
    were different NaNs, the compiler could swap them and thereby decide which of the two propagates.
    """

    negative: bool
    signalling: bool

    def __call__(self, values: Numbers, random: np.random.Generator, of_case: np.random.Generator | None = None) -> Numbers:
        """Draw the values. of_case: shared by all numbers of a type in a case; it determines the bits of the NaN."""
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
    "zeros": _with_some(0.5, lambda info: [0.0, -0.0]),
    "denormals": _with_some(0.3, lambda info: [float(info.smallest_subnormal), -3 * float(info.smallest_subnormal)]),
    "some beyond the observed range": _some_far_outside_range,
    "every magnitude": _of_every_magnitude,
    "huge": _with_some(0.1, lambda info: [float(info.max) / 2, -float(info.max) / 2]),
    "NaN and infinity": _with_some(0.05, lambda info: [np.nan, np.inf, -np.inf]),
    "nothing but zeros": _signed_zeros,
    # Only whole rows of extremes reveal that a reduction starts from a wrong initial value.
    "one number everywhere": _one_captured_value,
    "huge negative numbers everywhere": _huge_negative,
    "infinity everywhere": _infinities(1.0),
    "negative infinity everywhere": _infinities(-1.0),
    "NaN everywhere": lambda values, _random: np.full(values.size, np.nan),
    # Here zeros are multiplied by non-finite numbers, which produces NaNs.
    "zeros beside NaN and infinity": _with_some(0.5, lambda info: [0.0, 0.0, -0.0, -0.0, 0.0, 0.0, np.nan, np.inf, -np.inf]),
    **NANS,
    **{f"{share} of the numbers changed": _with_changed_places(_in_range, places) for share, places in _CHANGED_PLACES.items()},
}
INTEGERS: dict[str, Values] = {
    "integers shuffled": _shuffled,
    "integers in the observed range": _integers_in_range,
    "integers just beyond the observed range": _some_just_outside_range,
    "one integer everywhere": _one_captured_value,
    "the greatest integer everywhere": _filled_with_limit(np.max),
    "the least integer everywhere": _filled_with_limit(np.min),
    **{
        f"{share} of the integers changed": _with_changed_places(_captured_values_mixed, places)
        for share, places in _CHANGED_PLACES.items()
    },
}
NEARBY = "nearby values"
"""The kind that changes all inputs together; see gate.equivalence.nearby_inputs."""
SPARSE = [kind for kinds in (FLOATS, INTEGERS) for kind in kinds if kind.endswith("changed")]
"""The kinds that change only some of the places."""
_NOT_FINITE, _IN_RANGE = "NaN and infinity", "observed range"
_SOME_ZEROS, _SOME_NOT_FINITE = "half of the numbers are zero", "a few numbers are not finite"
FIRST = ("shuffled", "integers shuffled", NEARBY)
"""The perturbations for the level that tries only a few cases: one per kind of number, and one for all inputs."""
PREFERRED = ("shuffled", "observed range", "integers shuffled", "integers in the observed range")
"""The kinds that are most like the captured inputs, for measurements."""
_KINDS: dict[str, Values] = {
    **FLOATS,
    **INTEGERS,
    NEARBY: nearby_values,
    _SOME_ZEROS: _with_changed_places(_signed_zeros, lambda size, random: random.random(size) < 0.5),
    _SOME_NOT_FINITE: _with_changed_places(
        lambda values, random: random.choice([np.nan, np.inf, -np.inf], values.size), _CHANGED_PLACES["a few"]
    ),
}


class Perturber:
    """The other inputs for one captured dispatch, reproducible from the seed."""

    def __init__(self, capture: Capture, kernel_inputs: KernelInputs, seed: int):
        self._capture, self._numbers, self._seed = capture, kernel_inputs.numbers, seed
        fields = [Field(buffer, leaf) for buffer in kernel_inputs.buffers for leaf in buffer.layout.leaves if leaf.scalar]
        self.floats = tuple(field for field in fields if is_float(field.leaf.scalar))
        self.integers = tuple(field for field in fields if not is_float(field.leaf.scalar))

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.floats + self.integers

    def all(self) -> Iterator[Perturbation]:
        """All perturbations in a fixed order: each kind of values, for all buffers together; zeros combined with non-finite
        numbers; each number passed by value; pairs of sizes; the bytes after the buffers; all inputs together.
        """
        for kinds, fields in ((FLOATS, self.floats), (INTEGERS, self.integers)):
            for kind in kinds if fields else ():
                perturbation = self._perturbation_of_fields(kind, kind, fields)
                # If all factors are zero, a multiplication is visible only in the signs of the zeros.
                yield self._with_negative_numbers(perturbation) if FLOATS.get(kind) is _signed_zeros else perturbation
            yield from self._on_results([kind for kind in kinds if kind in SPARSE], fields)
        yield from self._zeros_beside_not_finite()
        for number in self._numbers:
            few = number.values is not None  # each value may select code that no other value selects
            for turn, value in enumerate(_other_values(number, self._random(number.name))):
                perturbation = self._passing_numbers({number: value}, beyond=not few and 0 < number.value < value)
                if few or turn % 2 == 0:
                    yield perturbation
                if few or turn % 2:
                    name = f"{perturbation.name}, {_ON_RESULTS}"
                    yield replace(perturbation, name=name, overlays=(*self._results, *perturbation.overlays), on_results=True)
                if self.floats and is_float(number.scalar):
                    if turn == 0:
                        yield self._with_values(perturbation, _IN_RANGE)
                    elif value in (0.0, np.inf):
                        yield self._with_values(perturbation, _NOT_FINITE)
            yield from self._nans_by_value(number)
        yield from self._traded_sizes()
        if self.around:
            yield Perturbation("other bytes after the buffers", self.around)
        nearby = self._nearby_perturbation()
        if nearby.inputs:
            yield nearby

    def _zeros_beside_not_finite(self) -> Iterator[Perturbation]:
        """Zeros among one parameter's numbers, NaNs and infinities among another's, everything else as captured. A kernel that
        skips terms multiplied by zero gives different results only if the two meet and no other NaN hides the difference.
        """
        changed = [(start, start + len(content)) for start, content in self._results]
        inputs = [field for field in self.floats if not any(start <= field.buffer.address < end for start, end in changed)]
        groups = _by_group(inputs or self.floats)
        pairs = list(itertools.permutations(groups, 2))
        for which in self._random("pairs").permutation(len(pairs))[:_MAX_PAIRS]:
            zero, other = pairs[which]
            overlays, fields = self._overlays_and_changed_fields(
                [(_SOME_ZEROS, groups[zero]), (_SOME_NOT_FINITE, groups[other])]
            )
            yield Perturbation(f"zeros in {zero} and non-finite numbers in {other}", overlays, fields=fields)

    def _with_values(self, perturbation: Perturbation, kind: str) -> Perturbation:
        """A changed number passed by value, together with other numbers in memory."""
        overlays, fields = self._overlays_and_changed_fields([(kind, self.floats)])
        return replace(
            perturbation, name=f"{perturbation.name}, {kind}", overlays=(*overlays, *perturbation.overlays), fields=fields
        )

    def _passing_numbers(
        self, values: Mapping[NumberArgument, int | float], name: str = "", beyond: bool = False
    ) -> Perturbation:
        """A case that passes different numbers by value."""
        description = name or ", ".join(f"{number.name} = {value:g}" for number, value in values.items())
        overlays = tuple(_number_overlay(number, value) for number, value in values.items())
        return Perturbation(description, overlays, numbers=_number_names(values), may_leave_buffers=beyond)

    def _nearby_perturbation(self) -> Perturbation:
        values = self._perturbation_of_fields(NEARBY, NEARBY, self.fields)
        overlays = tuple(_number_overlay(number, value) for number, value in self._nearby_numbers().items())
        return replace(values, overlays=(*values.overlays, *overlays), numbers=_number_names(self._nearby_numbers()))

    def _nearby_numbers(self) -> dict[NumberArgument, int | float]:
        nearby = {number: nearby_number(number, self._random(NEARBY + number.name)) for number in self._numbers}
        return {number: value for number, value in nearby.items() if value is not None}

    def _on_results(self, kinds: Sequence[str], fields: Sequence[Field]) -> Iterator[Perturbation]:
        """Inputs that differ from the captured ones in a few places, in all parameters at once or in only one, while outputs
        hold the results for the captured inputs: a kernel that finds some of these results correct may assume that all are.
        """
        changed = [(start, start + len(content)) for start, content in self._results]
        inputs = [field for field in fields if not any(start <= field.buffer.address < end for start, end in changed)]
        groups = _by_group(inputs)
        alone = self._random("alone").permutation(list(groups))[:_MAX_CHANGED_ALONE] if len(groups) > 1 else ()
        for kind in kinds if inputs else ():
            yield self._perturbation_of_fields(f"{kind}, {_ON_RESULTS}", kind, inputs, on_results=True)
            for name in alone:
                yield self._perturbation_of_fields(f"{kind} of {name}, {_ON_RESULTS}", kind, groups[name], on_results=True)

    @functools.cached_property
    def _results(self) -> tuple[tuple[int, bytes], ...]:
        """The final contents of each allocation and variable that the kernel changed."""
        regions = [region for region in self._capture.regions if region.kind != "code"]
        variables = {field.buffer: None for field in self.fields if field.buffer.is_variable}
        extents = [extent for region in regions for extent in region.allocations]
        results = []
        for extent in (*extents, *((variable.address, variable.size) for variable in variables)):
            after = self._capture.memory(*extent, after=True)
            if after != self._capture.memory(*extent):
                results.append((extent[0], after))
        return tuple(results)

    def _nans_by_value(self, number: NumberArgument) -> Iterator[Perturbation]:
        for name, kind in NANS.items() if is_float(number.scalar) else ():
            nan = nan_of(dtype_of(number.scalar), kind.negative, kind.signalling, self._random(name))
            if nan is not None:
                overlays = ((number.address, nan.tobytes()),)
                yield Perturbation(f"{number.name} = one of the {name}", overlays, numbers=(number.name,))

    @functools.cached_property
    def around(self) -> tuple[tuple[int, bytes], ...]:
        """Other contents for the bytes between allocations: pages extend past the allocations in them, and a kernel that reads
        past a buffer reads these bytes.
        """
        overlays = []
        for region in self._capture.regions:
            ends = [region.base, *sorted(start + size for start, size in region.allocations)]
            starts = [*sorted(start for start, _ in region.allocations), region.base + region.bytes]
            if region.kind != "code" and region.allocations:
                gaps = [(end, start - end) for end, start in zip(ends, starts, strict=True) if end < start]
                overlays += [(end, self._random(f"behind {end}").bytes(size)) for end, size in gaps]
        return tuple(overlays)

    def _with_negative_numbers(self, perturbation: Perturbation) -> Perturbation:
        numbers = [(number, -abs(number.value) - 1) for number in self._numbers if is_float(number.scalar)]
        name = ", ".join([perturbation.name, *(f"{number.name} = {value:g}" for number, value in numbers)])
        overlays = (*perturbation.overlays, *(_number_overlay(*pair) for pair in numbers))
        return replace(perturbation, name=name, overlays=overlays, numbers=_number_names(dict(numbers)))

    def _traded_sizes(self) -> Iterator[Perturbation]:
        """One size grows as another shrinks: with such a pair (rows and columns, say), a kernel often stays in bounds."""
        sizes = [
            number
            for number in self._numbers
            if not is_float(number.scalar) and number.values is None and 1 < number.value <= _MAX_SIZE
        ][:_MAX_TRADED]
        for larger, smaller in itertools.permutations(sizes, 2):
            factor = self._random(larger.name + smaller.name).uniform(1.2, 2.5)
            values = {larger: int(larger.value * factor), smaller: max(1, int(smaller.value / factor))}
            yield self._passing_numbers(values, beyond=True)

    def parts(self, perturbation: Perturbation) -> list[Perturbation]:
        """The same kind of values for one parameter, struct member or by-value number at a time. Empty if there are fewer than
        two such parts or too many, if `perturbation` has no kind, or if it sets `on_results`, as its parts are then tried
        anyway.
        """
        groups = _by_group(perturbation.fields)
        numbers = self._nearby_numbers() if perturbation.kind == NEARBY else {}
        if perturbation.kind is None or perturbation.on_results or not 1 < len(groups) + len(numbers) <= _MAX_PARTS:
            return []
        values = [
            self._perturbation_of_fields(f"{perturbation.kind} of {name}", perturbation.kind, fields)
            for name, fields in groups.items()
        ]
        return values + [
            self._passing_numbers({number: value}, name=f"{NEARBY} of {number.name} = {value:g}")
            for number, value in numbers.items()
        ]

    def _perturbation_of_fields(self, name: str, kind: str, fields: Sequence[Field], on_results: bool = False) -> Perturbation:
        overlays, changed = self._overlays_and_changed_fields([(kind, fields)])
        beyond, results = _KINDS[kind] is _some_just_outside_range, self._results if on_results else ()
        return Perturbation(name, (*results, *overlays), kind, changed, may_leave_buffers=beyond, on_results=on_results)

    def _overlays_and_changed_fields(
        self, values: Sequence[tuple[str, Sequence[Field]]]
    ) -> tuple[tuple[tuple[int, bytes], ...], tuple[Field, ...]]:
        """The overlays that fill each group of fields with values of its kind, and the fields in which any bit changes."""
        contents: dict[Buffer, Bytes] = {}
        changed = []
        for kind, fields in values:
            for field in fields:
                buffer = field.buffer
                if buffer not in contents:
                    contents[buffer] = np.frombuffer(self._capture.memory(buffer.address, buffer.size), np.uint8).copy()
                if self._write_values(kind, field, contents[buffer]):
                    changed.append(field)
        return tuple((buffer.address, content.tobytes()) for buffer, content in contents.items()), tuple(changed)

    def _write_values(self, kind: str, field: Field, content: Bytes) -> bool:
        """Write other values to the field. Returns whether any bits changed."""
        view = field.buffer.view(content, field.leaf)
        values = view.flatten()
        make = _KINDS[kind]
        if make is nearby_values and (field.leaf.enumerated or field.leaf.scalar == "bool"):
            return False
        if make is _integers_in_range:
            make = _captured_values_mixed if field.leaf.enumerated else _bools if field.leaf.scalar == "bool" else make
        if isinstance(make, _Nans):
            make = functools.partial(make, of_case=self._random(kind))
        with np.errstate(over="ignore", invalid="ignore"):
            new_values = make(values, self._random(kind + field.name)).astype(values.dtype)
        view[...] = new_values.reshape(view.shape)
        return not np.array_equal(bits_of(new_values), bits_of(values))

    def _random(self, label: str) -> np.random.Generator:
        return np.random.default_rng([self._seed, zlib.crc32(label.encode())])


def _by_group(fields: Iterable[Field]) -> dict[str, list[Field]]:
    groups: dict[str, list[Field]] = {}
    for field in fields:
        groups.setdefault(field.group, []).append(field)
    return groups


def _number_names(numbers: Iterable[NumberArgument]) -> tuple[str, ...]:
    return tuple(number.name for number in numbers)


def _number_overlay(number: NumberArgument, value: int | float) -> tuple[int, bytes]:
    return number.address, np.array([value]).astype(dtype_of(number.scalar)).tobytes()


def _few_values(values: list[int], random: np.random.Generator) -> list[int]:
    chosen = random.permutation(len(values))[:_MAX_ENUMERATORS]
    return [values[which] for which in sorted(chosen)]


def _other_values(number: NumberArgument, random: np.random.Generator) -> Sequence[int | float]:
    if number.values is not None:
        return _few_values([value for value in number.values if value != number.value], random)
    if is_float(number.scalar):
        scale = float(random.uniform(0.5, 2.0))
        size, info = (abs(number.value) + 1) * scale, limits_of(dtype_of(number.scalar))
        special = [0.0, float("inf"), float(info.smallest_subnormal), float(info.smallest_normal) * 100 * scale]
        return [number.value * scale + 0.25, -size, size * 100, *special]
    captured = int(number.value)
    if captured <= 0:  # an offset, a flag, or a size of 0
        return sorted({-captured, 1, int(random.integers(2, 9))} - {captured})
    smaller = {0, 1, captured - 1, int(random.integers(1, captured + 1)), int(random.integers(1, captured + 1))}
    # A small number may select one of several code paths. A larger size may lead the baseline out of bounds.
    larger = {captured + 1, int(random.integers(captured + 2, _MAX_CHOICE + 3))} if captured <= _MAX_CHOICE else set()
    return sorted(value for value in smaller if value < captured) + sorted(larger)
