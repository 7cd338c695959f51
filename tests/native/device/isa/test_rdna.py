"""What gfx1030 has and gfx9 does not: waves of 32 lanes with masks of one register, and additional instructions."""

from __future__ import annotations

from collections.abc import Callable
from wave import EXEC, LANES, Batch, lanes_of

import numpy as np
import pytest

LANE, HALF, WAVES = np.arange(LANES), 32, 8
LANES_OF_WAVE = {32: LANE < HALF, 64: LANE < LANES}
VCC, EXEC_HI, M0 = 106, 127, 124


@pytest.fixture
def run(rdna_assembler, probe, random) -> Callable:
    """run("v_mov_b32 v2, v0", 32, s2=7): (before, after, enabled lanes) of random states; the first wave has all its lanes."""

    def on_waves(text: str, wave: int = 32, **scalars: int):
        batch = Batch(rdna_assembler.assemble([text]), WAVES, vgprs=12)
        batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
        batch.input["sgpr"] = random.integers(0, 2**32, batch.input["sgpr"].shape)
        batch.input["sgpr"][0, EXEC : EXEC + 2] = 2**32 - 1
        batch.input["sgpr"][1, EXEC] = 0
        for name, value in scalars.items():
            batch.input["sgpr"][:, M0 if name == "m0" else int(name[1:])] = value
        after = batch.run(probe, "run-wave32" if wave == 32 else "run", "gfx1030")
        assert not after["faulted"].any(), after["fault"]
        masks = batch.input["sgpr"][:, EXEC].astype(np.uint64) | batch.input["sgpr"][:, EXEC + 1].astype(
            np.uint64
        ) << np.uint64(32)
        return [
            (before, one, lanes_of(int(mask)) & LANES_OF_WAVE[wave])
            for before, one, mask in zip(batch.input, after, masks, strict=True)
        ]

    return on_waves


def word(lanes: np.ndarray) -> int:
    """The mask of a wave of 32 lanes."""
    return int(np.sum(lanes[:HALF].astype(np.uint64) << np.arange(HALF, dtype=np.uint64)))


def of_mask(register: int) -> np.ndarray:
    return np.pad(lanes_of(int(register))[:HALF], (0, HALF))


def chosen(enabled: np.ndarray, result: np.ndarray, before: np.ndarray) -> np.ndarray:
    return np.where(enabled, result, before)


def test_a_mask_of_32_lanes_is_one_register(run):
    for before, after, enabled in run(
        "v_cmp_gt_u32_e64 s4, v0, v1\nv_add_co_u32 v2, s6, v0, v1\nv_cmp_lt_u32_e32 vcc_lo, v0, v1"
    ):
        a, b = (before["vgpr"][i].astype(np.uint64) for i in (0, 1))
        masks = {4: a > b, 6: a + b >= 2**32, VCC: a < b}
        for register, lanes in masks.items():
            assert after["sgpr"][register] == word(lanes & enabled)
            assert after["sgpr"][register + 1] == before["sgpr"][register + 1]
        assert np.array_equal(after["vgpr"][2], chosen(enabled, (a + b).astype(np.uint32), before["vgpr"][2]))


def test_masks_are_read_from_one_register(run):
    text = "v_cndmask_b32_e64 v2, v0, v1, s4\nv_add_co_ci_u32_e64 v3, null, v0, v1, s5\nv_cndmask_b32_e32 v4, v0, v1, vcc_lo"
    for before, after, enabled in run(text):
        a, b = before["vgpr"][0], before["vgpr"][1]
        assert np.array_equal(after["vgpr"][2], chosen(enabled, np.where(of_mask(before["sgpr"][4]), b, a), before["vgpr"][2]))
        assert np.array_equal(after["vgpr"][3], chosen(enabled, a + b + of_mask(before["sgpr"][5]), before["vgpr"][3]))
        assert np.array_equal(
            after["vgpr"][4], chosen(enabled, np.where(of_mask(before["sgpr"][VCC]), b, a), before["vgpr"][4])
        )
        assert np.array_equal(after["sgpr"], before["sgpr"])  # a write to null is discarded


SAVED = {
    "and": lambda s, e: s & e, "or": lambda s, e: s | e, "xor": lambda s, e: s ^ e, "nand": lambda s, e: ~(s & e),
    "nor": lambda s, e: ~(s | e), "xnor": lambda s, e: ~(s ^ e), "andn2": lambda s, e: s & ~e, "orn2": lambda s, e: s | ~e,
    "andn1": lambda s, e: ~s & e, "orn1": lambda s, e: ~s | e,
}  # fmt: skip


