"""The engine on several host threads, with counters and times: results do not depend on their number, and estimates from
some XCDs lie within the errors that they state.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import needs

sys.path.insert(0, str(Path(__file__).parents[1] / "isa"))

from assemble import Assembler, find_clang  # noqa: E402

EVERYTHING = 2**64 - 1
GROUPS, ITEMS, LDS_BYTES = 608, 128, 1024
# s[0:1]: memory; s2: the workgroup's number. v1: 4 * the work-item's number in the grid.
PLACE = """
    s_lshl_b32 s3, s2, 7
    v_and_b32_e32 v0, 0x3ff, v0
    v_add_u32_e32 v1, s3, v0
    v_lshlrev_b32_e32 v1, 2, v1
"""
STREAM = f"""{PLACE}
    s_movk_i32 s4, 12
again:
    global_load_dword v2, v1, s[0:1]
    global_load_dword v3, v1, s[0:1] offset:256
    s_waitcnt vmcnt(0)
    v_add_u32_e32 v2, v2, v3
    v_lshlrev_b32_e32 v4, 2, v0
    ds_write_b32 v4, v2
    s_barrier
    v_xor_b32_e32 v4, 0x1c, v4
    ds_read_b32 v5, v4
    s_waitcnt lgkmcnt(0)
    s_barrier
    v_add3_u32 v2, v5, v1, s4
    v_add_u32_e32 v6, 0x1000000, v1
    global_store_dword v6, v2, s[0:1]
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 again
    s_endpgm
"""
# Addresses that are far apart, each used by one lane only, and atomics on few words: integers in any order, and in a fixed
# order by their old values.
SCATTER = f"""{PLACE}
    s_mov_b32 s4, 0x9e3779b1
    v_mul_lo_u32 v2, v1, s4
    v_and_b32_e32 v2, 0x3ffffc, v2
    global_load_dword v3, v2, s[0:1]
    v_and_b32_e32 v4, 0x1fc, v2
    v_add_u32_e32 v4, 0x1800000, v4
    v_mov_b32_e32 v5, 1
    s_waitcnt vmcnt(0)
    global_atomic_add v4, v5, s[0:1]
    v_add_u32_e32 v6, 0x1000000, v2
    global_store_dword v6, v1, s[0:1]
    s_endpgm
"""
ORDERED = SCATTER.replace("global_atomic_add v4, v5, s[0:1]", "global_atomic_add v7, v4, v5, s[0:1] sc0")
# The limits at which the words wrap to 0 differ between lanes.
WRAPPING = SCATTER.replace("v_mov_b32_e32 v5, 1", "v_and_b32_e32 v5, 7, v1").replace("global_atomic_add", "global_atomic_inc")
KERNELS = {"stream": STREAM, "scatter": SCATTER, "ordered": ORDERED, "wrapping": WRAPPING}


@pytest.fixture(scope="module")
def probe() -> Path:
    folder = Path(os.environ.get("ROCM_PERF_LAB_NATIVE_DIR") or Path(__file__).parents[4] / "build")
    return needs.built(folder / "bin" / "rpd_engine_probe")


@pytest.fixture(scope="module")
def kernels() -> dict[str, bytes]:
    assembler = Assembler(find_clang() or needs.lacking("no clang that assembles for gfx942"))
    codes = {name: assembler.assemble([source]).code for name, source in KERNELS.items()}
    return {name: struct.pack("<5I", len(code), GROUPS, ITEMS, 16, LDS_BYTES) + code for name, code in codes.items()}


def run(probe: Path, kernel: bytes, threads: int = 2, beyond: int = EVERYTHING, dispatches: int = 2) -> list[str]:
    done = subprocess.run([probe, str(threads), str(beyond), str(dispatches)], input=kernel, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().splitlines()


@pytest.mark.parametrize("beyond", [EVERYTHING, 800], ids=["whole", "sampled"])
@pytest.mark.parametrize("name", KERNELS)
def test_nothing_depends_on_the_number_of_threads(probe, kernels, name: str, beyond: int) -> None:
    one, *others = (run(probe, kernels[name], threads, beyond) for threads in (1, 2, 16))
    assert all(other == one for other in others)


@pytest.mark.parametrize("name", KERNELS)
def test_true_values_lie_within_the_stated_errors(probe, kernels, name: str) -> None:
    whole, sampled = run(probe, kernels[name]), run(probe, kernels[name], beyond=800)
    assert all(line.endswith("exact") for line in whole[:-1]) and whole[-1] == sampled[-1], "memory is the same"
    estimates = 0
    requests = max(float(line.split()[1]) for line in whole if line.startswith("TCC_REQ_sum"))
    for true, found in zip(whole[:-1], sampled[:-1], strict=True):
        counter, value, error = found.split()
        off = abs(float(value) - float(true.split()[1]))
        assert off <= (0 if error == "exact" else max(float(error), requests / 1000)), (found, true)
        estimates += error != "exact"
    assert estimates >= 60, "of two dispatches"
