"""The device's counters against the compiler's disassembly and against recordings of real hardware."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sqlite3
from pathlib import Path

import pytest

from disassembly import compile_kernels, instructions

ELEMENTS = 1048576
WAVES = ELEMENTS // 64


@pytest.fixture(scope="module")
def vcopy_counters(testbed, tmp_path_factory, rocm_perf_in) -> list[dict[str, float]]:
    """One dictionary counter -> value for each dispatch of vecCopy, in order."""
    folder = tmp_path_factory.mktemp("vcopy")
    rocm_perf_in(folder, "profile", "--runs", 1, "-o", folder / "run", testbed("vcopy"), "-n", ELEMENTS, "-b", 256, "-i", 3)
    return kernel_counters(folder / "run", "vecCopy")


def kernel_counters(run_directory: Path, kernel: str) -> list[dict[str, float]]:
    with sqlite3.connect(run_directory / ".rocpd_profile" / "base_results.db") as database:
        rows = database.execute(
            "select dispatch_id, counter_name, sum(counter_value) from pmc_events where name like ? group by 1, 2 order by 1",
            (f"{kernel}%",),
        ).fetchall()
    dispatches: dict[int, dict[str, float]] = {}
    for dispatch, name, value in rows:
        dispatches.setdefault(dispatch, {})[name] = value
    return list(dispatches.values())


CLASSES = {
    "SQ_INSTS_SMEM": r"s_(buffer_)?load_",
    "SQ_INSTS_BRANCH": r"s_c?branch",
    "SQ_INSTS_VALU": r"v_",
    "SQ_INSTS_VMEM_RD": r"global_load_",
    "SQ_INSTS_VMEM_WR": r"global_store_",
    "SQ_INSTS_FLAT": r"(global|flat)_",
    "SQ_INSTS_LDS": r"ds_",
    "SQ_INSTS_SALU": r"s_(?!(buffer_)?load_|c?branch|waitcnt|endpgm|nop|barrier)",
    "SQ_INSTS_VALU_INT32": r"v_.*_[iu]32$",
    "SQ_INSTS_VALU_INT64": r"v_.*_[iu]64$",
}


def test_vcopy_executes_what_the_disassembly_lists(vcopy_counters, testbed, repository, tmp_path):
    code = compile_kernels(repository / "testbed" / "vcopy.hip", tmp_path / "vcopy.hsaco")
    # Every wave is full and falls through its only branch (s_cbranch_execz), so the path is the whole listing.
    path = instructions(code, "vecCopy")
    assert sum(name.startswith(("s_cbranch", "s_branch")) for name in path) == 1
    for counters in vcopy_counters:
        assert counters["SQ_WAVES"] == WAVES == 16384
        assert counters["SQ_INSTS"] == len(path) * WAVES
        for counter, pattern in CLASSES.items():
            expected = sum(re.match(pattern, name) is not None for name in path)
            assert counters[counter] == expected * WAVES, counter


def test_vcopy_moves_its_bytes_once(vcopy_counters):
    for counters in vcopy_counters:
        read = 128 * counters["TCC_BUBBLE_sum"] + 64 * (counters["TCC_EA0_RDREQ_sum"] - counters["TCC_BUBBLE_sum"])
        written = 64 * counters["TCC_EA0_WRREQ_64B_sum"] + 32 * (counters["TCC_EA0_WRREQ_sum"] - counters["TCC_EA0_WRREQ_64B_sum"])
        assert (read, written) == (8 * ELEMENTS, 8 * ELEMENTS)


# Counters that count instructions or requests of the kernel itself: the same on every run of the hardware.
EXACT = (
    "SQ_WAVES SQ_INSTS SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_SMEM SQ_INSTS_VMEM SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR "
    "SQ_INSTS_FLAT SQ_INSTS_LDS SQ_INSTS_BRANCH SQ_INSTS_SENDMSG SQ_INSTS_VALU_INT32 SQ_INSTS_VALU_INT64 "
    "TCP_TOTAL_CACHE_ACCESSES_sum TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum TCC_WRITE_sum TCC_BUBBLE_sum "
    "TCC_EA0_WRREQ_sum TCC_EA0_WRREQ_64B_sum TCC_EA0_RDREQ_32B_sum"
).split()
# Instruction and scalar cache misses, other clients and the profiler itself add a little on hardware.
WITHIN_TWO_PERCENT = "TCC_REQ_sum TCC_READ_sum TCC_HIT_sum TCC_MISS_sum TCC_EA0_RDREQ_sum TCC_WRITEBACK_sum".split()


def test_vcopy_counts_like_the_recorded_mi300x(vcopy_counters, shared_data):
    with gzip.open(shared_data / "counters" / "vcopy_MI300X_A1" / "pmc_perf.csv.gz", "rt") as file:
        recorded = list(csv.DictReader(io.StringIO(file.read())))
    print(f"{'counter':36} {'device':>12} {'MI300X':>30}")
    for name in EXACT + WITHIN_TWO_PERCENT:
        hardware = [float(row[name]) for row in recorded]
        modelled = vcopy_counters[-1][name]
        print(f"{name:36} {modelled:12.0f} {' '.join(f'{value:.0f}' for value in hardware):>30}")
        tolerance = 0 if name in EXACT else 0.02
        assert min(hardware) * (1 - tolerance) <= modelled <= max(hardware) * (1 + tolerance), name
