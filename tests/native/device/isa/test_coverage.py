"""Every instruction that LLVM's disassembler finds for any opcode of a target, and those that the device does not know."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

LACKING = {
    # semaphores for global wave sync
    "ds_gws_sema_br", "ds_gws_sema_p", "ds_gws_sema_release_all", "ds_gws_sema_v",
    # fork and join, and skipping vector instructions
    "s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "s_setvskip",
    # trap handlers and debuggers
    "s_cbranch_cdbgsys", "s_cbranch_cdbgsys_and_user", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbguser", "s_endpgm_saved",
    "s_rfe_b64", "s_rfe_restore_b64", "s_sendmsghalt",
    "s_setkill",
    # scalar scratch accesses, address translation, scalar stores and pixels
    *(f"s_scratch_{way}_dword{width}" for way in ("load", "store") for width in ("", "x2", "x4")),
    "s_atc_probe", "s_atc_probe_buffer", "s_dcache_discard", "s_dcache_discard_x2", "s_endpgm_ordered_ps_done",
    "v_screen_partition_4se_b32",
    # kept from gfx8
    "v_div_fixup_legacy_f16", "v_exp_legacy_f32", "v_fma_legacy_f16", "v_log_legacy_f32",
}  # fmt: skip
NEWER = {
    # which of the random bits count is not documented
    "v_cvt_sr_bf16_f32", "v_cvt_sr_f16_f32",
    *(f"v_cvt_scalef32_sr_{to}_{of}" for to in ("fp8", "bf8", "pk_fp4", "pk32_fp6", "pk32_bf6")
      for of in ("f32", "f16", "bf16")),
    # the order of the elements is not documented
    "ds_read_b96_tr_b6",
}  # fmt: skip
OLDER = {"buffer_store_lds_dword"}  # on gfx90a only, and no compiler emits it
RDNA = {
    *(name for name in LACKING if name.startswith(("ds_gws_", "s_cbranch_cdbg"))),
    "s_atc_probe", "s_atc_probe_buffer", "s_endpgm_ordered_ps_done", "s_endpgm_saved", "s_rfe_b64", "s_sendmsghalt",
    "s_setkill",
    # graphics
    "ds_ordered_count", "exp", "v_interp_p1ll_f16", "v_interp_p1lv_f16", "v_interp_p2_f16", "v_mullit_f32",
    # waits for a number in a register, waves of 64 in halves one after the other, the end of code, others never emitted
    "s_waitcnt_expcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_vmcnt", "s_wait_idle", "s_subvector_loop_begin", "s_subvector_loop_end",
    "s_code_end", "s_movrelsd_2_b32", "s_version", "v_illegal",
    *(f"global_{way}_dword_addtid" for way in ("load", "store")),
    *(f"{space}_atomic_fcmpswap{width}" for space in ("buffer", "global") for width in ("", "_x2")),
}  # fmt: skip
NOP = 0xBF800000


@dataclass(frozen=True)
class Encodings:
    """Positions of fields on gfx9 and gfx10. ds_shift: that of the opcode, after the GDS bit. smem: words of SMEM for an
    opcode. no_base: the value for global accesses. soffset: the field's bits in MUBUF."""

    smem: Callable[[int], Iterator[tuple[int, int]]]
    vop3: int
    vop3p: int
    ds_shift: int
    no_base: int
    soffset: int
    buffer_opcodes: int


def smem_of_gfx9(op: int) -> Iterator[tuple[int, int]]:
    yield from ((0xC0000000 | op << 18 | fields, 0) for fields in (0, 4 << 6, 4 << 6 | 2 | 1 << 17))


def smem_of_gfx10(op: int) -> Iterator[tuple[int, int]]:
    yield from ((0xF4000000 | op << 18 | 2 | 4 << 6 | glc, 0xFA000000) for glc in (0, 1 << 16))


GFX9 = Encodings(smem_of_gfx9, 0xD0000000, 0xD3800000, 17, 0x7F, 8 << 24, 128)
GFX10 = Encodings(smem_of_gfx10, 0xD4000000, 0xCC000000, 18, 0x7D, 0x80 << 24, 256)


