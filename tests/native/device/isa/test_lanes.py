"""Cross-lane instructions and DPP."""

from __future__ import annotations

from wave import ALL_LANES, EXEC, Batch, lanes_of, scalar64, set_scalar64

import numpy as np
import pytest
from dpp import CONTROLS, IN_ROW, LANE, ROW


def run(assembler, probe, random, line: str, waves: int = 6, **scalars: int):
    """(before, after, enabled lanes) of random states; the first wave has all lanes enabled, the second none."""
    batch = Batch(assembler.assemble([line]), waves, vgprs=24)
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
    exec_mask = random.integers(0, ALL_LANES, waves, np.uint64, endpoint=True)
    exec_mask[:2] = ALL_LANES, 0
    set_scalar64(batch.input, EXEC, exec_mask)
    for name, value in scalars.items():
        batch.input["sgpr"][:, int(name[1:])] = value
    after = batch.run(probe)
    assert not after["faulted"].any(), after["fault"]
    return [(b, a, lanes_of(int(m))) for b, a, m in zip(batch.input, after, exec_mask, strict=True)]


@pytest.mark.parametrize("lane", [0, 31, 63, 64 + 5])
def test_read_and_write_lane_ignore_exec(assembler, probe, random, lane):
    for before, after, _ in run(
        assembler, probe, random, "v_readlane_b32 s4, v0, s2\ns_mov_b32 m0, s2\nv_writelane_b32 v1, s3, m0", s2=lane, s3=0xCAFE
    ):
        assert after["sgpr"][4] == before["vgpr"][0, lane % 64]
        assert np.array_equal(after["vgpr"][1], np.where(LANE == lane % 64, 0xCAFE, before["vgpr"][1]))


def test_read_first_lane(assembler, probe, random):
    for before, after, enabled in run(assembler, probe, random, "v_readfirstlane_b32 s4, v0"):
        first = int(np.argmax(enabled)) if enabled.any() else 0  # lane 0 if none is enabled
        assert after["sgpr"][4] == before["vgpr"][0, first]


def test_swap(assembler, probe, random):
    for before, after, enabled in run(assembler, probe, random, "v_swap_b32 v0, v1"):
        assert np.array_equal(after["vgpr"][0], np.where(enabled, before["vgpr"][1], before["vgpr"][0]))
        assert np.array_equal(after["vgpr"][1], np.where(enabled, before["vgpr"][0], before["vgpr"][1]))


def test_lane_number_from_bit_counts(assembler, probe, random):
    for before, after, enabled in run(assembler, probe, random, "v_mbcnt_lo_u32_b32 v2, -1, 0\nv_mbcnt_hi_u32_b32 v2, -1, v2"):
        assert np.array_equal(after["vgpr"][2], np.where(enabled, LANE, before["vgpr"][2]))


def test_compares_clear_disabled_lanes(assembler, probe, random):
    for before, after, enabled in run(
        assembler, probe, random, "v_cmp_ge_u32_e64 s[4:5], v0, v0\nv_cmpx_gt_u32_e32 vcc, v0, v1"
    ):
        assert np.array_equal(lanes_of(int(scalar64(after, 4))), enabled)
        assert np.array_equal(lanes_of(int(scalar64(after, EXEC))), enabled & (before["vgpr"][0] > before["vgpr"][1]))


def test_accumulation_registers_are_separate_registers(assembler, probe, random):
    batch = Batch(
        assembler.assemble(["v_accvgpr_write_b32 a1, v1\nv_accvgpr_read_b32 v2, a0\nv_accvgpr_mov_b32 a2, a0"]), 1, agprs=4
    )
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
    batch.input["agpr"] = random.integers(0, 2**32, batch.input["agpr"].shape)
    set_scalar64(batch.input, EXEC, 0xFF)
    before, after = batch.input[0], batch.run(probe)[0]
    assert np.array_equal(after["agpr"][1, :8], before["vgpr"][1, :8]) and np.array_equal(
        after["agpr"][1, 8:], before["agpr"][1, 8:]
    )
    assert np.array_equal(after["vgpr"][2, :8], before["agpr"][0, :8]) and np.array_equal(
        after["agpr"][2, :8], before["agpr"][0, :8]
    )


