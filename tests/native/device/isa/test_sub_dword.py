"""SDWA: parts of registers as operands and results; op_sel of 16-bit instructions."""

from __future__ import annotations

import itertools
from wave import EXEC, LANES, VCC, Batch, lanes_of, scalar64, set_scalar64

import numpy as np
import pytest
from sub_dword import SELECTS, placed, selected

OPERATIONS = {
    "v_add_u32": lambda a, b: a + b & 0xFFFFFFFF,
    "v_sub_u32": lambda a, b: a - b & 0xFFFFFFFF,
    "v_and_b32": lambda a, b: a & b,
    "v_lshlrev_b32": lambda a, b: b << (a & 31) & 0xFFFFFFFF,
    "v_mul_u32_u24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) & 0xFFFFFFFF,
    "v_max_u16": lambda a, b: np.maximum(a & 0xFFFF, b & 0xFFFF),
    "v_add_u16": lambda a, b: a + b & 0xFFFF,
}


def run_all(assembler, probe, random, lines: list[str], draw=None):
    code = assembler.assemble(lines)
    batch = Batch(code, len(lines))
    batch.input["entry"] = code.entry
    batch.input["vgpr"] = (
        random.integers(0, 2**32, batch.input["vgpr"].shape) if draw is None else draw(batch.input["vgpr"].shape)
    )
    set_scalar64(batch.input, EXEC, random.integers(0, 2**64 - 1, len(lines), np.uint64))
    for line, before, after in zip(lines, batch.input, batch.run(probe), strict=True):
        assert not after["faulted"], (line, after["fault"])
        yield before["vgpr"].astype(np.int64), after, lanes_of(int(scalar64(before, EXEC)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_integer_selection(assembler, probe, random, name):
    forms = [
        (*selects, signed, unused)
        for selects in itertools.product(SELECTS, SELECTS, SELECTS)
        for signed, unused in [("", "UNUSED_PAD"), ("ab", "UNUSED_PRESERVE"), ("a", "UNUSED_SEXT")]
    ]
    forms = [forms[i] for i in random.choice(len(forms), 150, replace=False)]
    lines = []
    for to, first, second, signed, unused in forms:
        a, b = ("sext(v0)" if "a" in signed else "v0"), ("sext(v1)" if "b" in signed else "v1")
        lines.append(f"{name}_sdwa v2, {a}, {b} dst_sel:{to} dst_unused:{unused} src0_sel:{first} src1_sel:{second}")
    for (to, first, second, signed, unused), (before, after, enabled) in zip(
        forms, run_all(assembler, probe, random, lines), strict=True
    ):
        a, b = selected(before[0], first, "a" in signed), selected(before[1], second, "b" in signed)
        result = OPERATIONS[name](a, b)
        expected = placed(result, before[2], to, unused) if to != "DWORD" else result
        assert np.array_equal(after["vgpr"][2], np.where(enabled, expected, before[2])), (to, first, second, signed, unused)


def halves(shape, random) -> np.ndarray:
    return random.standard_normal((*shape, 2)).astype(np.float16).view(np.uint32).reshape(shape)


@pytest.mark.parametrize("modifier", ["", "-", "|", "-|"])
def test_half_selection(assembler, probe, random, modifier):
    """neg and abs act on the selected half."""
    first = {"": "v0", "-": "-v0", "|": "|v0|", "-|": "-|v0|"}[modifier]
    forms = list(itertools.product(["WORD_0", "WORD_1"], ["WORD_0", "WORD_1"], ["WORD_0", "WORD_1"]))
    lines = [
        f"v_add_f16_sdwa v2, {first}, v1 dst_sel:{d} dst_unused:UNUSED_PRESERVE src0_sel:{s} src1_sel:{t}" for d, s, t in forms
    ]
    states = run_all(assembler, probe, random, lines, lambda shape: halves(shape, random))
    for (to, one, other), (before, after, enabled) in zip(forms, states, strict=True):
        a = selected(before[0], one, False).astype(np.uint16).view(np.float16)
        b = selected(before[1], other, False).astype(np.uint16).view(np.float16)
        a = np.abs(a) if "|" in modifier else a
        a = -a if "-" in modifier else a
        expected = placed((a + b).view(np.uint16).astype(np.int64), before[2], to, "UNUSED_PRESERVE")
        assert np.array_equal(after["vgpr"][2], np.where(enabled, expected, before[2]))


def test_selection_in_compares_and_carries(assembler, probe, random):
    lines = ["v_cmp_gt_u32_sdwa s[4:5], v0, v1 src0_sel:BYTE_2 src1_sel:BYTE_0",
             "v_cmp_lt_i16_sdwa vcc, sext(v0), v1 src0_sel:BYTE_1 src1_sel:WORD_1",
             "v_add_co_u32_sdwa v2, vcc, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src1_sel:WORD_1"]  # fmt: skip
    (greater, less, carry) = run_all(assembler, probe, random, lines)
    before, after, enabled = greater
    assert np.array_equal(lanes_of(int(scalar64(after, 4))), enabled & ((before[0] >> 16 & 255) > (before[1] & 255)))
    before, after, enabled = less
    expected = selected(before[0], "BYTE_1", True).astype(np.uint16).view(np.int16) < (before[1] >> 16).astype(np.uint16).view(
        np.int16
    )
    assert np.array_equal(lanes_of(int(scalar64(after, VCC))), enabled & expected)
    before, after, enabled = carry
    assert np.array_equal(lanes_of(int(scalar64(after, VCC))), enabled & (before[0] + (before[1] >> 16) > 0xFFFFFFFF))


OP_SEL = {
    "v_mad_u16": lambda a, b, c: a * b + c,
    "v_max3_i16": lambda a, b, c: np.maximum(
        np.maximum(*(x.astype(np.uint16).view(np.int16) for x in (a, b))), c.astype(np.uint16).view(np.int16)
    ).astype(np.int64),
    "v_med3_u16": lambda a, b, c: np.median(np.stack([a, b, c]), axis=0).astype(np.int64),
}


@pytest.mark.parametrize("name", OP_SEL)
def test_half_select_bits(assembler, probe, random, name):
    """op_sel selects the upper half of operands and of the result; the other half of the result is kept."""
    forms = list(itertools.product((0, 1), repeat=4))
    lines = [f"{name} v3, v0, v1, v2 op_sel:[{','.join(map(str, form))}]" for form in forms]
    for form, (before, after, enabled) in zip(forms, run_all(assembler, probe, random, lines), strict=True):
        result = OP_SEL[name](*(before[i] >> (16 * form[i]) & 0xFFFF for i in range(3))) & 0xFFFF
        expected = before[3] & 0xFFFF | result << 16 if form[3] else before[3] & 0xFFFF0000 | result
        assert np.array_equal(after["vgpr"][3], np.where(enabled, expected, before[3])), form
    assert LANES == 64
