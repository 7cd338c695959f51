"""Branches, calls, the exec mask, and the wave's own registers."""

from __future__ import annotations

from wave import ALL_LANES, CODE_ADDRESS, DEFAULT_MODE, EXEC, IEEE, LANES, VCC, Batch, scalar64, set_scalar64

import numpy as np
import pytest

BRANCHES = {
    "s_branch": lambda scc, vcc, execute: True,
    "s_cbranch_scc0": lambda scc, vcc, execute: not scc,
    "s_cbranch_scc1": lambda scc, vcc, execute: scc,
    "s_cbranch_vccz": lambda scc, vcc, execute: not vcc,
    "s_cbranch_vccnz": lambda scc, vcc, execute: vcc,
    "s_cbranch_execz": lambda scc, vcc, execute: not execute,
    "s_cbranch_execnz": lambda scc, vcc, execute: execute,
}


def run_one(assembler, probe, text: str, vgprs: int = 8, **registers: int):
    batch = Batch(assembler.assemble([text]), 1, vgprs=vgprs)
    for name, value in registers.items():
        batch.input["sgpr"][0, int(name[1:])] = value
    return batch.run(probe)[0]


@pytest.mark.parametrize("branch", BRANCHES)
def test_branches(assembler, probe, branch):
    code = assembler.assemble([f"{branch} taken\ns_mov_b32 s0, 1\ns_endpgm\ntaken:\ns_mov_b32 s0, 2"])
    batch = Batch(code, 8)
    states = [(scc, vcc, execute) for scc in (0, 1) for vcc in (0, 1 << 40) for execute in (0, 1 << 35)]
    batch.input["scc"] = [s[0] for s in states]
    set_scalar64(batch.input, VCC, [s[1] for s in states])
    set_scalar64(batch.input, EXEC, [s[2] for s in states])
    after = batch.run(probe)
    assert after["sgpr"][:, 0].tolist() == [2 if BRANCHES[branch](*s) else 1 for s in states]


def test_a_loop_runs_as_often_as_it_should(assembler, probe):
    after = run_one(assembler, probe, "s_mov_b32 s0, 0\nloop:\ns_add_u32 s0, s0, 3\ns_cmp_lt_u32 s0, 100\ns_cbranch_scc1 loop")
    assert after["sgpr"][0] == 102 and after["executed"] == 1 + 3 * 34 + 1


def test_calls_and_returns(assembler, probe):
    text = """s_getpc_b64 s[2:3]
        back:
        s_add_u32 s4, s2, callee-back
        s_addc_u32 s5, s3, 0
        s_swappc_b64 s[30:31], s[4:5]
        s_call_b64 s[28:29], other
        s_add_u32 s0, s0, 0x100
        s_endpgm
        callee:
        s_mov_b32 s0, 7
        s_setpc_b64 s[30:31]
        other:
        s_lshl_b32 s0, s0, 1
        s_setpc_b64 s[28:29]"""
    after = run_one(assembler, probe, text)
    assert not after["faulted"], after["fault"]
    assert after["sgpr"][0] == 0x10E
    assert scalar64(after, 2) == CODE_ADDRESS + 4
    assert scalar64(after, 30) == CODE_ADDRESS + 4 + 8 + 4 + 4 + 0  # after s_swappc


def test_divergence_through_saveexec(assembler, probe, random):
    """if (v0 < v1) v2 = 1 else v2 = 2, in the form that compilers emit."""
    text = """v_cmp_lt_u32_e32 vcc, v0, v1
        s_and_saveexec_b64 s[2:3], vcc
        s_xor_b64 s[2:3], exec, s[2:3]
        v_mov_b32 v2, 1
        s_andn2_saveexec_b64 s[4:5], s[2:3]
        s_or_b64 exec, exec, s[4:5]
        s_xor_b64 exec, exec, s[4:5]
        s_mov_b64 exec, s[2:3]
        v_mov_b32 v2, 2"""
    batch = Batch(assembler.assemble([text]), 4)
    batch.input["vgpr"] = random.integers(0, 2**32, batch.input["vgpr"].shape)
    after = batch.run(probe)
    expected = np.where(batch.input["vgpr"][:, 0] < batch.input["vgpr"][:, 1], 1, 2)
    assert np.array_equal(after["vgpr"][:, 2], expected)


