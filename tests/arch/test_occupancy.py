"""Occupancy rules, tested without a compiler: known cases, and what must hold for all kernels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.arch import cdna2, cdna3, rdna2
from rocm_perf_lab.arch.occupancy import KernelResources, occupancy

CDNA = cdna3.FAMILY.occupancy_rules


def test_waves_are_as_wide_as_the_compiler_makes_them_unless_told_otherwise():
    """LLVM's AMDGPUUsage, "Target Features": wavefrontsize64 is the default of gfx9, wavefrontsize32 of gfx10."""
    widths = [family.FAMILY.occupancy_rules.wave_size for family in (cdna2, cdna3, rdna2)]
    assert widths == [64, 64, 32] and rdna2.FAMILY.occupancy_rules == rdna2.rules(wave_size=32, wgp_mode=True)


def on_cdna(vgprs=8, accum=0, sgprs=16, lds=0, threads=256):
    return occupancy(CDNA, KernelResources(vgprs, accum, sgprs, lds, threads))


def test_the_two_numbers_differ_where_only_part_of_a_workgroup_would_fit():
    found = on_cdna(vgprs=96, threads=1024)
    assert (found.compiler_waves_per_simd, found.resident_waves_per_cu) == (5, 16)
    assert found.limited_by == ("VGPRs",)


@pytest.mark.parametrize(
    "kernel, resident, limited_by",
    [
        (dict(), 32, ("wave slots",)),
        (dict(vgprs=128), 16, ("VGPRs",)),
        (dict(vgprs=124, accum=4), 16, ("VGPRs",)),  # 128 of the unified file, as in a recorded GEMM
        (dict(sgprs=96), 32, ("wave slots",)),
        (dict(sgprs=97), 28, ("SGPRs",)),
        (dict(lds=4097), 32, ("wave slots",)),
        (dict(lds=8193), 28, ("LDS",)),  # 8704 in granules of 512: 7 workgroups, where 65536 // 8193 also is 7
        (dict(lds=9362, threads=64), 6, ("LDS",)),  # 9728 in granules: 6, where 65536 // 9362 would be 7
        (dict(threads=64), 32, ("wave slots",)),
        (dict(threads=65), 32, ("wave slots",)),
        (dict(threads=192), 30, ("wave slots",)),
        (dict(lds=65537), 0, ("LDS",)),
    ],
)
def test_resident_waves(kernel, resident, limited_by):
    found = on_cdna(**kernel)
    assert (found.resident_waves_per_cu, found.limited_by) == (resident, limited_by)
    assert found.fraction == resident / 32


def test_small_workgroups_of_two_waves_are_limited_by_barriers():
    rules = rdna2.rules(32, wgp_mode=False)  # 2 SIMDs x 16 waves: 16 workgroups of two waves fill them exactly
    assert occupancy(rules, KernelResources(8, 0, 16, 0, 64)).resident_waves_per_cu == 32
    assert cdna2.FAMILY.occupancy_rules is CDNA


resources = st.builds(
    KernelResources,
    arch_vgprs=st.integers(1, 256),
    accum_vgprs=st.integers(0, 256),
    sgprs=st.integers(1, 106),
    lds_bytes=st.integers(0, 65536),
    workgroup_size=st.integers(1, 1024),
)


@given(resources, st.sampled_from([CDNA, rdna2.rules(32, True), rdna2.rules(64, False)]))
def test_more_of_a_resource_never_fits_more_waves(kernel, rules):
    found = occupancy(rules, kernel)
    assert 0 <= found.resident_waves_per_cu <= rules.max_waves
    assert 1 <= found.compiler_waves_per_simd <= rules.max_waves_per_simd
    assert found.resident_waves_per_cu % found.waves_per_workgroup == 0
    for more in (
        dict(arch_vgprs=kernel.arch_vgprs + 1),
        dict(sgprs=kernel.sgprs + 1),
        dict(lds_bytes=kernel.lds_bytes + 1),
    ):
        larger = occupancy(rules, KernelResources(**(vars(kernel) | more)))
        assert larger.resident_waves_per_cu <= found.resident_waves_per_cu
        assert larger.compiler_waves_per_simd <= found.compiler_waves_per_simd