# ---- DPP ----

MASKS = ["row_mask:0xf bank_mask:0xf", "row_mask:0xa bank_mask:0xf", "row_mask:0xf bank_mask:0x5", "row_mask:0x3 bank_mask:0x6"]


@pytest.mark.parametrize("control", CONTROLS)
def test_dpp(assembler, probe, random, control):
    """A disabled source lane is out of bounds: the lane keeps its value, or reads 0 if bound_ctrl is set."""
    source = CONTROLS[control]
    forms = [(masks, bound) for masks in MASKS for bound in ("", " bound_ctrl:1")]
    modifiers = [f"{control} {masks}{bound}" for masks, bound in forms]
    lines = [f"v_sub_u32_dpp v{8 + 2 * i}, v0, v1 {m}\nv_mov_b32_dpp v{9 + 2 * i}, v0 {m}" for i, m in enumerate(modifiers)]
    for before, after, enabled in run(assembler, probe, random, "\n".join(lines)):
        for i, (masks, bound) in enumerate(forms):
            rows, banks = (int(word.split(":")[1], 0) for word in masks.split())
            selected = (rows >> LANE // 16 & 1 & banks >> LANE % 16 // 4).astype(bool)
            valid = (source >= 0) & enabled[source]
            read = np.where(valid, before["vgpr"][0][source], 0).astype(np.uint32)
            written = enabled & selected & (valid | bool(bound))
            difference, moved = 8 + 2 * i, 9 + 2 * i
            assert np.array_equal(
                after["vgpr"][difference], np.where(written, read - before["vgpr"][1], before["vgpr"][difference])
            )
            assert np.array_equal(after["vgpr"][moved], np.where(written, read, before["vgpr"][moved]))


def test_a_broadcast_reaches_lanes_without_one_unchanged(assembler, probe):
    """rocWMMA's tests, written for hardware, expect this for both broadcasts, with and without bound_ctrl."""
    lines = [f"v_mov_b32 v2, v1\nv_mov_b32_dpp v2, v0 row_bcast:{last} row_mask:0xf bank_mask:0xf{bound}"
             for last in (15, 31) for bound in ("", " bound_ctrl:1")]  # fmt: skip
    batch = Batch(code := assembler.assemble(lines), len(lines))
    batch.input["entry"] = code.entry
    batch.input["vgpr"][:, 0], batch.input["vgpr"][:, 1] = LANE, 100 + LANE
    after = batch.run(probe)["vgpr"][:, 2]
    assert [row[:16].tolist() for row in after] == [list(range(16))] * 4
    assert [row[32:].tolist() for row in after[2:]] == [[31] * 32] * 2


def test_dpp_into_its_own_source(assembler, probe, random):
    """Reductions shift a register into itself: all lanes must be read before any is written."""
    line = "v_add_u32_dpp v0, v0, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1"
    before, after, _ = run(assembler, probe, random, line)[0]
    shifted = np.where(IN_ROW >= 1, before["vgpr"][0][LANE - 1], 0).astype(np.uint32)
    assert np.array_equal(after["vgpr"][0], shifted + before["vgpr"][0])


def test_dpp_with_float_modifiers(assembler, probe, random):
    before, after, _ = run(assembler, probe, random, "v_add_f32_dpp v2, -|v0|, v1 row_newbcast:3 row_mask:0xf bank_mask:0xf")[0]
    with np.errstate(all="ignore"):
        expected = before["vgpr"][1].view(np.float32) - np.abs(before["vgpr"][0][ROW | 3].view(np.float32))
    assert np.array_equal(after["vgpr"][2].view(np.float32), expected, equal_nan=True)
