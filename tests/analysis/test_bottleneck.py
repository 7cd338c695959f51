"""The classes: each from evidence that shows it, through the whole chain from counters to the verdict."""

from __future__ import annotations

import pytest

import rocpd_database
from rocm_perf_lab.analysis.bottleneck import CLASSES, UNKNOWN
from rocm_perf_lab.analysis.pipeline import analyse
from rocm_perf_lab.arch import family_of
from rocpd_database import Dispatch

NOTHING = dict.fromkeys(family_of("gfx942").counters(), 0.0)
GRID = 304 * 4 * 8 * 64  # a full device: 8 waves on each SIMD
MS = 1_000_000
CU_CYCLES = 304 * 2100e6 * 1e-3  # of all CUs in 1 ms
WAITING = dict(SQ_WAVE_CYCLES=100.0, SQ_WAIT_ANY=80.0, SQ_INSTS_VMEM=1000.0, TCC_EA0_WRREQ_sum=10.0)


def verdict(tmp_path, counters, **dispatch):
    given = {name: [value] for name, value in counters.items()}
    work = [Dispatch("k", 0, dispatch.pop("duration", MS), **({"grid": GRID} | dispatch), counters=given)]
    path = rocpd_database.write(tmp_path / "t.db", work, rocpd_database.MODELLED)
    return analyse(path).analysis.kernels[0].bottleneck


def streaming(fraction):
    requests = fraction * 5300e9 * 1e-3 / 128
    return dict(TCC_BUBBLE_sum=requests, TCC_EA0_RDREQ_sum=requests)


CASES = {
    "memory-bandwidth-bound": (streaming(0.7), {}),
    "compute-bound": (dict(SQ_INSTS_VALU_MFMA_MOPS_BF16=0.7 * CU_CYCLES * 2048 / 512), {}),
    "compute-bound, integer": (dict(SQ_INSTS_VALU=0.7 * CU_CYCLES), {}),
    "lds-bound": (dict(SQ_LDS_IDX_ACTIVE=0.8 * CU_CYCLES), {}),
    "cache-bandwidth-bound": (dict(TCP_TCC_READ_REQ_sum=0.7 * 2048 * 8 * 2100e6 * 1e-3 / 128), {}),
    "occupancy-limited": (WAITING, dict(lds=65536)),
    "memory-latency-bound": (WAITING, {}),
    "memory-latency-bound, by its side of the ridge": (streaming(0.1) | dict(SQ_INSTS_VMEM=1000.0), {}),
    "too-little-parallelism": ({}, dict(grid=64 * 100)),
    "launch-bound": ({}, dict(duration=2000)),
}


@pytest.mark.parametrize("case", CASES)
def test_each_class_from_evidence_that_shows_it(case, tmp_path):
    counters, dispatch = CASES[case]
    found = verdict(tmp_path, NOTHING | counters, **dispatch)
    assert found.name == case.split(",")[0]
    assert found.evidence and all(item.value is not None for item in found.evidence)
    assert found.advice


def test_every_class_has_a_case():
    assert {rule.name for rule in CLASSES} == {case.split(",")[0] for case in CASES}


def test_a_saturated_memory_outranks_everything_else(tmp_path):
    counters = NOTHING | WAITING | streaming(0.7) | dict(SQ_LDS_IDX_ACTIVE=0.8 * CU_CYCLES)
    assert verdict(tmp_path, counters, grid=64).name == "memory-bandwidth-bound"


def test_a_strided_kernel_with_a_small_grid_is_latency_bound_and_its_causes_are_named(tmp_path):
    """As a naive softmax: a thread per row, each lane on its own line."""
    counters = NOTHING | WAITING | dict(TCP_TOTAL_CACHE_ACCESSES_sum=64_000.0, TCP_TCC_READ_REQ_sum=60_000.0)
    found = verdict(tmp_path, counters, grid=64 * 64)
    assert found.name == "memory-latency-bound"
    assert [factor.name for factor in found.factors] == ["uncoalesced-access", "over-fetch", "too-little-parallelism"]
    assert "neighbouring lanes" in found.advice[0]


def test_no_limit_reached_is_said_so(tmp_path):
    found = verdict(tmp_path, NOTHING)
    assert found.name == UNKNOWN
    assert "SQ_WAVE_CYCLES" in found.undecided["memory-latency-bound"]  # 0 / 0


def test_without_counters_nothing_is_guessed(tmp_path):
    found = verdict(tmp_path, {})
    assert found.name == UNKNOWN and "memory-bandwidth-bound" in found.why
    assert set(found.undecided.values()) == {"no counters were collected"}


def test_a_class_that_could_not_be_judged_is_named_beside_the_verdict(tmp_path):
    counters = {name: value for name, value in (NOTHING | WAITING).items() if name != "TCC_BUBBLE_sum"}
    found = verdict(tmp_path, counters)
    assert found.name == "memory-latency-bound"
    assert found.undecided["memory-bandwidth-bound"] == "not collected: TCC_BUBBLE_sum"