def test_a_write_to_half_of_a_mask_counts(assembler, probe):
    after = run_one(assembler, probe, "s_mov_b32 exec_lo, 5\ns_mov_b32 exec_hi, 0\nv_mov_b32 v0, 9\ns_mov_b32 vcc_hi, 1")
    assert np.flatnonzero(after["vgpr"][0] == 9).tolist() == [0, 2]
    assert scalar64(after, VCC) == 1 << 32


def test_state_as_an_operand(assembler, probe):
    text = """s_cmp_eq_u32 s0, s0
        s_mov_b32 s1, src_scc
        s_mov_b64 vcc, 0
        s_mov_b32 s2, src_vccz
        s_mov_b32 s3, src_execz
        s_add_u32 s4, m0, 1"""
    after = run_one(assembler, probe, text, s124=41)
    assert after["sgpr"][1:5].tolist() == [1, 1, 0, 42]


# ---- MODE ----


def test_mode_is_read_and_written_in_fields(assembler, probe):
    text = """s_getreg_b32 s0, hwreg(HW_REG_MODE)
        s_getreg_b32 s1, hwreg(HW_REG_MODE, 4, 4)
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0
        s_getreg_b32 s2, hwreg(HW_REG_MODE, 8, 2)
        s_setreg_b32 hwreg(HW_REG_MODE, 8, 2), s5"""
    after = run_one(assembler, probe, text, s5=0xFFFFFFFE)
    assert after["sgpr"][:3].tolist() == [DEFAULT_MODE, 0xF, 1]
    assert after["mode"] == DEFAULT_MODE & ~(1 << 8) & ~IEEE | 2 << 8


def test_hardware_registers_that_a_lone_wave_can_read(assembler, probe, apertures):
    text = """s_getreg_b32 s0, hwreg(HW_REG_SH_MEM_BASES, 16, 16)
        s_getreg_b32 s1, hwreg(HW_REG_SH_MEM_BASES, 0, 16)
        s_setprio 2
        s_getreg_b32 s2, hwreg(HW_REG_STATUS, 3, 2)
        s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0x155
        s_getreg_b32 s3, hwreg(HW_REG_TRAPSTS)
        s_getreg_b32 s4, hwreg(HW_REG_IB_STS)
        s_getreg_b32 s5, hwreg(HW_REG_XCC_ID)
        s_getreg_b32 s6, hwreg(HW_REG_STATUS, 16, 1)"""
    after = run_one(assembler, probe, text)
    assert not after["faulted"], after["fault"]
    bases = [apertures.shared >> 48, apertures.private >> 48]
    assert after["sgpr"][:7].tolist() == [*bases, 2, 0x155, 0, 0, 1]


@pytest.mark.parametrize("text", ["s_getreg_b32 s0, hwreg(13)", "s_setreg_imm32_b32 hwreg(HW_REG_HW_ID), 0"])
def test_other_hardware_registers_are_refused(assembler, probe, text):
    after = run_one(assembler, probe, text)
    assert after["faulted"] and "hardware register" in after["fault"].decode()


def test_trap_faults(assembler, probe):
    after = run_one(assembler, probe, "s_trap 2")
    assert after["faulted"] and "s_trap" in after["fault"].decode()


def test_status_shows_scc_and_empty_masks(assembler, probe):
    text = """s_cmp_eq_u32 s0, s0
        s_mov_b64 vcc, 0
        s_getreg_b32 s1, hwreg(HW_REG_STATUS)
        s_mov_b64 exec, 0
        s_getreg_b32 s2, hwreg(HW_REG_STATUS)"""
    after = run_one(assembler, probe, text)
    assert after["sgpr"][1] & 0x601 == 0x401 and after["sgpr"][2] & 0x601 == 0x601
    assert LANES == 64 and ALL_LANES == 2**64 - 1
