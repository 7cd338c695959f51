"""Counter formulas: compared with recordings of a kernel whose traffic is known, and the effect of missing counters."""

from __future__ import annotations

import csv
import gzip
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.arch import cdna2, cdna3
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.metric import metric

MIB = 2**20
# vecCopy(double*, double*, double*, int, int): each of 1048576 work-items does one load and one store of 8 bytes.
RECORDINGS = {"vcopy_MI300X_A1": cdna3.FAMILY, "vcopy_MI200": cdna2.FAMILY}


@pytest.fixture(params=RECORDINGS)
def recording(request, shared_data):
    """(family, the counters of each recorded dispatch)."""
    path = shared_data / "counters" / request.param / "pmc_perf.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    return RECORDINGS[request.param], [{name: _number(text) for name, text in row.items()} for row in rows]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def test_recorded_copy_moves_what_it_must(recording):
    family, dispatches = recording
    for number, counters in enumerate(dispatches):
        read, write = (formula(counters).value for formula in family.hbm_bytes)
        assert read == pytest.approx(8 * MIB, rel=0.01)
        if family is cdna3.FAMILY or number == 0:  # the MI200's 8 MiB L2 keeps dirty lines for the next dispatch
            assert write == pytest.approx(8 * MIB, rel=0.01)
        assert family.cache_bytes["L2"](counters).value == pytest.approx(16 * MIB, rel=0.001)
        # The bias that the metric declares: 32 useful bytes per access, counted as whole lines.
        accesses = family.cache_bytes["L1"](counters).value / (128 if family is cdna3.FAMILY else 64)
        assert 16 * MIB / accesses == 32
        assert family.cache_bytes["LDS"](counters).value == 0
        assert family.evidence["waves"](counters).value == 16384
        assert family.evidence["l1_accesses_per_vmem_instruction"](counters).value == 16
        assert family.evidence["l2_read_bytes_per_lane"](counters).value == 4  # 8 per load, none per store
        assert 0.7 < family.evidence["wait_fraction"](counters).value < 1
        for formula in family.flops.values():
            if not set(formula.counters) - set(counters):
                assert formula(counters).value == 0


def test_the_recorded_waves_wait_are_ready_to_issue_or_issue(shared_data):
    path = shared_data / "counters" / "vcopy_MI200" / "pmc_perf.csv.gz"
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            parts = [int(row[name]) for name in ("SQ_WAIT_ANY", "SQ_WAIT_INST_ANY", "SQ_ACTIVE_INST_ANY")]
            assert sum(parts) == int(row["SQ_WAVE_CYCLES"])


@pytest.mark.parametrize("target", ["gfx942", "gfx90a", "gfx950"])
@given(data=st.data())
def test_a_missing_counter_is_named_and_never_taken_for_zero(target, data):
    family = family_of(target)
    every = [*family.operations.values(), *family.hbm_bytes, *family.cache_bytes.values(), *family.evidence.values()]
    formula = data.draw(st.sampled_from(every))
    present = {name: 8.0 for name in family.counters()}
    dropped = data.draw(st.sets(st.sampled_from(formula.counters), min_size=1))
    value = formula({name: number for name, number in present.items() if name not in dropped})
    assert value.value is None
    assert set(value.not_collected) == dropped and all(name in value.reason for name in dropped)
    assert formula(present | dict.fromkeys(dropped, math.nan)).value is None
    assert formula(present).value is not None or "zero" in formula(present).reason


