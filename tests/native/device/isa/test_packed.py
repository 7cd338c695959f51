"""VOP3P: which halves feed which result, negation, inline constants, mixed precision, dot products."""

from __future__ import annotations

import itertools
from fractions import Fraction
from wave import DEFAULT_MODE, DX10_CLAMP, LANES, Batch

import numpy as np
import pytest
from operands import draw
from pseudocode_values import bits_of_float, bits_of_fraction, float_of
from vector_oracle import clamped

FORMS = list(itertools.product((0, 1), repeat=2))


def bits_text(bits) -> str:
    return "[" + ",".join(map(str, bits)) + "]"


def run(assembler, probe, lines: list[str], vgpr: np.ndarray, mode: int = DEFAULT_MODE, **scalars: int) -> np.ndarray:
    """Results of lines on the same registers [register, lane]."""
    code = assembler.assemble(lines)
    batch = Batch(code, len(lines), vgprs=len(vgpr))
    batch.input["entry"] = code.entry
    batch.input["vgpr"] = vgpr
    batch.input["mode"] = mode
    for name, value in scalars.items():
        batch.input["sgpr"][:, int(name[1:])] = value
    after = batch.run(probe)
    assert not after["faulted"].any(), after["fault"]
    return after["vgpr"]


def half(words: np.ndarray, high: int) -> np.ndarray:
    return (words >> np.uint32(16 * high)).astype(np.uint16)


def finite_halves(random, registers: int) -> np.ndarray:
    return random.standard_normal((registers, LANES, 2)).astype(np.float16).view(np.uint32).reshape(registers, LANES)


@pytest.mark.parametrize(
    ("name", "operation"), [("v_pk_add_f16", np.add), ("v_pk_mul_f16", np.multiply), ("v_pk_max_f16", np.maximum)]
)
def test_half_selection_and_negation(assembler, probe, random, name, operation):
    vgpr = finite_halves(random, 4)
    forms = list(itertools.product(FORMS, FORMS, [(0, 0), (1, 0)], [(0, 0), (0, 1)]))
    lines = [
        f"{name} v2, v0, v1 op_sel:{bits_text(s)} op_sel_hi:{bits_text(h)} neg_lo:{bits_text(nl)} neg_hi:{bits_text(nh)}"
        for s, h, nl, nh in forms
    ]
    for (select, select_high, negate, negate_high), after in zip(forms, run(assembler, probe, lines, vgpr), strict=True):

        def result(select, negate):
            a, b = (half(vgpr[i], select[i]).view(np.float16) * np.float16(-1 if negate[i] else 1) for i in (0, 1))
            return operation(a, b).view(np.uint16).astype(np.uint32)

        expected = result(select, negate) | result(select_high, negate_high) << np.uint32(16)
        assert np.array_equal(after[2], expected), (select, select_high, negate, negate_high)


def test_integer_halves(assembler, probe, random):
    vgpr = draw(random, (4, LANES), 32).astype(np.uint32)
    triples = list(itertools.product((0, 1), repeat=3))
    forms = list(itertools.product(triples, triples))
    lines = [f"v_pk_mad_u16 v3, v0, v1, v2 op_sel:{bits_text(low)} op_sel_hi:{bits_text(high)}" for low, high in forms]
    for (low, high), after in zip(forms, run(assembler, probe, lines, vgpr), strict=True):
        parts = []
        for select in (low, high):
            a, b, c = (half(vgpr[i], select[i]).astype(np.uint32) for i in range(3))
            parts.append((a * b + c) & 0xFFFF)
        assert np.array_equal(after[3], parts[0] | parts[1] << np.uint32(16))


@pytest.mark.parametrize("operation", ["add_u16", "sub_u16", "add_i16", "sub_i16"])
def test_packed_integer_clamp(assembler, probe, random, operation):
    vgpr = draw(random, (4, LANES), 32).astype(np.uint32)
    (after,) = run(assembler, probe, [f"v_pk_{operation} v2, v0, v1 clamp"], vgpr)
    kind = np.int16 if operation.endswith("i16") else np.uint16
    for high in (0, 1):
        a, b = (half(vgpr[i], high).view(kind).astype(np.int64) for i in (0, 1))
        exact = a + b if operation.startswith("add") else a - b
        limited = np.clip(exact, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind).view(np.uint16)
        assert np.array_equal(half(after[2], high), limited)


