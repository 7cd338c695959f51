"""Registers of kernels whose trace gives only the allocation, or a wrong one. Figures from kernels recorded on an MI300X."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

import rocpd_database
from rocm_perf_lab.analysis import registers
from rocm_perf_lab.arch import cdna3
from rocm_perf_lab.arch.occupancy import KernelResources, occupancy
from rocm_perf_lab.code_object import KernelMetadata
from rocm_perf_lab.profiling.pipeline import analyse
from rocpd_database import Dispatch

RULES = cdna3.FAMILY.occupancy_rules


def kernel(tmp_path, arch, accum, sgprs=48, lds=0, workgroup=256):
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 0, 1000, workgroup=workgroup, grid=2**20, lds=lds)])
    with sqlite3.connect(path) as connection:
        connection.execute(
            "UPDATE rocpd_info_kernel_symbol SET arch_vgpr_count = ?, accum_vgpr_count = ?, sgpr_count = ?",
            (arch, accum, sgprs),
        )
    return analyse(path).analysis.kernels[0]


def test_more_agprs_than_possible_are_corrected_and_noted(tmp_path):
    """Its descriptor says accum_offset 256, 512 in all."""
    found = kernel(tmp_path, 128, 384)
    assert (found.resources.vgpr_per_thread, found.resources.accum_vgpr_per_thread) == (256, 256)
    assert found.occupancy.resident_waves_per_cu == 4
    assert any("128 + 384" in note and "256 + 256" in note for note in found.occupancy.notes)


def test_an_allocation_that_only_pads_up_to_the_limit_of_lds_is_no_limit(tmp_path):
    """Recorded: 64 + 72 VGPRs allocated, 64 + 64 needed; 20 KiB of LDS let three waves per SIMD reside."""
    found = kernel(tmp_path, 64, 72, 112, lds=20480)
    assert (found.occupancy.resident_waves_per_cu, found.occupancy.limited_by) == (12, ["LDS"])
    first = found.occupancy.lifts[0]
    assert [change.resource for change in first.changes] == ["LDS"]
    assert any("the compiler allocates 136 VGPRs" in note for note in found.occupancy.notes)


@pytest.mark.parametrize("arch, accum", [(64, 64), (64, 80), (128, 16)])
def test_a_different_allocation_is_not_taken_for_padding(tmp_path, arch, accum):
    found = kernel(tmp_path, arch, accum, lds=20480)
    assert not any("compiler allocates" in note for note in found.occupancy.notes)


@pytest.mark.parametrize("waves", range(1, 8))
def test_padding_is_the_least_allocation_that_allows_no_more_waves_than_lds(waves):
    """By trial: the occupancy is that of LDS alone, and with one granule less, VGPRs would let another wave reside."""
    lds = 65536 // waves
    with_none = KernelResources(8, 0, 16, lds, 256)
    padded = next(total for total in range(8, 513, 8) if total == registers._padded(RULES, with_none))

    def by_vgprs(total: int) -> int:
        return occupancy(RULES, replace(with_none, arch_vgprs=total, lds_bytes=0)).resident_waves_per_cu // 4

    assert by_vgprs(padded) == waves < by_vgprs(padded - 8)


def test_metadata_of_the_code_object_takes_precedence():
    metadata = KernelMetadata("k", "k.kd", 0, 0, 0, False, 116, 64, 33, 0, 0, 64, 1024, None, None, (), b"")
    allocated = KernelResources(64, 72, 112, 20480, 256)
    used = registers.needed_resources(allocated, metadata)
    assert (used.arch_vgprs, used.accum_vgprs, used.sgprs) == (52, 64, 33)
    why = registers.padding(RULES, allocated, occupancy(RULES, allocated), used)
    assert why.startswith("136 VGPRs are allocated, and 120 would suffice")