def scalar_words(encodings: Encodings) -> Iterator[tuple[int, int]]:
    for op in range(256):
        yield 0xBE800000 | op << 8 | 4 << 16 | 6, NOP  # SOP1
        yield from encodings.smem(op)
    for op in range(128):
        yield 0xBF000000 | op << 16 | 6 | 8 << 8, NOP  # SOPC
        yield 0xBF800000 | op << 16, NOP  # SOPP
    for op in range(0x60):
        yield 0x80000000 | op << 23 | 4 << 16 | 6 | 8 << 8, NOP  # SOP2
    for op in range(32):
        yield 0xB0000000 | op << 23 | 4 << 16 | 6, 0  # SOPK


def vector_words(encodings: Encodings) -> Iterator[tuple[int, int]]:
    for op in range(64):
        yield op << 25 | 2 << 17 | 3 << 9 | 260, 0x3F  # VOP2
    for op in range(256):
        yield from ((0x7E000000 | op << 9 | 2 << 17 | source, NOP) for source in (4, 260))  # VOP1
        yield 0x7C000000 | op << 17 | 3 << 9 | 260, NOP  # VOPC
    for op in range(1024):
        for more in (0, 6 << 9 | 264 << 18, 262 << 9 | 264 << 18):
            yield encodings.vop3 | op << 16 | 4, 260 | more  # VOP3
    for op, high, negate in itertools.product(range(128), (0, 0x4000), (0, 3 << 27)):
        yield encodings.vop3p | op << 16 | 4 | high, 260 | 262 << 9 | 264 << 18 | negate  # VOP3P


def memory_words(encodings: Encodings) -> Iterator[tuple[int, int]]:
    address, data, data2, result = 2, 4 << 8, 6 << 16, 8 << 24
    for op, gds in itertools.product(range(256), (0, 1 << encodings.ds_shift - 1)):
        # DS, with the operands that an instruction may have
        for fields in (0, address, data, result, address | data, address | result, address | data | result,
                       address | data | data2, address | data | data2 | result):  # fmt: skip
            yield 0xD8000000 | op << encodings.ds_shift | gds, fields
    for op, segment, base in itertools.product(range(128), range(3), (0, 2, encodings.no_base)):
        for fields in (0, address, address | data, address | result, address | data | result):
            yield from ((0xDC000000 | op << 18 | segment << 14 | sc0, fields | base << 16) for sc0 in (0, 1 << 16))  # FLAT
    for op, flags in itertools.product(range(encodings.buffer_opcodes), (0, 0x1000, 1 << 14, 1 << 16)):
        for fields in (0, address | data | 2 << 16 | encodings.soffset):
            yield 0xE0000000 | op << 18 | flags, fields  # MUBUF
    for op in range(16):
        yield 0xE8000000 | op << 15 | 0x1000 | 1 << 19 | 4 << 23, address | data | 2 << 16 | result  # MTBUF


@pytest.mark.parametrize(
    "target, encodings, lacks, enough",
    [
        ("gfx942", GFX9, LACKING, 1050),
        ("gfx90a", GFX9, LACKING | OLDER, 1000),
        ("gfx1030", GFX10, RDNA, 880),
        ("gfx950", GFX9, LACKING | NEWER, 1100),
    ],
)
def test_instructions_that_the_device_does_not_know_are_listed(probe, known, target, encodings, lacks, enough):
    words = [*scalar_words(encodings), *vector_words(encodings), *memory_words(encodings)]
    code = np.array([[*pair, NOP, NOP] for pair in words], "<u4").tobytes()
    sections = np.array([len(code)], "<u4").tobytes() + code
    printed = subprocess.run(
        [probe, "survey", target], input=sections, capture_output=True, check=True, timeout=100
    ).stdout.decode()
    lacking, found = set(), set()
    for line in printed.splitlines():
        kind, _, name = line.partition("\t")[0].partition(" ")
        if kind in ("ok", "refused"):
            (lacking if "does not know" in line else found).add(name.split()[-1])
    assert len(known.keys() & found) > enough  # the generated words do cover the instructions
    assert lacking == lacks
