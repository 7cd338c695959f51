"""Bottleneck classes: each from evidence for it, from counters to the verdict, with complete and incomplete evidence."""

from __future__ import annotations

import itertools
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocpd_database
from rocm_perf_lab.analysis.bottleneck import CLASSES, NEAR, SIGNALS_OF, UNKNOWN, ClassScore, _outranks, classify
from rocm_perf_lab.analysis.bottleneck_thresholds import factors, signals
from rocm_perf_lab.analysis.evidence import Evidence
from rocm_perf_lab.analysis.fuzzy_score import HOLDS, Score
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.metric import Value
from rocm_perf_lab.profiling.pipeline import analyse
from rocpd_database import Dispatch

WAVES = 304 * 4 * 8  # a full device: 8 waves on each SIMD
MS = 1_000_000
CU_CYCLES = 304 * 2100e6 * 1e-3  # over all CUs in 1 ms
# Counters of waves that live as long as the kernel with all lanes active and do nothing else.
NOTHING = dict.fromkeys(family_of("gfx942").counters(), 0.0) | dict(
    SQ_WAVES=float(WAVES),
    SQ_INSTS_VMEM=float(WAVES),
    SQ_ITEMS=64.0 * WAVES,
    SQ_WAVE_CYCLES=8 * CU_CYCLES,
    SQ_ACTIVE_INST_VALU=1e4,
    SQ_THREAD_CYCLES_VALU=64e4,
    GRBM_GUI_ACTIVE=2100e6 * 1e-3,
)
WAITING = dict(SQ_WAIT_ANY=0.8 * 8 * CU_CYCLES, SQ_INSTS_VMEM=100.0 * WAVES, TCC_EA0_WRREQ_sum=10.0)


def kernel(tmp_path, counters, **dispatch):
    given = {name: [value] for name, value in counters.items()}
    work = [Dispatch("k", 0, dispatch.pop("duration", MS), **({"grid": 64 * WAVES} | dispatch), counters=given)]
    path = rocpd_database.write(tmp_path / f"{len(list(tmp_path.iterdir()))}.db", work, rocpd_database.MODELLED)
    return analyse(path).analysis.kernels[0]


def verdict(tmp_path, counters, **dispatch):
    return kernel(tmp_path, counters, **dispatch).bottleneck


def streaming(fraction):
    requests = fraction * 5300e9 * 1e-3 / 128
    return dict(TCC_BUBBLE_sum=requests, TCC_EA0_RDREQ_sum=requests)