@pytest.mark.parametrize("name", SAVED)
def test_exec_of_32_lanes_is_saved_and_changed(run, name):
    for before, after, _ in run(f"s_{name}_saveexec_b32 s4, s6"):
        old, source = (int(before["sgpr"][i]) for i in (EXEC, 6))
        expected = SAVED[name](source, old) & 0xFFFFFFFF
        assert (after["sgpr"][4], after["sgpr"][EXEC], after["scc"]) == (old, expected, expected != 0)
        assert after["sgpr"][5] == before["sgpr"][5]


def test_the_upper_half_of_exec_and_vcc_has_no_effect(run):
    """It affects neither which of 32 lanes are written, nor whether a branch on VCCZ or EXECZ is taken."""
    text = (
        "s_mov_b32 s4, 0\ns_cbranch_execnz 1\ns_or_b32 s4, s4, 1\ns_mov_b32 vcc_lo, 0\ns_cbranch_vccnz 1\ns_or_b32 s4, s4, 2\n"
        "s_mov_b32 exec_hi, -1\nv_mov_b32 v2, v0"
    )
    for before, after, enabled in run(text):
        assert after["sgpr"][4] == 2 + (not enabled.any())
        assert np.array_equal(after["vgpr"][2], chosen(enabled, before["vgpr"][0], before["vgpr"][2]))


@pytest.mark.parametrize("wave", [32, 64])
def test_comparisons_for_exec_write_nothing_else(run, wave):
    for before, after, enabled in run("v_cmpx_lt_u32_e32 v0, v1", wave):
        left = enabled & (before["vgpr"][0] < before["vgpr"][1])
        assert after["sgpr"][EXEC] == word(left)
        if wave == 64:
            assert after["sgpr"][EXEC_HI] == word(np.roll(left, HALF))
        assert np.array_equal(after["sgpr"][:EXEC], before["sgpr"][:EXEC])


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("lane", [0, 31, 37, 63, 101])
def test_lane_numbers_are_those_of_the_wave(run, wave, lane):
    for before, after, _ in run("v_readlane_b32 s4, v0, s2\nv_writelane_b32 v1, s3, s2", wave, s2=lane):
        assert after["sgpr"][4] == before["vgpr"][0, lane % wave]
        assert np.array_equal(after["vgpr"][1], np.where(LANE == lane % wave, before["sgpr"][3], before["vgpr"][1]))


ROW, IN_ROW = LANE & ~15, LANE & 15
CONTROLS = {
    "row_share:5": ROW | 5, "row_xmask:9": ROW | (IN_ROW ^ 9), "row_ror:3": ROW | (IN_ROW - 3) % 16,
    "quad_perm:[3,0,1,2]": LANE & ~3 | np.array([3, 0, 1, 2])[LANE & 3], "row_half_mirror": LANE ^ 7,
    "dpp8:[7,0,3,1,2,6,5,4]": LANE & ~7 | np.array([7, 0, 3, 1, 2, 6, 5, 4])[LANE & 7],
}  # fmt: skip


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("fetches_inactive", [False, True])
@pytest.mark.parametrize("control", CONTROLS)
def test_permutations_within_rows(run, control, fetches_inactive, wave):
    of_eight = control.startswith("dpp8")
    masks = "" if of_eight else " row_mask:0xf bank_mask:0xf bound_ctrl:1"
    inactive = " fi:1" if fetches_inactive else ""
    for before, after, enabled in run(f"v_mov_b32_dpp v2, v0 {control}{masks}{inactive}", wave):
        source = CONTROLS[control]
        read = np.where(enabled[source] | fetches_inactive, before["vgpr"][0][source], 0)
        assert np.array_equal(after["vgpr"][2], chosen(enabled, read, before["vgpr"][2]))


@pytest.mark.parametrize("wave", [32, 64])
@pytest.mark.parametrize("selects", ["", " op_sel:[1,0]", " op_sel:[0,1]"])
@pytest.mark.parametrize("name, other", [("v_permlane16_b32", 0), ("v_permlanex16_b32", 16)])
def test_permutations_by_scalar_selectors(run, name, other, selects, wave):
    for before, after, enabled in run(f"{name} v2, v0, s4, s5{selects}", wave):
        nibbles = int(before["sgpr"][4]) | int(before["sgpr"][5]) << 32
        source = np.array([(row ^ other) | nibbles >> 4 * int(lane) & 15 for row, lane in zip(ROW, IN_ROW, strict=True)])
        read = enabled[source] | (selects == " op_sel:[1,0]")
        written = enabled & (read | (selects == " op_sel:[0,1]"))
        expected = np.where(written, np.where(read, before["vgpr"][0][source], 0), before["vgpr"][2])
        assert np.array_equal(after["vgpr"][2], expected)


