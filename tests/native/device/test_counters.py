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
from rocm_perf_lab.arch.counters import known_counters, uses

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
        kernel_arguments = 8 * 64  # a scalar cache line on each XCD
        assert (read, written) == (8 * ELEMENTS + kernel_arguments, 8 * ELEMENTS)


# What the timing model says: printed beside the recording, held to it elsewhere.
MODELLED_TIME = (
    "SQ_CYCLES SQ_BUSY_CYCLES SQ_BUSY_CU_CYCLES SQ_WAVE_CYCLES SQ_WAIT_ANY SQ_WAIT_INST_ANY GRBM_COUNT GRBM_GUI_ACTIVE"
).split()
# The command processor and the profiler are clients of the L2 too.
OTHER_CLIENTS = 32


@pytest.mark.parametrize("phase", ["cold", "steady"])
def test_vcopy_counts_like_the_recorded_mi300x(phase, vcopy_counters, shared_data):
    with gzip.open(shared_data / "counters" / "vcopy_MI300X_A1" / "pmc_perf.csv.gz", "rt") as file:
        recorded = list(csv.DictReader(io.StringIO(file.read())))
    recorded = recorded[:1] if phase == "cold" else recorded[1:]
    modelled = vcopy_counters[0] if phase == "cold" else vcopy_counters[-1]
    compared = [name for name in recorded[0] if name in modelled]
    assert len(compared) > 100
    wrong = []
    print(f"{phase + ' dispatch':36} {'device':>12} {'MI300X':>30}")
    for name in compared:
        hardware = [float(row[name]) for row in recorded]
        print(f"{name:36} {modelled[name]:12.0f} {' '.join(f'{value:.0f}' for value in hardware):>30}")
        if name in MODELLED_TIME:
            continue
        # Instructions, waves and the L1's requests are the kernel's own: the same on every run of the hardware.
        relative, absolute = (0.02, OTHER_CLIENTS) if name.startswith("TCC_") else (0, 0)
        if not min(hardware) * (1 - relative) - absolute <= modelled[name] <= max(hardware) * (1 + relative) + absolute:
            wrong.append(name)
    assert not wrong


def test_the_device_offers_what_the_table_says(vcopy_counters):
    offered = {counter.name for counter in known_counters() if counter.on_device}
    assert set(vcopy_counters[0]) == offered


def test_formulas_need_only_known_counters():
    assert set(uses()) <= {counter.name for counter in known_counters()}