QUEUEING = dict(SQ_WAIT_INST_ANY=0.7 * 8 * CU_CYCLES)
DIVERGENT = dict(SQ_INSTS_VALU=0.5 * CU_CYCLES, SQ_THREAD_CYCLES_VALU=16e4)  # a quarter of the lanes
CASES = {
    "memory-bandwidth-bound": (streaming(0.7), {}),
    "memory-bandwidth-bound, L2": (dict(TCP_TCC_READ_REQ_sum=0.7 * 2048 * 8 * 2100e6 * 1e-3 / 128), {}),
    "memory-bandwidth-bound, LDS": (dict(SQ_LDS_IDX_ACTIVE=0.8 * CU_CYCLES), {}),
    "memory-bandwidth-bound, waiting for it": (WAITING | streaming(0.7), {}),
    "memory-bandwidth-bound, queueing for it": (QUEUEING | streaming(0.5), {}),
    "compute-throughput-limited, queueing for it": (QUEUEING | dict(SQ_INSTS_VALU=0.5 * CU_CYCLES), {}),
    "compute-throughput-limited": (dict(SQ_INSTS_VALU_MFMA_MOPS_BF16=0.7 * CU_CYCLES * 2048 / 512), {}),
    "compute-throughput-limited, integer": (dict(SQ_INSTS_VALU=0.7 * CU_CYCLES), {}),
    "compute-throughput-limited, matrix units": (dict(SQ_VALU_MFMA_BUSY_CYCLES=0.7 * 4 * CU_CYCLES), {}),
    "divergence-limited": (DIVERGENT, {}),
    "divergence-limited, busy": (DIVERGENT | dict(SQ_INSTS_VALU=0.9 * CU_CYCLES), {}),
    "under-occupied, LDS": (WAITING, dict(lds=65536)),
    "under-occupied, grid": (dict(SQ_WAVES=100.0, SQ_ITEMS=6400.0, SQ_WAVE_CYCLES=0.1 * CU_CYCLES), dict(grid=6400)),
    "latency-bound": (WAITING, {}),
    "latency-bound, a chain of few waves": (
        WAITING | dict(SQ_WAVES=100.0, SQ_ITEMS=6400.0, SQ_WAVE_CYCLES=1e8, SQ_WAIT_ANY=0.9e8, SQ_INSTS_VMEM=1e6),
        dict(grid=6400),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_class_is_found_from_evidence_for_it(case, tmp_path):
    counters, dispatch = CASES[case]
    found = verdict(tmp_path, NOTHING | counters, **dispatch)
    assert found.name == case.split(",")[0]
    assert found.score >= HOLDS and found.classes[0].score == found.score
    assert all(item.value is not None and item.holds for item in found.evidence)
    assert found.evidence and all(item.counters or "resident" in item.name for item in found.evidence)
    assert found.advice


def test_every_class_has_a_case():
    assert set(CLASSES) == {case.split(",")[0] for case in CASES}


def test_every_signal_is_used_by_a_class_and_has_ordered_thresholds():
    used = set(itertools.chain.from_iterable(SIGNALS_OF.values()))
    assert used == set(signals())
    for signal in signals().values():
        assert signal.source and signal.rationale and signal.why
        assert (signal.none < signal.threshold < signal.full) or (signal.none > signal.threshold > signal.full)
    for factor in factors():
        assert (factor.above is None) != (factor.below is None) and factor.source


def test_masked_lanes_explain_a_busy_kernel_unless_memory_is_saturated(tmp_path):
    busy = NOTHING | DIVERGENT | dict(SQ_INSTS_VALU=0.9 * CU_CYCLES)
    assert verdict(tmp_path, busy).name == "divergence-limited"
    assert verdict(tmp_path, busy | streaming(0.75)).name == "memory-bandwidth-bound"
    assert verdict(tmp_path, busy | dict(SQ_THREAD_CYCLES_VALU=64e4)).name == "compute-throughput-limited"


def test_lanes_that_were_never_launched_do_not_count_as_divergence(tmp_path):
    """Workgroups of 16 fill a quarter of each wave, and all of those lanes work."""
    counters = NOTHING | DIVERGENT | dict(SQ_ITEMS=16.0 * WAVES, SQ_INSTS_VALU=0.7 * CU_CYCLES)
    found = verdict(tmp_path, counters, grid=16 * WAVES, workgroup=16)
    assert found.name == "compute-throughput-limited"
    assert [factor.name for factor in found.factors] == ["partial-waves"]


def test_a_strided_kernel_with_a_small_grid_is_latency_bound_and_its_causes_are_named(tmp_path):
    """Like a naive softmax: one thread per row, each lane reading its own cache line."""
    few = dict(SQ_WAVES=64.0, SQ_ITEMS=64.0 * 64, SQ_INSTS_VMEM=64_000.0, SQ_WAVE_CYCLES=8e6, SQ_WAIT_ANY=6e6)
    counters = NOTHING | few | dict(TCP_TOTAL_CACHE_ACCESSES_sum=4_096_000.0, TCP_TCC_READ_REQ_sum=4_000_000.0)
    found = verdict(tmp_path, counters, grid=64 * 64)
    assert found.name == "latency-bound"
    assert [factor.name for factor in found.factors] == ["uncoalesced-access", "over-fetch", "small-grid"]
    assert "neighbouring lanes" in found.advice[0]
    # All tests in this file use the software device, where a grid may be small only because of that device.
    place = next(place for place, line in enumerate(found.advice) if "launch more work" in line)
    larger = found.advice[place - 1]
    assert "made small for the software device" in larger and "9,728 waves" in larger
    assert "made small for the software device" in found.factors[-1].why


def test_on_hardware_a_small_grid_is_not_blamed_on_the_software_device(tmp_path):
    counters = {name: [value] for name, value in NOTHING.items()}
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 0, MS, grid=6400, counters=counters)])
    found = analyse(path).analysis.kernels[0].bottleneck
    assert "small-grid" in [factor.name for factor in found.factors]
    assert "software" not in " ".join([*found.advice, *(factor.why for factor in found.factors)])