@pytest.mark.parametrize("wave", [32, 64])
def test_permutes_stay_within_halves_of_a_wave(run, wave):
    for before, after, enabled in run("ds_bpermute_b32 v2, v1, v0\nds_permute_b32 v3, v1, v0", wave):
        other = LANE & HALF | before["vgpr"][1] // 4 % HALF
        assert np.array_equal(
            after["vgpr"][2], chosen(enabled, np.where(enabled[other], before["vgpr"][0][other], 0), before["vgpr"][2])
        )
        forward = np.zeros(LANES, np.uint32)
        for lane in LANE[enabled]:
            forward[other[lane]] = before["vgpr"][0, lane]
        assert np.array_equal(after["vgpr"][3], chosen(enabled, forward, before["vgpr"][3]))


def test_the_other_half_of_a_register_is_kept(run):
    text = "v_add_nc_u16 v2, v0, v1\nv_mul_f16 v3, 0, 0\nds_write_b32 v4, v0\nds_read_u16_d16 v5, v4\nds_read_u16_d16_hi v6, v4"
    for before, after, enabled in run(f"v_mov_b32 v4, 0\n{text}"):
        upper = before["vgpr"][2] & 0xFFFF0000
        assert np.array_equal(
            after["vgpr"][2], chosen(enabled, upper | (before["vgpr"][0] + before["vgpr"][1]) & 0xFFFF, before["vgpr"][2])
        )
        assert np.array_equal(after["vgpr"][3], chosen(enabled, before["vgpr"][3] & 0xFFFF0000, before["vgpr"][3]))
        assert np.array_equal(after["vgpr"][5][enabled] >> 16, before["vgpr"][5][enabled] >> 16)
        assert np.array_equal(after["vgpr"][6][enabled] & 0xFFFF, before["vgpr"][6][enabled] & 0xFFFF)


MOVES = {
    "v_movrels_b32 v2, v0": (2, 3), "v_movreld_b32 v2, v0": (5, 0), "v_movrelsd_b32 v2, v0": (5, 3),
}  # fmt: skip


@pytest.mark.parametrize("text", MOVES)
def test_moves_relative_to_m0(run, text):
    to, source = MOVES[text]
    for before, after, enabled in run(text, m0=3):
        expected = before["vgpr"].copy()
        expected[to] = chosen(enabled, before["vgpr"][source], before["vgpr"][to])
        assert np.array_equal(after["vgpr"], expected)


def test_moves_with_an_index_for_each_register(run):
    for before, after, enabled in run("v_movrelsd_2_b32 v2, v0\nv_swaprel_b32 v3, v1", m0=4 | 3 << 16):
        expected = before["vgpr"].copy()
        expected[5] = chosen(enabled, before["vgpr"][4], before["vgpr"][5])
        expected[6], expected[5] = chosen(enabled, expected[5], expected[6]), chosen(enabled, before["vgpr"][6], expected[5])
        assert np.array_equal(after["vgpr"], expected)


def test_literals_three_operands_and_modes(run):
    text = (
        "v_xor3_b32 v2, v0, v1, 0x12345678\ns_round_mode 0x5\ns_denorm_mode 0xa\ns_waitcnt_vscnt null, 0x0\ns_inst_prefetch 0x3"
    )
    for before, after, enabled in run(text):
        result = before["vgpr"][0] ^ before["vgpr"][1] ^ np.uint32(0x12345678)
        assert np.array_equal(after["vgpr"][2], chosen(enabled, result, before["vgpr"][2]))
        assert after["mode"] & 0xFF == 0xA5


def test_flat_scratch_is_a_pair_of_hardware_registers(run):
    text = "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s2\ns_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s3\n" + (
        "s_getreg_b32 s4, hwreg(HW_REG_FLAT_SCR_LO)\ns_getreg_b32 s5, hwreg(HW_REG_FLAT_SCR_HI)"
    )
    for before, after, _ in run(text):
        assert np.array_equal(after["sgpr"][4:6], before["sgpr"][2:4])
        assert np.array_equal(after["sgpr"][102:106], before["sgpr"][102:106])  # these are others
