"""Every instruction that LLVM's disassembler finds for any opcode of a target, and those that the device does not know."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator

import numpy as np
import pytest

LACKING = {
    # semaphores of global wave sync
    "ds_gws_sema_br", "ds_gws_sema_p", "ds_gws_sema_release_all", "ds_gws_sema_v",
    # fork and join, and skipping vector instructions
    "s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "s_setvskip",
    # trap handlers and debuggers
    "s_cbranch_cdbgsys", "s_cbranch_cdbgsys_and_user", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbguser", "s_endpgm_saved",
    "s_rfe_b64", "s_rfe_restore_b64", "s_sendmsghalt", "s_setkill",
    # scalar scratch accesses, address translation, scalar stores and pixels
    *(f"s_scratch_{way}_dword{width}" for way in ("load", "store") for width in ("", "x2", "x4")),
    "s_atc_probe", "s_atc_probe_buffer", "s_dcache_discard", "s_dcache_discard_x2", "s_endpgm_ordered_ps_done",
    "v_screen_partition_4se_b32",
    # kept from gfx8
    "v_div_fixup_legacy_f16", "v_exp_legacy_f32", "v_fma_legacy_f16", "v_log_legacy_f32",
}  # fmt: skip
OLDER = {"buffer_store_lds_dword"}  # of gfx90a, and no compiler emits it
NOP = 0xBF800000


def scalar_words() -> Iterator[tuple[int, int]]:
    for op in range(256):
        yield 0xBE800000 | op << 8 | 4 << 16 | 6, NOP  # SOP1
        yield from ((0xC0000000 | op << 18 | fields, 0) for fields in (0, 4 << 6, 4 << 6 | 2 | 1 << 17))  # SMEM
    for op in range(128):
        yield 0xBF000000 | op << 16 | 6 | 8 << 8, NOP  # SOPC
        yield 0xBF800000 | op << 16, NOP  # SOPP
    for op in range(0x60):
        yield 0x80000000 | op << 23 | 4 << 16 | 6 | 8 << 8, NOP  # SOP2
    for op in range(32):
        yield 0xB0000000 | op << 23 | 4 << 16 | 6, 0  # SOPK


def vector_words() -> Iterator[tuple[int, int]]:
    for op in range(64):
        yield op << 25 | 2 << 17 | 3 << 9 | 260, 0x3F  # VOP2
    for op in range(256):
        yield from ((0x7E000000 | op << 9 | 2 << 17 | source, NOP) for source in (4, 260))  # VOP1
        yield 0x7C000000 | op << 17 | 3 << 9 | 260, NOP  # VOPC
    for op in range(1024):
        yield from ((0xD0000000 | op << 16 | 4, 260 | more) for more in (0, 6 << 9 | 264 << 18, 262 << 9 | 264 << 18))  # VOP3
    for op, high, negate in itertools.product(range(128), (0, 0x4000), (0, 3 << 27)):
        yield 0xD3800000 | op << 16 | 4 | high, 260 | 262 << 9 | 264 << 18 | negate  # VOP3P


def memory_words() -> Iterator[tuple[int, int]]:
    address, data, data2, result = 2, 4 << 8, 6 << 16, 8 << 24
    for op, gds in itertools.product(range(256), (0, 1 << 16)):  # DS, with the operands that an instruction may have
        for fields in (0, address, data, result, address | data, address | result, address | data | result,
                       address | data | data2, address | data | data2 | result):  # fmt: skip
            yield 0xD8000000 | op << 17 | gds, fields
    for op, segment, base in itertools.product(range(128), range(3), (0, 2, 0x7F)):
        for fields in (0, address, address | data, address | result, address | data | result):
            yield from ((0xDC000000 | op << 18 | segment << 14 | sc0, fields | base << 16) for sc0 in (0, 1 << 16))  # FLAT
    for op, flags in itertools.product(range(128), (0, 0x1000, 1 << 14, 1 << 16)):
        yield from ((0xE0000000 | op << 18 | flags, fields) for fields in (0, address | data | 2 << 16 | result))  # MUBUF
    for op in range(16):
        yield 0xE8000000 | op << 15 | 0x1000 | 1 << 19 | 4 << 23, address | data | 2 << 16 | result  # MTBUF


@pytest.mark.parametrize("target, lacks, enough", [("gfx942", LACKING, 1050), ("gfx90a", LACKING | OLDER, 1000)])
def test_what_the_device_does_not_know_is_listed(probe, known, target, lacks, enough):
    words = [*scalar_words(), *vector_words(), *memory_words()]
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
    assert len(known.keys() & found) > enough  # the generated words do reach the instructions
    assert lacking == lacks
