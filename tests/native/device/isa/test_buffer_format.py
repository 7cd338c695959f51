"""Loads and stores that convert between formats, against the formats' definitions."""

from __future__ import annotations

import struct
from fractions import Fraction
from wave import LANES, MEMORY_ADDRESS, Batch

import numpy as np
import pytest

from slow_variants import every

# Widths from X on: the numbers in the names, from the last to the first.
DATA = {"8": 1, "16": 2, "8_8": 3, "32": 4, "16_16": 5, "10_11_11": 6, "11_11_10": 7, "10_10_10_2": 8, "2_10_10_10": 9,
        "8_8_8_8": 10, "32_32": 11, "16_16_16_16": 12, "32_32_32": 13, "32_32_32_32": 14}  # fmt: skip
NUMBERS = {"UNORM": 0, "SNORM": 1, "USCALED": 2, "SSCALED": 3, "UINT": 4, "SINT": 5, "FLOAT": 7}
FLOATS = ("16", "32", "16_16", "10_11_11", "11_11_10", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32")
FORMATS = [(data, number) for data in DATA for number in NUMBERS if number != "FLOAT" or data in FLOATS]
REGISTERS = {"x": 1, "xy": 2, "xyz": 3, "xyzw": 4}
MEMORY = 0x1000


def widths(data: str) -> list[int]:
    return [int(width) for width in reversed(data.split("_"))]


def element_bytes(data: str) -> int:
    return sum(widths(data)) // 8


def components(data: str, element: bytes) -> list[int]:
    word = int.from_bytes(element, "little")
    parts = []
    for width in widths(data):
        parts.append(word & ((1 << width) - 1))
        word >>= width
    return parts


def signed(raw: int, width: int) -> int:
    return raw - (1 << width) if raw >> (width - 1) else raw


def float_value(raw: int, width: int) -> float:
    if width == 32:
        return struct.unpack("<f", struct.pack("<I", raw))[0]
    mantissa = {16: 10, 11: 6, 10: 5}[width]
    exponent, fraction = raw >> mantissa & 31, raw & ((1 << mantissa) - 1)
    if exponent == 31:
        value = float("nan") if fraction else float("inf")
    else:
        value = (fraction + (1 << mantissa if exponent else 0)) * 2.0 ** (max(exponent, 1) - 15 - mantissa)
    return -value if width == 16 and raw >> 15 else value


def value_of(raw: int, width: int, number: str) -> float | int | Fraction:
    match number:
        case "UNORM":
            return Fraction(raw, (1 << width) - 1)
        case "SNORM":
            return max(Fraction(-1), Fraction(signed(raw, width), (1 << (width - 1)) - 1))
        case "SSCALED" | "SINT":
            return signed(raw, width)
        case "FLOAT":
            return float_value(raw, width)
    return raw


def register_bits(raw: int, width: int, number: str, half: bool) -> int:
    value = value_of(raw, width, number)
    if number in ("UINT", "SINT"):
        return value & (0xFFFF if half else 0xFFFFFFFF)
    with np.errstate(over="ignore"):
        single = np.float32(float(value))  # a fraction of 32 bits is within a double's 53
        return int(np.float16(single).view(np.uint16)) if half else int(single.view(np.uint32))


def same(got: int, expected: int, half: bool) -> bool:
    kind, bits = (np.float16, np.uint16) if half else (np.float32, np.uint32)
    a, b = (bits(x).view(kind) for x in (got, expected))
    return got == expected or bool(np.isnan(a) and np.isnan(b))


def batch_of(assembler, lines: list[str], random, element: int) -> Batch:
    code = assembler.assemble(lines)
    batch = Batch(code, len(lines), vgprs=16, memory=MEMORY)
    batch.input["entry"] = code.entry
    batch.input["memory"] = random.integers(0, 256, batch.input["memory"].shape)
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape, np.uint32)
    batch.input["sgpr"][:, 4:7] = [MEMORY_ADDRESS & 0xFFFFFFFF, element << 16, 48]  # lanes from 48 on are out of range
    batch.input["vgpr"][:, 2] = np.arange(LANES)
    return batch


