"""Registers named by an index: s_set_gpr_idx_* for vector registers, s_movrel* for scalar ones."""

from __future__ import annotations

from wave import EXEC, M0, Batch, lanes_of, scalar64, set_scalar64

import numpy as np
import pytest

VGPRS = 32
MODE_INDEXED = 1 << 27
SOURCE0, SOURCE1, SOURCE2, DESTINATION = 1, 2, 4, 8


def run(assembler, probe, random, text: str, **registers: int) -> tuple[np.void, np.void]:
    batch = Batch(assembler.assemble([text]), 1, vgprs=VGPRS)
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
    batch.input["sgpr"][:, :100] = random.integers(0, 2**32, 100)
    set_scalar64(batch.input, EXEC, random.integers(1, 2**64, 1, np.uint64))
    for name, value in registers.items():
        batch.input["sgpr"][0, M0 if name == "m0" else int(name[1:])] = value
    return batch.input[0], batch.run(probe)[0]


def add3(state: np.void, registers: tuple[int, int, int]) -> np.ndarray:
    return sum(state["vgpr"][r].astype(np.uint64) for r in registers).astype(np.uint32)


@pytest.mark.parametrize("enables", range(16))
def test_each_enable_moves_its_own_operand(assembler, probe, random, enables: int) -> None:
    index = 7
    text = f"s_set_gpr_idx_on s2, {enables:#x}\nv_add3_u32 v3, v4, v5, v6\ns_set_gpr_idx_off\nv_mov_b32_e32 v8, v9"
    before, after = run(assembler, probe, random, text, s2=0xABCD_EF00 | index, m0=0x1234_0FFF)
    assert not after["faulted"], after["fault"]
    enabled = lanes_of(int(scalar64(before, EXEC)))
    sources = tuple(4 + i + (index if enables >> i & 1 else 0) for i in range(3))
    expected = before["vgpr"].copy()
    destination = 3 + (index if enables & DESTINATION else 0)
    expected[destination] = np.where(enabled, add3(before, sources), before["vgpr"][destination])
    expected[8] = np.where(enabled, expected[9], expected[8])  # the mode is off again
    np.testing.assert_array_equal(after["vgpr"], expected)
    assert after["mode"] & MODE_INDEXED == 0
    assert after["sgpr"][M0] == 0x1234_0F00 | enables << 12 | index, "other bits of m0 stay"


def test_index_and_enables_change_while_the_mode_is_on(assembler, probe, random) -> None:
    text = """s_set_gpr_idx_on 2, gpr_idx(SRC0)
        v_mov_b32_e32 v0, v10
        s_set_gpr_idx_idx s3
        v_mov_b32_e32 v1, v10
        s_set_gpr_idx_mode gpr_idx(DST)
        v_mov_b32_e32 v2, v10
        s_mov_b32 m0, 0x1001
        v_mov_b32_e32 v4, v10
        s_mov_b32 s9, s3
        s_set_gpr_idx_off"""
    before, after = run(assembler, probe, random, text, s3=5)
    enabled = lanes_of(int(scalar64(before, EXEC)))
    for destination, source in ((0, 12), (1, 15), (7, 10), (4, 11)):
        np.testing.assert_array_equal(after["vgpr"][destination][enabled], before["vgpr"][source][enabled])
    assert after["sgpr"][9] == 5, "scalar instructions are not indexed"


def test_pairs_constants_and_accumulating_instructions(assembler, probe, random) -> None:
    text = """s_set_gpr_idx_on 4, gpr_idx(SRC0,DST)
        v_lshlrev_b64 v[0:1], 0, v[8:9]
        v_mov_b64_e32 v[2:3], v[12:13]
        v_fmac_f32_e32 v10, 1.0, v11
        s_set_gpr_idx_off"""
    batch_values = np.float32(random.standard_normal((VGPRS, 64)))
    batch = Batch(assembler.assemble([text]), 1, vgprs=VGPRS)
    batch.input["vgpr"][0] = batch_values.view(np.uint32)
    before, after = batch.input[0], batch.run(probe)[0]
    assert not after["faulted"], after["fault"]
    np.testing.assert_array_equal(after["vgpr"][4:6], before["vgpr"][8:10])
    np.testing.assert_array_equal(after["vgpr"][6:8], before["vgpr"][16:18])
    total = (batch_values[11].astype(np.float64) + batch_values[14]).astype(np.float32)
    np.testing.assert_array_equal(after["vgpr"][14].view(np.float32), total)


def test_an_index_beyond_the_registers_is_refused(assembler, probe, random) -> None:
    # The probe gives 512 registers of each kind.
    text = "s_set_gpr_idx_on s2, gpr_idx(SRC0)\nv_mov_b32_e32 v0, v255\nv_mov_b64_e32 v[0:1], v[254:255]\ns_set_gpr_idx_off"
    _, after = run(assembler, probe, random, text, s2=255)
    assert not after["faulted"]
    text = "s_mov_b32 s4, 9\ns_movrels_b32 s0, s90\ns_movrels_b32 s1, s100"
    _, after = run(assembler, probe, random, text, m0=2)
    assert after["faulted"] and "s_movrels_b32 s1" in after["fault"].decode()


def test_scalar_moves(assembler, probe, random) -> None:
    text = "s_movrels_b32 s40, s10\ns_movrels_b64 s[42:43], s[12:13]\ns_movreld_b32 s44, s14\ns_movreld_b64 s[46:47], s[16:17]"
    before, after = run(assembler, probe, random, text, m0=6)
    expected = before["sgpr"].copy()
    expected[40] = before["sgpr"][16]
    expected[42:44] = before["sgpr"][18:20]
    expected[50] = before["sgpr"][14]
    expected[52:54] = before["sgpr"][16:18]
    np.testing.assert_array_equal(after["sgpr"], expected)
