"""Races are distinguished by kind and place."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rocm_perf_lab.gate.equivalence.races import new_race, races_of, without_atomics, without_host, without_unwritten_reads

KERNEL = "kernel k(float*, int*): "
BUFFERS = [SimpleNamespace(name="flags", address=0x1000, size=16), SimpleNamespace(name="out", address=0x1100, size=64)]
CAPTURE = SimpleNamespace(regions=[SimpleNamespace(allocations=((0x1000, 0x800), (0x3000, 0x100)))])


def race(address: int, first: str = "store", second: str = "store", at: int = 0x40) -> str:
    accesses = [f"{kind} by wave {i} of workgroup 0 at entry + {at + i:#x} (x)" for i, kind in enumerate((first, second))]
    return f"{KERNEL}race in global memory, 255 times, first at address {address:#x}: {' and '.join(accesses)} are not ordered"


IN_LDS = KERNEL + (
    "race in LDS, 224 times, first at address 0xfc: store by wave 0 of workgroup 0 at entry + 0x98 (ds_write_b32 v4, v1) and "
    "load by wave 1 of workgroup 0 at entry + 0xb4 (ds_read_b32 v0, v0) are not ordered"
)
UNWRITTEN = KERNEL + "read of LDS that nothing has written, 29 times, first at LDS address 0xfc by wave 1 of workgroup 3"


@pytest.mark.parametrize("after", [race(0x1004), race(0x100C, at=0x80), race(0x1000, "atomic")])
def test_races_of_the_baselines_kind_in_its_buffer_are_not_new(after):
    assert new_race([race(0x1000)], [after, after], CAPTURE, BUFFERS) is None


@pytest.mark.parametrize("after", [IN_LDS, UNWRITTEN, race(0x1104), race(0x1004, "store", "load"), race(0x3004), race(0x1200)])
def test_a_race_of_another_kind_or_elsewhere_is_new_however_many_the_baseline_has(after):
    assert new_race([race(0x1000), race(0x1004), race(0x1008)], [race(0x1000), after], CAPTURE, BUFFERS) == after


def test_reads_of_unwritten_lds_can_be_left_out():
    assert without_unwritten_reads([UNWRITTEN, IN_LDS, race(0x1000)]) == [IN_LDS, race(0x1000)]


ATOMICS = KERNEL + "atomic accesses in no order, 3 times, first at address 0x1000"
SEEN, MISSED = (KERNEL + f"the host may {verb} what is written at 0x1000" for verb in ("see", "miss"))


def test_what_concerns_the_host_or_atomic_accesses_can_be_left_out():
    every = [ATOMICS, IN_LDS, SEEN, MISSED]
    assert without_atomics(every) == [IN_LDS] and without_host(every) == [ATOMICS, IN_LDS]
    assert races_of(7) == ("race-check=7", "unordered-atomics")