def loaded(vgpr: np.ndarray, lane: int, count: int, half: bool) -> list[int]:
    if half:
        return [int(vgpr[8 + i // 2, lane]) >> (16 * (i % 2)) & 0xFFFF for i in range(count)]
    return [int(vgpr[8 + i, lane]) for i in range(count)]


def range_of(count: int, half: bool) -> str:
    last = 8 + ((count + 1) // 2 if half else count) - 1
    return f"v[8:{last}]" if last > 8 else "v8"


@pytest.mark.parametrize("half", every(2, [True, False]))
def test_loads_by_the_instructions_format(assembler, probe, random, half: bool) -> None:
    """Components that the format does not have read as 0."""
    for data, number in FORMATS:
        lines = [
            f"tbuffer_load_format_{'d16_' * half}{name} {range_of(count, half)}, v2, s[4:7], 0 "
            f"format:[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{number}] idxen"
            for name, count in REGISTERS.items()
        ]
        size = element_bytes(data)
        batch = batch_of(assembler, lines, random, size)
        for count, before, after in zip(REGISTERS.values(), batch.input, batch.run(probe), strict=True):
            assert not after["faulted"], after["fault"]
            for lane in range(LANES):
                expected = [0] * 4
                if lane < 48:
                    raw = components(data, before["memory"][lane * size : (lane + 1) * size].tobytes())
                    for i, (part, width) in enumerate(zip(raw, widths(data), strict=True)):
                        expected[i] = register_bits(part, width, number, half)
                got = loaded(after["vgpr"], lane, count, half)
                compare = same if number not in ("UINT", "SINT") else lambda a, b, _: a == b
                assert all(compare(a, b, half) for a, b in zip(got, expected[:count], strict=True)), (data, number, lane)
            untouched = 8 + ((count + 1) // 2 if half else count)
            np.testing.assert_array_equal(after["vgpr"][untouched:], before["vgpr"][untouched:])
            if half and count % 2:
                np.testing.assert_array_equal(after["vgpr"][untouched - 1] >> 16, before["vgpr"][untouched - 1] >> 16)


@pytest.mark.parametrize(
    ("data", "number"), [("8_8_8_8", "UNORM"), ("16_16", "SINT"), ("32", "FLOAT"), ("2_10_10_10", "SNORM")]
)
def test_loads_by_the_buffers_format(assembler, probe, random, data: str, number: str) -> None:
    """The descriptor selects the source of each component: 0, 1, or X, Y, Z, W."""
    size, fields = element_bytes(data), widths(data)
    sources = [0, 1, *(4 + i for i in range(len(fields)))]
    batch = batch_of(assembler, ["buffer_load_format_xyzw v[8:11], v2, s[4:7], 0 idxen"] * 20, random, size)
    chosen = random.choice(sources, (20, 4))
    batch.input["sgpr"][:, 7] = chosen @ [1, 8, 64, 512] | NUMBERS[number] << 12 | DATA[data] << 15
    one = 1 if number == "SINT" else 0x3F800000
    for picks, before, after in zip(chosen, batch.input, batch.run(probe), strict=True):
        assert not after["faulted"], after["fault"]
        for lane in range(48):
            raw = components(data, before["memory"][lane * size : (lane + 1) * size].tobytes())
            values = [register_bits(part, width, number, False) for part, width in zip(raw, fields, strict=True)]
            expected = [0 if pick == 0 else one if pick == 1 else values[pick - 4] for pick in picks]
            assert [int(x) for x in after["vgpr"][8:12, lane]] == expected, (picks, lane)


def draw_registers(random: np.random.Generator, number: str, half: bool) -> np.ndarray:
    """Random register bits [4, lane], of about the magnitude that the formats can hold."""
    if number in ("UINT", "SINT"):
        small = random.integers(-600, 600, (4, LANES))
        return np.where(random.random((4, LANES)) < 0.5, small, random.integers(-(2**31), 2**31, (4, LANES))) & (
            0xFFFF if half else 0xFFFFFFFF
        )
    scale = {"UNORM": 1.0, "SNORM": 1.2, "FLOAT": 100.0}.get(number, 700.0)
    numbers = random.standard_normal((4, LANES)) * scale
    if half:
        return numbers.astype(np.float16).view(np.uint16).astype(np.int64)
    return numbers.astype(np.float32).view(np.uint32).astype(np.int64)


def number_in(bits: int, number: str, half: bool) -> float | int:
    if number in ("UINT", "SINT"):
        return signed(bits, 16 if half else 32) if number == "SINT" else bits
    return float(np.uint16(bits).view(np.float16)) if half else float(np.uint32(bits).view(np.float32))


def stored(bits: int, width: int, number: str, half: bool) -> int:
    value = number_in(bits, number, half)
    most, mask = (1 << (width - 1)) - 1, (1 << width) - 1
    match number:
        case "UNORM":
            return round(Fraction(min(max(value, 0.0), 1.0)) * mask)
        case "SNORM":
            return round(Fraction(min(max(value, -1.0), 1.0)) * most) & mask
        case "USCALED":
            return int(min(max(value, 0), mask))
        case "SSCALED" | "SINT":
            return int(min(max(value, -most - 1), most)) & mask
        case "UINT":
            return min(value, mask)
    if width == 32:
        return int(np.float32(value).view(np.uint32))
    if width == 16:
        return int(np.float16(value).view(np.uint16))
    # Unsigned floats are truncated: the largest one that is not above the value.
    return max((raw for raw in range(0x1F << (width - 5)) if float_value(raw, width) <= max(value, 0.0)), default=0)


@pytest.mark.parametrize("half", every(2, [True, False]))
def test_stores_by_the_instructions_format(assembler, probe, random, half: bool) -> None:
    for data, number in FORMATS:
        count = len(widths(data))
        name = list(REGISTERS)[count - 1]
        line = (
            f"tbuffer_store_format_{'d16_' * half}{name} {range_of(count, half)}, v2, s[4:7], 0 "
            f"format:[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{number}] idxen"
        )
        size = element_bytes(data)
        batch = batch_of(assembler, [line], random, size)
        drawn = draw_registers(random, number, half)
        words = [drawn[0] | drawn[1] << 16, drawn[2] | drawn[3] << 16] if half else list(drawn)
        batch.input["vgpr"][0, 8 : 8 + len(words)] = words
        after = batch.run(probe)[0]
        assert not after["faulted"], after["fault"]
        memory = batch.input["memory"][0].copy()
        for lane in range(48):
            word, at = 0, 0
            for bits, width in zip(drawn[:, lane], widths(data), strict=False):
                word |= stored(int(bits), width, number, half) << at
                at += width
            memory[lane * size : (lane + 1) * size] = np.frombuffer(word.to_bytes(size, "little"), np.uint8)
        np.testing.assert_array_equal(after["memory"], memory, f"{data} {number}")


def test_upper_halves_and_formats_that_do_not_exist(assembler, probe, random) -> None:
    lines = ["buffer_load_format_d16_hi_x v8, v2, s[4:7], 0 idxen", "buffer_store_format_d16_hi_x v8, v2, s[4:7], 0 idxen"]
    batch = batch_of(assembler, [*lines, lines[0], lines[0]], random, 4)
    batch.input["sgpr"][:, 7] = [4 | 4 << 12 | 4 << 15, 4 | 4 << 12 | 4 << 15, 4 | 6 << 12 | 4 << 15, 0]
    load, store, reserved, none = batch.run(probe)
    before = batch.input
    low = before["memory"][0].view("<u4")[:48] & 0xFFFF
    np.testing.assert_array_equal(load["vgpr"][8, :48], before["vgpr"][0, 8, :48] & 0xFFFF | low << 16)
    upper = before["vgpr"][1, 8, :48] >> 16
    np.testing.assert_array_equal(store["memory"].view("<u4")[:48], upper)
    assert reserved["faulted"] and b"does not exist" in reserved["fault"]
    np.testing.assert_array_equal(none["vgpr"][8], before["vgpr"][3, 8] & 0xFFFF)