@pytest.mark.parametrize(("operation", "count"), [("mad_u16", 3), ("mad_i16", 3), ("mul_lo_u16", 2)])
def test_packed_products_are_held_by_clamp(assembler, probe, random, operation, count):
    vgpr = draw(random, (4, LANES), 32).astype(np.uint32)
    sources = ", ".join(["v0", "v1", "v3"][:count])
    (after,) = run(assembler, probe, [f"v_pk_{operation} v2, {sources} clamp"], vgpr)
    kind = np.int16 if operation.endswith("i16") else np.uint16
    for high in (0, 1):
        a, b, c = (half(vgpr[i], high).view(kind).astype(np.int64) for i in (0, 1, 3))
        exact = a * b + (c if count == 3 else 0)
        limited = np.clip(exact, np.iinfo(kind).min, np.iinfo(kind).max).astype(kind).view(np.uint16)
        assert np.array_equal(half(after[2], high), limited)


def test_inline_constant_is_in_the_low_half(assembler, probe, random):
    """With op_sel_hi 0, which is what compilers emit, both results use it."""
    vgpr = finite_halves(random, 4)
    (after,) = run(assembler, probe, ["v_pk_mul_f16 v2, v0, 0.5 op_sel_hi:[1,0]"], vgpr)
    for high in (0, 1):
        assert np.array_equal(half(after[2], high).view(np.float16), half(vgpr[0], high).view(np.float16) * np.float16(0.5))


@pytest.mark.parametrize(("name", "count"), [("v_pk_add_f32", 2), ("v_pk_mul_f32", 2), ("v_pk_fma_f32", 3)])
def test_pairs_of_singles(assembler, probe, random, name, count):
    vgpr = random.standard_normal((8, LANES)).astype(np.float32).view(np.uint32)
    forms = list(itertools.product(itertools.product((0, 1), repeat=count), repeat=2))
    sources = ", ".join(f"v[{2 * i}:{2 * i + 1}]" for i in range(count))
    lines = [f"{name} v[6:7], {sources} op_sel:{bits_text(s)} op_sel_hi:{bits_text(h)}" for s, h in forms]
    for form, after in zip(forms, run(assembler, probe, lines, vgpr), strict=True):
        for part, select in enumerate(form):
            operands = [vgpr[2 * i + select[i]].view(np.float32).astype(np.float64) for i in range(count)]
            # The product of singles is exact in double; two of them cannot make a tie that a third rounding would miss.
            exact = operands[0] + operands[1] if "add" in name else operands[0] * operands[1]
            if count == 3:
                expected = [
                    bits_of_fraction(Fraction(a) * Fraction(b) + Fraction(c), 32) for a, b, c in zip(*operands, strict=True)
                ]
            else:
                expected = exact.astype(np.float32).view(np.uint32).tolist()
            assert after[6 + part].tolist() == expected


@pytest.mark.parametrize("mode", [DEFAULT_MODE, DEFAULT_MODE & ~DX10_CLAMP])
@pytest.mark.parametrize("line", ["v_pk_add_f16 v6, v0, v2", "v_pk_fma_f16 v6, v0, v2, v4"])
def test_packed_halves_are_held_between_zero_and_one(assembler, probe, random, line, mode):
    vgpr = (draw(random, (8, LANES), 16) | draw(random, (8, LANES), 16) << np.uint64(16)).astype(np.uint32)
    plain, held = run(assembler, probe, [line, f"{line} clamp"], vgpr, mode)
    for high in (0, 1):
        assert half(held[6], high).tolist() == held_by_clamp(half(plain[6], high), 16, mode)


@pytest.mark.parametrize("mode", [DEFAULT_MODE, DEFAULT_MODE & ~DX10_CLAMP])
@pytest.mark.parametrize("line", ["v_pk_mul_f32 v[6:7], v[0:1], v[2:3]", "v_pk_fma_f32 v[6:7], v[0:1], v[2:3], v[4:5]"])
def test_pairs_of_singles_are_held_between_zero_and_one(assembler, probe, random, line, mode):
    vgpr = draw(random, (8, LANES), 32).astype(np.uint32)
    plain, held = run(assembler, probe, [line, f"{line} clamp"], vgpr, mode)
    for register in (6, 7):
        assert held[register].tolist() == held_by_clamp(plain[register], 32, mode)