FACTORS = {
    "atomics": (dict(TCP_TCC_READ_REQ_sum=200.0, TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum=100.0), {}),
    "idle-waves": (dict(SQ_INSTS_VMEM=0.2 * WAVES), {}),
    # Ten rounds of waves, 400 cycles each.
    "wave-start-up": (dict(SQ_WAVES=10.0 * WAVES, SQ_ITEMS=640.0 * WAVES, SQ_INSTS_VMEM=20.0 * WAVES,
                           SQ_WAVE_CYCLES=1000.0 * WAVES),
                      dict(grid=640 * WAVES)),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_is_found_from_evidence_for_it(name, tmp_path):
    counters, dispatch = FACTORS[name]
    names = [factor.name for factor in verdict(tmp_path, NOTHING | counters, **dispatch).factors]
    assert name in names and name not in [factor.name for factor in verdict(tmp_path, NOTHING).factors]


def test_scratch_is_a_factor_and_gets_advice(tmp_path):
    path = rocpd_database.write(tmp_path / "t.db", [Dispatch("k", 0, MS, grid=64 * WAVES)])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE rocpd_kernel_dispatch SET private_segment_size = 224")
    found = analyse(path).analysis.kernels[0].bottleneck
    (factor,) = found.factors
    assert factor.name == "scratch" and factor.evidence[0].value == 224 and "__launch_bounds__" in found.advice[0]


def test_busy_fractions_use_the_counted_cycles_but_not_those_of_the_profiler(tmp_path):
    busy = NOTHING | dict(SQ_INSTS_VALU=0.4 * CU_CYCLES)

    def fraction(cycles, own=None):
        given = {name: [value] for name, value in (busy | dict(GRBM_GUI_ACTIVE=cycles)).items() if value is not None}
        work = [Dispatch("k", 0, MS, grid=64 * WAVES, counters=given)]
        path = rocpd_database.write(tmp_path / f"{len(list(tmp_path.iterdir()))}.db", work, own)
        found = analyse(path).analysis.kernels[0]
        return next(item.value for item in found.evidence if item.name == "valu_busy_fraction")

    at_peak = fraction(None)
    assert at_peak == pytest.approx(0.4)
    assert fraction(8 * 2100e6 * 1e-3 * 0.8) == pytest.approx(0.4 / 0.8), "the clock was at 80 %"
    assert fraction(8 * 2100e6 * 1e-3 * 30) == pytest.approx(at_peak), "mostly the profiler's cycles"
    assert fraction(8 * 2100e6 * 1e-3 * 0.8, rocpd_database.MODELLED) == pytest.approx(at_peak), "the model's clock is the peak"


def test_a_kernel_near_a_limit_is_classified_by_it_with_low_certainty(tmp_path):
    found = verdict(tmp_path, NOTHING | streaming(0.5))
    assert (found.name, found.certainty) == ("memory-bandwidth-bound", "low") and found.why.startswith("no limit is reached")
    assert [signal.name for signal in found.evidence] == ["hbm_fraction"] and found.advice


def test_queueing_alone_names_no_unit(tmp_path):
    assert verdict(tmp_path, NOTHING | QUEUEING | streaming(0.2)).name == UNKNOWN


def test_a_kernel_that_reaches_no_limit_is_reported_as_such(tmp_path):
    found = verdict(tmp_path, NOTHING | dict(TCC_EA0_WRREQ_sum=1.0, SQ_INSTS_VMEM=1.0))
    assert found.name == UNKNOWN and found.score is None and "no limit is reached" in found.why


def test_without_counters_nothing_is_guessed(tmp_path):
    found = verdict(tmp_path, {})
    assert found.name == UNKNOWN and "memory-bandwidth-bound" in found.why
    assert found.certainty == "low"
    assert all("no counters were collected" in reason for name, reason in found.undecided.items() if name != "under-occupied")


def test_without_counters_a_kernel_whose_occupancy_lds_limits_is_still_found(tmp_path):
    found = verdict(tmp_path, {}, lds=65536)
    assert found.name == "under-occupied" and found.certainty == "low"


def test_a_missing_counter_lowers_the_certainty_and_is_named(tmp_path):
    whole = verdict(tmp_path, NOTHING | WAITING)
    part = verdict(tmp_path, {name: value for name, value in (NOTHING | WAITING).items() if name != "TCC_BUBBLE_sum"})
    assert (whole.name, whole.certainty) == ("latency-bound", "high")
    assert part.name == "latency-bound" and part.certainty != "high" and part.confidence < whole.confidence
    assert part.undecided["memory-bandwidth-bound"] == "not collected: TCC_BUBBLE_sum"


def test_waits_that_were_not_counted_are_inferred_from_the_roofline_with_less_certainty(tmp_path):
    counters = {name: value for name, value in (NOTHING | streaming(0.1)).items() if name != "SQ_WAIT_ANY"}
    found = verdict(tmp_path, counters)
    assert found.name == "latency-bound" and found.certainty != "high"


def test_priority_is_headroom_times_the_share_of_the_critical_path(tmp_path):
    found = kernel(tmp_path, NOTHING | streaming(0.25))
    assert found.headroom.fraction == pytest.approx(0.75)
    assert found.headroom.priority == pytest.approx(0.75 * found.critical_path_score)


@pytest.mark.parametrize(("target", "pci_id", "read", "gbps"), [
    ("gfx90a", 0x7408, ("TCC_EA_RDREQ_sum", 64), 1638),
    ("gfx1030", 0x73BF, ("GL2C_EA_RDREQ_128B_sum", 128), 512),
])  # fmt: skip
def test_a_stream_is_bound_by_bandwidth_on_every_family(tmp_path, target, pci_id, read, gbps):
    """On gfx1030, the classes that its counters cannot decide are also listed."""
    alive = {"SQ_WAVES": [WAVES], "SQ_ITEMS": [64 * WAVES], "SQ_WAVE_CYCLES": [8 * CU_CYCLES], "GRBM_GUI_ACTIVE": [1e9]}
    counters = dict.fromkeys(family_of(target).counters(), [0.0]) | alive | {read[0]: [0.7 * gbps * MS / read[1]]}
    work = [Dispatch("k", 0, MS, grid=64 * WAVES, counters=counters)]
    path = rocpd_database.write(tmp_path / "t.db", work, None, pci_id, target)
    found = analyse(path).analysis.kernels[0]
    assert found.bottleneck.name == "memory-bandwidth-bound"
    assert found.bottleneck.evidence[0].value == pytest.approx(0.7)
    if target == "gfx1030":
        assert "compute-throughput-limited" in found.bottleneck.undecided
        assert found.bottleneck.certainty != "high" and found.headroom.fraction is None


# ---- whatever the numbers are ----

NAMES = sorted({signal.evidence for signal in signals().values()})
numbers = st.fixed_dictionaries({name: st.floats(0, 300) | st.floats(0, 1) | st.none() for name in NAMES})


def evidence(values):
    missing = Value.missing("", "left out")
    return Evidence({name: missing if value is None else Value(value, "") for name, value in values.items()})


@given(numbers)
def test_scores_lie_within_their_bounds_and_the_verdict_is_the_best_that_holds(values):
    found = classify(evidence(values))
    for scored in found.classes:
        assert 0 <= scored.score.lower <= scored.score.upper <= 1
        if scored.score.estimate is not None:
            assert 0 <= scored.score.estimate <= 1
    holding = [scored.name for scored in found.classes if scored.score.holds]
    assert found.name == holding[0] if holding else (found.near is None) == (found.name == UNKNOWN)
    if not holding and found.near is not None:
        assert NEAR <= found.score < HOLDS and values[found.near.evidence] is not None
        assert found.certainty == "low" and "no limit is reached" in found.why
        assert found.score <= next(one.score.estimate for one in found.classes if one.name == found.name)
    assert 0 <= found.confidence <= 1
    assert found == classify(evidence(values))


@given(numbers, numbers)
def test_filling_in_missing_numbers_keeps_scores_within_their_bounds(values, others):
    """A verdict of high certainty also stays the same, whatever the missing numbers turn out to be."""
    part = classify(evidence(values))
    filled = {name: value if value is not None else (others[name] or 0.0) for name, value in values.items()}
    whole = classify(evidence(filled))
    bounds = {scored.name: scored.score for scored in part.classes}
    for scored in whole.classes:
        assert bounds[scored.name].lower <= scored.score.estimate <= bounds[scored.name].upper
    if part.certainty == "high":
        assert whole.name == part.name


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4), st.permutations(CLASSES))
def test_the_class_that_ranks_first_whatever_is_missing(bounds, names):
    """Of two equally strong classes, the one that comes first in CLASSES ranks first."""
    low, high = (Score(None, *sorted(pair)) for pair in (bounds[:2], bounds[2:]))
    first, second = (ClassScore(name, score, {}) for name, score in zip(names, (low, high), strict=False))
    possible = {
        (-strength, CLASSES.index(first.name)) < (-other, CLASSES.index(second.name))
        for strength in (low.lower, low.upper)
        for other in (high.lower, high.upper)
    }
    assert _outranks(first, second) == (possible == {True})
    same = ClassScore(second.name, low, {})
    if low.lower == low.upper:
        assert _outranks(first, same) == (CLASSES.index(first.name) < CLASSES.index(second.name))
