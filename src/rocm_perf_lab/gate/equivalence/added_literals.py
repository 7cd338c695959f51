"""Other inputs, made from the numeric literals that occur more often in a candidate than in the baseline. Code that is wrong
for one particular number must contain it as a literal, and random inputs would almost never hit it.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rocm_perf_lab.gate.equivalence.kernel_inputs import KernelInputs, NumberArgument
from rocm_perf_lab.gate.equivalence.numbers import dtype_of, is_float
from rocm_perf_lab.gate.equivalence.overlay_builder import OverlayBuilder
from rocm_perf_lab.gate.equivalence.perturbation import Field, Perturbation
from rocm_perf_lab.isolate import Capture

if TYPE_CHECKING:
    from rocm_perf_lab.gate.equivalence.numbers import Numbers

_MAX_NUMBERS = 12
# Comments, strings, directives (`#pragma unroll 4`) and words match without a group; the only group is the number.
_TOKEN = re.compile(
    rb"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|^[ \t]*#[^\n]*|[A-Za-z_]\w*"
    rb"|(\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)",
    re.DOTALL | re.MULTILINE,
)


def literals_added(before: bytes, after: bytes) -> tuple[float, ...]:
    """The values of the numeric literals that occur more often in `after` than in `before`; at most twelve."""
    added = Counter(_literals(after)) - Counter(_literals(before))
    return tuple(list(dict.fromkeys(value for value in map(_value, added) if value is not None))[:_MAX_NUMBERS])


def _literals(text: bytes) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        if match[1]:
            yield match[1].decode("ascii", "replace").replace("'", "").lower()


def _value(literal: str) -> float | None:
    """The literal's value, exact for integers up to 2**53; None if it is not a plain number (as with a user-defined suffix)."""
    if re.fullmatch(r"0x[0-9a-f]+[ul]*", literal):
        return float(int(literal.rstrip("ul"), 16))
    if re.fullmatch(r"0b[01]+[ul]*", literal):
        return float(int(literal.rstrip("ul"), 2))
    try:
        return float.fromhex(literal.rstrip("fl")) if literal.startswith("0x") else float(literal.rstrip("uflh"))
    except (ValueError, OverflowError):
        return None


def perturbations_with_literals(
    capture: Capture, kernel_inputs: KernelInputs, fields: Sequence[Field], numbers: Sequence[float], seed: int
) -> Iterator[Perturbation]:
    """Cases with these numbers: each of them, and its negative, everywhere in memory; all of them mixed with the captured
    numbers; each passed by value.

    Integers in memory, which may be indices, are replaced only by numbers in the observed range or just beyond it.
    """
    for number in numbers:
        for value in dict.fromkeys((number, -number)):
            yield from _value_everywhere(capture, fields, value)
    yield from _numbers_among_captured(capture, fields, numbers, seed)
    for argument in kernel_inputs.numbers:
        for number in numbers:
            yield from _number_by_value(argument, number)


def _value_everywhere(capture: Capture, fields: Sequence[Field], value: float) -> Iterator[Perturbation]:
    builder, changed = OverlayBuilder(capture), []
    for field in fields:
        if _is_suitable(field, builder.captured(field), value):
            builder.numbers(field)[...] = value
            changed.append(field)
    if changed:
        yield Perturbation(f"{value:g} everywhere, which the candidate names", builder.overlays)


def _numbers_among_captured(
    capture: Capture, fields: Sequence[Field], numbers: Sequence[float], seed: int
) -> Iterator[Perturbation]:
    builder, changed = OverlayBuilder(capture), []
    for field in fields:
        captured = builder.captured(field)
        values = [signed for number in numbers for signed in (number, -number) if _is_suitable(field, captured, signed)]
        if values:
            random = np.random.default_rng([seed, zlib.crc32(field.name.encode())])
            chosen = random.random(captured.shape) < 0.5
            drawn = np.array(values, np.float64).astype(captured.dtype)[random.integers(len(values), size=captured.shape)]
            builder.numbers(field)[chosen] = drawn[chosen]
            changed.append(field)
    if changed:
        yield Perturbation("numbers that the candidate names, among the captured ones", builder.overlays)


def _is_suitable(field: Field, captured: Numbers, value: float) -> bool:
    if field.leaf.enumerated or field.leaf.scalar == "bool" or not captured.size:
        return False
    if is_float(field.leaf.scalar):
        return True
    return (
        value.is_integer()
        and int(captured.min()) - 1 <= value <= int(captured.max()) + 1
        and _is_representable(captured.dtype, value)
    )


def _is_representable(dtype: np.dtype[Any], value: float) -> bool:
    return dtype.kind not in "iu" or bool(np.iinfo(dtype).min <= value <= np.iinfo(dtype).max)


def _number_by_value(argument: NumberArgument, number: float) -> Iterator[Perturbation]:
    dtype = dtype_of(argument.scalar)
    is_integer = (
        argument.values is None and not is_float(argument.scalar) and number.is_integer() and _is_representable(dtype, number)
    )
    if number == argument.value or not (is_integer or is_float(argument.scalar)):
        return
    overlay = (argument.address, np.array([number]).astype(dtype).tobytes())
    name = f"{argument.name} = {number:g}, which the candidate names"
    yield Perturbation(name, (overlay,), numbers=(argument.name,), may_leave_buffers=is_integer and number > argument.value)