# Of a kernel of 10 waves with 600 work-items.
COUNTERS = {
    "SQ_WAVES": 10, "SQ_ITEMS": 600, "GRBM_GUI_ACTIVE": 12345,
    "SQ_WAVE_CYCLES": 1000, "SQ_WAIT_ANY": 600, "SQ_WAIT_INST_ANY": 250,
    "SQ_INSTS_VMEM": 40, "SQ_INSTS_SMEM": 20, "SQ_INSTS_VALU": 90,
    "SQ_ACTIVE_INST_VALU": 100, "SQ_THREAD_CYCLES_VALU": 3000, "SQ_VALU_MFMA_BUSY_CYCLES": 777,
    "SQ_LDS_IDX_ACTIVE": 500, "SQ_LDS_BANK_CONFLICT": 125, "TCC_HIT_sum": 30, "TCC_MISS_sum": 10,
    "TCP_TOTAL_CACHE_ACCESSES_sum": 640, "TCP_TCC_READ_REQ_sum": 100, "TCP_TCC_WRITE_REQ_sum": 50,
    "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": 7, "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": 3, "TCC_BUBBLE_sum": 30,
    **{f"TCC_{port}_{name}_sum": count
       for port in ("EA", "EA0")
       for name, count in {"RDREQ": 100, "RDREQ_32B": 20, "WRREQ": 50, "WRREQ_64B": 40}.items()},
    **{f"SQ_INSTS_VALU_{kind}_F{bits}": count
       for bits, counts in {16: (1, 2, 3, 5), 32: (2, 3, 4, 6), 64: (3, 4, 5, 7)}.items()
       for kind, count in zip(("ADD", "MUL", "TRANS", "FMA"), counts, strict=True)},
    **{f"SQ_INSTS_VALU_MFMA_MOPS_{kind}": count
       for kind, count in {"F8": 2, "F6F4": 8, "F16": 3, "BF16": 4, "F32": 5, "F64": 6, "I8": 7}.items()},
    **{f"GL2C_EA_RDREQ_{size}B_sum": count for size, count in {32: 3, 64: 5, 96: 7, 128: 11}.items()},
    "GL2C_MC_WRREQ_sum": 50, "GL2C_EA_WRREQ_64B_sum": 40, "GL2C_HIT_sum": 30, "GL2C_MISS_sum": 10,
    "SQC_LDS_BANK_CONFLICT": 125, "SQC_LDS_IDX_ACTIVE": 500,
}  # fmt: skip
# By hand. An FMA is two operations; 640 lanes were launched, and 64 x 100 could have worked in vector instructions.
OPERATIONS = {
    ("f16", "valu"): 64 * 16, ("f32", "valu"): 64 * 21, ("f64", "valu"): 64 * 26, ("f16", "mfma"): 1536,
    ("bf16", "mfma"): 2048, ("f32", "mfma"): 2560, ("f64", "mfma"): 3072, ("i8", "mfma"): 3584,
}  # fmt: skip
EVIDENCE = {
    "wait_fraction": 0.6, "issue_wait_fraction": 0.25, "l1_accesses_per_vmem_instruction": 16, "l2_hit_rate": 0.75,
    "lds_conflict_fraction": 0.25, "vmem_instructions": 40, "valu_instructions": 90, "lds_busy_cycles": 500,
    "wave_cycles": 4000, "waves": 10, "partial_wave_fraction": 1 / 16, "divergent_lane_fraction": 0.5,
    "memory_instructions_per_wave": 6, "wait_cycles_per_memory_instruction": 40, "mfma_busy_cycles": 777,
    "active_cycles": 12345, "vector_memory_instructions_per_wave": 4, "atomic_request_fraction": 1 / 16,
}  # fmt: skip
WORKED = {
    "gfx942": (
        OPERATIONS | {("f8", "mfma"): 1024},
        (30 * 128 + 50 * 64 + 20 * 32, 40 * 64 + 10 * 32),
        {"L2": 100 * 128 + 60 * 64, "L1": 640 * 128, "LDS": 375 * 128},
        EVIDENCE | {"l2_read_bytes_per_lane": 5},
    ),
    "gfx950": (
        OPERATIONS | {("f8", "mfma"): 1024, ("f6f4", "mfma"): 4096},
        (30 * 128 + 50 * 64 + 20 * 32, 40 * 64 + 10 * 32),
        {"L2": 100 * 128 + 60 * 64, "L1": 640 * 128, "LDS": 375 * 128},
        EVIDENCE | {"l2_read_bytes_per_lane": 5},
    ),
    "gfx90a": (
        OPERATIONS,
        (80 * 64 + 20 * 32, 40 * 64 + 10 * 32),
        {"L2": 160 * 64, "L1": 640 * 64, "LDS": 375 * 128},
        EVIDENCE | {"l2_read_bytes_per_lane": 2.5},
    ),
    "gfx1030": (
        {},
        (3 * 32 + 5 * 64 + 7 * 96 + 11 * 128, 40 * 64 + 10 * 32),
        {},
        {
            "wait_fraction": 0.6, "issue_wait_fraction": 0.25, "l2_hit_rate": 0.75, "lds_conflict_fraction": 0.25,
            "wave_cycles": 1000, "waves": 10, "active_cycles": 12345,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("target", WORKED)
def test_every_formula_by_hand(target):
    family = family_of(target)
    operations, memory, caches, evidence = WORKED[target]
    assert set(family.counters()) <= set(COUNTERS)
    assert {name: formula(COUNTERS).value for name, formula in family.operations.items()} == operations
    assert tuple(formula(COUNTERS).value for formula in family.hbm_bytes) == memory
    assert {name: formula(COUNTERS).value for name, formula in family.cache_bytes.items()} == caches
    assert {name: formula(COUNTERS).value for name, formula in family.evidence.items()} == pytest.approx(evidence)


def test_more_active_lanes_than_launched_ones_are_no_divergence():
    """A rounding error or a counter that ran on must not make a share negative."""
    more = COUNTERS | {"SQ_THREAD_CYCLES_VALU": 6400}
    assert cdna3.FAMILY.evidence["divergent_lane_fraction"](more).value == 0


def test_dividing_by_nothing_gives_a_reason():
    @metric("fraction")
    def ratio(A, B):
        return A / B

    assert ratio({"A": 1.0, "B": 0.0}).value is None
    assert "B" in ratio({"A": 1.0, "B": 0.0}).reason
    assert ratio({}).reason == "no counters were collected"


def test_targets_with_features_are_recognised():
    assert family_of("gfx942:sramecc+:xnack-") is cdna3.FAMILY
    assert family_of("gfx90a") is cdna2.FAMILY
    assert family_of("gfx950:sramecc+:xnack-").name == "cdna4"
    assert family_of("gfx1030").name == "rdna2"
    assert family_of("gfx1201") is None
