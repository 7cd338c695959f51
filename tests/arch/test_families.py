"""What the units of each family do per clock, compared with what they consist of."""

from __future__ import annotations

import pytest

from rocm_perf_lab.arch import cdna2, cdna3, cdna4, rdna2
from rocm_perf_lab.arch.families import FAMILIES, family_of


# A line of 128 bytes from each L2 channel; a line of 64 or 128 bytes from the L1; 32 LDS banks of 4 bytes.
@pytest.mark.parametrize(
    "family, l2, cu",
    [
        (cdna2.FAMILY, 32 * 128, {"L1": 64, "LDS": 32 * 4}),
        (cdna3.FAMILY, 16 * 128, {"L1": 128, "LDS": 32 * 4}),
        (cdna4.FAMILY, 16 * 128, {"L1": 128, "LDS": 32 * 4}),
        (rdna2.FAMILY, None, {}),
    ],
)
def test_the_bytes_of_caches_per_clock(family, l2, cu):
    assert (family.l2_bytes_per_clock_and_xcd, family.cu_bytes_per_clock) == (l2, cu)


@pytest.mark.parametrize("family, lanes", [(cdna2.FAMILY, 16), (cdna3.FAMILY, 16), (cdna4.FAMILY, 16), (rdna2.FAMILY, 32)])
def test_a_vector_instruction_takes_as_long_as_its_lanes_need(family, lanes):
    assert family.valu_cycles_per_instruction * lanes == family.occupancy_rules.wave_size


@pytest.mark.parametrize(
    "family, kib, rules_kib, has_mall",
    [
        (cdna2.FAMILY, 64, 64, False),
        (cdna3.FAMILY, 64, 64, True),
        (cdna4.FAMILY, 160, 160, True),
        (rdna2.FAMILY, 64, 128, True),
    ],
)
def test_memory_of_a_workgroup_of_a_unit_and_beyond_the_l2(family, kib, rules_kib, has_mall):
    assert family.lds_bytes_per_workgroup == 1024 * kib and family.occupancy_rules.lds_bytes == 1024 * rules_kib
    assert family.has_mall == has_mall


def test_every_target_belongs_to_one_family():
    targets = [target for family in FAMILIES for target in family.targets]
    assert len(set(targets)) == len(targets)
    assert all(family_of(f"{target}:xnack-") is family_of(target) for target in targets)
    assert all(family_of(target) is family for family in FAMILIES for target in family.targets)
    assert family_of("gfx94") is None and family_of("") is None


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_counter_is_requested_once(family):
    counters = family.counters()
    assert [*counters] == sorted(set(counters)) and "SQ_WAVES" in counters
    assert set(family.operations) == {*family.flops, *family.integer_operations}