def held_by_clamp(plain: np.ndarray, size: int, mode: int) -> list[int]:
    numbers = [float_of(bits, size) for bits in plain.tolist()]
    assert any(number < 0 for number in numbers) and any(number > 1 for number in numbers)
    assert any(number != number for number in numbers)
    return [clamped(bits, size, mode) for bits in plain.tolist()]


def test_packed_move(assembler, probe, random):
    vgpr = draw(random, (8, LANES), 32).astype(np.uint32)
    lines = [f"v_pk_mov_b32 v[6:7], v[0:1], v[2:3] op_sel:{bits_text(s)}" for s in FORMS]
    for (low, high), after in zip(FORMS, run(assembler, probe, lines, vgpr), strict=True):
        assert np.array_equal(after[6], vgpr[low]) and np.array_equal(after[7], vgpr[2 + high])


@pytest.mark.parametrize("name", ["v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"])
def test_mixed_precision(assembler, probe, random, name):
    """op_sel_hi: the operand is a half; op_sel: the upper one. One rounding to single, then one to half."""
    singles = random.standard_normal((2, LANES)).astype(np.float32).view(np.uint32)
    vgpr = np.concatenate([finite_halves(random, 1), singles, finite_halves(random, 1)])
    forms = [((1, 0, 0), (1, 0, 0)), ((0, 0, 0), (1, 0, 0)), ((0, 0, 0), (0, 0, 0))]
    lines = [f"{name} v3, -v0, v1, |v2| op_sel:{bits_text(s)} op_sel_hi:{bits_text(h)}" for s, h in forms]
    for (select, is_half), after in zip(forms, run(assembler, probe, lines, vgpr), strict=True):
        for lane in range(LANES):
            values = [
                float_of(int(half(vgpr[i], select[i])[lane]), 16) if is_half[i] else float_of(int(vgpr[i][lane]), 32)
                for i in range(3)
            ]
            if not all(np.isfinite(values)):
                continue
            total = bits_of_fraction(-Fraction(values[0]) * Fraction(values[1]) + abs(Fraction(values[2])), 32)
            old, got = int(vgpr[3][lane]), int(after[3][lane])
            rounded = bits_of_float(float_of(total, 32), 16)
            expected = {
                "v_fma_mix_f32": total,
                "v_fma_mixlo_f16": old & 0xFFFF0000 | rounded,
                "v_fma_mixhi_f16": old & 0xFFFF | rounded << 16,
            }
            assert got == expected[name]


def test_a_constant_has_the_bits_of_its_operand(assembler, probe, random):
    """1.0 is 0x3c00 where a half is read (llvm-mc encodes both alike), and 0x3f800000 where a single is read."""
    mixed = [f"v_fma_mix_f32 v3, v0, {one}, v1 op_sel_hi:[1,1,0]" for one in ("1.0", "0x3c00")]
    assert assembler.assemble(mixed[:1]) == assembler.assemble(mixed[1:])
    vgpr = np.concatenate([finite_halves(random, 1), np.zeros((3, LANES), np.uint32)])
    lines = [
        *(f"v_fma_mix_f32 v3, v0, 1.0, v1 op_sel_hi:[1,{is_half},0]" for is_half in (0, 1)),
        "v_fma_mix_f32 v3, v0, -2.0, 1.0 op_sel_hi:[1,1,0]",
        "v_dot2_f32_f16 v3, v0, 1.0, v1",
    ]
    low = half(vgpr[0], 0).astype(np.uint16).view(np.float16).astype(np.float32)
    for expected, after in zip((low, low, 1 - 2 * low, low), run(assembler, probe, lines, vgpr), strict=True):
        assert np.array_equal(after[3].view(np.float32), expected)


def test_dot_of_halves(assembler, probe, random):
    """The order of the roundings is not documented: the result must be exact up to one rounding of each of its three steps."""
    vgpr = finite_halves(random, 4)
    vgpr[2] = random.standard_normal(LANES).astype(np.float32).view(np.uint32)
    (after,) = run(assembler, probe, ["v_dot2_f32_f16 v3, v0, v1, v2"], vgpr)
    a, b = (vgpr[i].view(np.float16).reshape(LANES, 2).astype(np.float64) for i in (0, 1))
    c = vgpr[2].view(np.float32).astype(np.float64)
    exact = (a * b).sum(axis=1) + c
    bound = 3 * 2.0**-24 * ((np.abs(a * b)).sum(axis=1) + np.abs(c))
    assert (np.abs(after[3].view(np.float32) - exact) <= bound).all()
