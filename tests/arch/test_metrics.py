"""Counter formulas: against recordings of a kernel whose traffic is known, and what becomes of missing counters."""

from __future__ import annotations

import csv
import gzip
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.arch import cdna2, cdna3, family_of
from rocm_perf_lab.arch.metric import metric

MIB = 2**20
# vecCopy(double*, double*, double*, int, int): one load, one store of 8 bytes by each of 1048576 work-items.
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
        if family is cdna3.FAMILY or number == 0:  # MI200's 8 MiB L2 keeps dirty lines for the next dispatch
            assert write == pytest.approx(8 * MIB, rel=0.01)
        assert family.cache_bytes["L2"](counters).value == pytest.approx(16 * MIB, rel=0.001)
        # The bias that the metric declares: 32 useful bytes per access, counted as whole lines.
        accesses = family.cache_bytes["L1"](counters).value / (128 if family is cdna3.FAMILY else 64)
        assert 16 * MIB / accesses == 32
        assert family.cache_bytes["LDS"](counters).value == 0
        assert family.evidence["waves"](counters).value == 16384
        assert family.evidence["l1_accesses_per_vmem_instruction"](counters).value == 16
        assert family.evidence["l2_read_bytes_per_lane"](counters).value == 4  # 8 a load, none a store
        assert 0.7 < family.evidence["wait_fraction"](counters).value < 1
        for formula in family.flops.values():
            if not set(formula.counters) - set(counters):
                assert formula(counters).value == 0


def test_the_recorded_waves_wait_want_to_issue_or_issue(shared_data):
    path = shared_data / "counters" / "vcopy_MI200" / "pmc_perf.csv.gz"
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            parts = [int(row[name]) for name in ("SQ_WAIT_ANY", "SQ_WAIT_INST_ANY", "SQ_ACTIVE_INST_ANY")]
            assert sum(parts) == int(row["SQ_WAVE_CYCLES"])


@pytest.mark.parametrize("target", ["gfx942", "gfx90a"])
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
    assert family_of("gfx1030").name == "rdna2"
    assert family_of("gfx1201") is None
