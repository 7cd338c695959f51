"""The effect of the MODE register on an instruction's operands and results: rounding, denormals, overflow, output modifiers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from pseudocode_values import (
    EXPONENT_BITS,
    FRACTION_BITS,
    Rounding,
    bits_of_fraction,
    float_of,
    infinity,
    is_nan,
    rounded,
)

FLOAT_BITS, IEEE_BIT, HALF_SATURATES = 0xFF, 1 << 9, 1 << 23
USUAL = 0xF0


@dataclass(frozen=True)
class FloatMode:
    """MODE as a number: rounding in bits 1:0 (singles) and 3:2 (doubles, halves), denormals in 5:4 and 7:6 (the lower bit keeps
    denormal operands, the upper one denormal results), FP16_OVFL in bit 23."""

    bits: int

    @property
    def is_usual(self) -> bool:
        return self.bits & (FLOAT_BITS | HALF_SATURATES) == USUAL

    def rounding(self, sizes: Iterable[int]) -> Rounding:
        """The rounding of an instruction with floating-point operands and results of these sizes."""
        return Rounding(self.bits >> (2 if {16, 64} & set(sizes) else 0) & 3)

    def keeps_operand_denormals(self, size: int) -> bool:
        return bool(self.bits >> (4 if size == 32 else 6) & 1)

    def keeps_result_denormals(self, size: int) -> bool:
        return bool(self.bits >> (5 if size == 32 else 7) & 1)

    def operand(self, bits: int, size: int) -> int:
        return bits if self.keeps_operand_denormals(size) else flushed(bits, size)

    def result(self, bits: int, size: int, truly_infinite: bool = True) -> int:
        if size == 16 and self.bits & HALF_SATURATES and not truly_infinite and bits & 0x7FFF == 0x7C00:
            bits -= 1
        return bits if self.keeps_result_denormals(size) else flushed(bits, size)

    def modified(self, bits: int, size: int, modifier: str, rounding: Rounding) -> int:
        """After "mul:2", "mul:4" or "div:2", which take effect only if denormal results are flushed and the IEEE bit is off.
        Zeros and flushed values become +0."""
        if not modifier or self.keeps_result_denormals(size) or self.bits & IEEE_BIT or is_nan(bits, size):
            return bits
        number = float_of(bits, size)
        factor = {"mul:2": Fraction(2), "mul:4": Fraction(4), "div:2": Fraction(1, 2)}[modifier]
        with rounded(rounding):
            out = bits_of_fraction(Fraction(number) * factor, size) if math.isfinite(number) else bits
        return out if flushed(out, size) & (1 << (size - 1)) - 1 else 0


def flushed(bits: int, size: int) -> int:
    exponent = ((1 << EXPONENT_BITS[size]) - 1) << FRACTION_BITS[size]
    return bits if bits & exponent else bits & 1 << (size - 1)


def parts(bits: int, whole: int, size: int) -> list[int]:
    """The floats of `size` bits contained in `whole` bits."""
    return [bits >> at & (1 << size) - 1 for at in range(0, whole, size)]


def joined(numbers: Iterable[int], size: int) -> int:
    return sum(number << size * i for i, number in enumerate(numbers))


def is_infinite(bits: int, size: int) -> bool:
    return bits & ~(1 << (size - 1)) == infinity(size, False)
