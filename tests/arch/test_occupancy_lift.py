"""What would raise the occupancy: the suggested change does, and a smaller one would not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from occupancy_kernels import MODES
from rocm_perf_lab.arch import cdna3
from rocm_perf_lab.arch.occupancy import KernelResources, OccupancyRules, occupancy
from rocm_perf_lab.arch.occupancy_lift import ResourceChange, lifts
from rocm_perf_lab.text import quantities

CDNA = cdna3.FAMILY.occupancy_rules


def texts(rules: OccupancyRules, kernel: KernelResources) -> list[str]:
    before = occupancy(rules, kernel).resident_waves_per_cu
    return [
        quantities.lift([(c.resource, c.now, c.then) for c in lift.changes], before, lift.waves, rules.simds)
        for lift in lifts(rules, kernel)
    ]


@pytest.mark.parametrize(
    "kernel, said",
    [
        (KernelResources(88, 0, 16, 0, 256), ["8 fewer VGPRs (80 at most): 5 -> 6 waves per SIMD"]),
        (
            KernelResources(96, 0, 16, 0, 1024),
            [
                "32 fewer VGPRs (64 at most): 4 -> 8 waves per SIMD",
                "workgroups of 640 threads instead of 1024: 4 -> 5 waves per SIMD",
            ],
        ),
        (KernelResources(8, 0, 104, 0, 256), ["8 fewer SGPRs (96 at most): 7 -> 8 waves per SIMD"]),
        (
            KernelResources(8, 0, 16, 20000, 256),
            ["3,616 fewer bytes of LDS per workgroup (16,384 at most): 3 -> 4 waves per SIMD",
             "workgroups of 1024 threads instead of 256: 3 -> 8 waves per SIMD"],
        ),
        (
            KernelResources(124, 4, 16, 16384, 256),  # a recorded GEMM: limited by registers and LDS together
            ["32 fewer VGPRs (96 at most) and 3,584 fewer bytes of LDS per workgroup (12,800 at most): 4 -> 5 waves per SIMD"],
        ),
        (KernelResources(8, 0, 16, 0, 256), []),
        (KernelResources(8, 0, 16, 0, 192), ["workgroups of 128 threads instead of 192: 30 -> 32 waves per CU"]),
    ],
)  # fmt: skip
def test_lifts_in_words(kernel, said):
    assert texts(CDNA, kernel) == said


def applied(kernel: KernelResources, change: ResourceChange, more: int = 0) -> KernelResources:
    if change.resource == "VGPRs":
        return replace(kernel, arch_vgprs=change.then + more, accum_vgprs=0)
    field = {"SGPRs": "sgprs", "LDS": "lds_bytes", "workgroup size": "workgroup_size"}[change.resource]
    return replace(kernel, **{field: change.then + more})


kernels = st.builds(
    KernelResources,
    arch_vgprs=st.integers(1, 256),
    accum_vgprs=st.integers(0, 256),
    sgprs=st.integers(1, 106),
    lds_bytes=st.integers(0, 65536),
    workgroup_size=st.integers(1, 1024),
)


@given(kernels, st.sampled_from([rules for _, rules in MODES.values()]))
def test_a_lift_raises_occupancy_and_one_register_or_byte_more_does_not(kernel, rules):
    before = occupancy(rules, kernel).resident_waves_per_cu
    for lift in lifts(rules, kernel):
        changed = kernel
        for change in lift.changes:
            changed = applied(changed, change)
        assert occupancy(rules, changed).resident_waves_per_cu == lift.waves > before
        for change in lift.changes:
            if change.resource != "workgroup size":
                assert 0 <= change.then < change.now
                assert occupancy(rules, applied(changed, change, more=1)).resident_waves_per_cu < lift.waves


@given(kernels, st.sampled_from([rules for _, rules in MODES.values()]))
def test_where_nothing_raises_occupancy_no_smaller_kernel_has_more(kernel, rules):
    if not lifts(rules, kernel):
        least = replace(kernel, arch_vgprs=1, accum_vgprs=0, sgprs=1, lds_bytes=0)
        assert occupancy(rules, least).resident_waves_per_cu == occupancy(rules, kernel).resident_waves_per_cu
