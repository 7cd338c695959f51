"""The table of counters: its own consistency, and where a counter is available."""

from __future__ import annotations

import pytest

from rocm_perf_lab.arch.counters import SOFTWARE_TARGETS, Counter, known_counters, uses
from rocm_perf_lab.arch.counters_document import counters_document
from rocm_perf_lab.arch.families import FAMILIES


@pytest.mark.parametrize(
    "events, model, on_device, on_gfx90a",
    [
        ({"gfx942": 4, "gfx90a": 5}, "a sum", True, True),
        ({"gfx942": 4}, "a sum", True, False),
        ({"gfx1201": 4}, "a sum", False, False),
        ({}, "a sum", True, True),
        ({"gfx942": 4, "gfx90a": 5}, None, False, False),
        ({}, None, False, False),
    ],
)
def test_where_the_software_device_provides_a_counter(events, model, on_device, on_gfx90a):
    counter = Counter("TCC_EA0_RDREQ_sum", "requests", "reads", events, model)
    assert (counter.on_device, counter.on_software("gfx90a")) == (on_device, on_gfx90a)
    assert counter.block == "TCC" and counter.hardware == tuple(events)


def test_a_counter_has_a_model_or_a_reason():
    counters = known_counters()
    assert len({one.name for one in counters}) == len(counters) > 100
    assert all((one.model is None) != (one.why is None) for one in counters)
    assert {one.name for one in counters} >= {name for family in FAMILIES for name in family.counters()}
    assert all(one.on_software("gfx942") for one in counters if one.model and "gfx942" in one.hardware)
    assert "gfx942" in SOFTWARE_TARGETS


def test_what_a_counter_is_used_for():
    found = uses()
    assert found["TCC_HIT_sum"] == ("cdna2: l2_hit_rate", "cdna3: l2_hit_rate", "cdna4: l2_hit_rate")
    assert found["SQ_INSTS_VALU_MFMA_MOPS_F8"] == ("cdna3: mfma_flops_f8", "cdna4: mfma_flops_f8")
    assert found["SQ_INSTS_VALU_MFMA_MOPS_I8"] == tuple(f"cdna{number}: mfma_ops_i8" for number in (2, 3, 4))
    assert "cdna2: hbm_read_bytes" in found["TCC_EA_RDREQ_sum"] and "rdna2: waves" in found["SQ_WAVES"]
    assert "cdna3: lds_bytes" in found["SQ_LDS_IDX_ACTIVE"]
    assert all(len(set(names)) == len(names) for names in found.values())


def test_the_document_contains_all_of_it():
    of_table = Counter("SQ_WAVES", "waves", "waves that began", {"gfx942": 4}, "counts them")
    unmodelled = Counter("XYZ_A", "cycles", "something", {"gfx942": 4}, None, "too detailed")
    first, second = counters_document([of_table, unmodelled]).model_dump()
    assert first == {
        "name": "SQ_WAVES", "block": "SQ", "unit": "waves", "meaning": "waves that began", "device": True,
        "device_model": "counts them", "not_on_device_because": None, "hardware": ["gfx942"], "used_by": [*uses()["SQ_WAVES"]],
    }  # fmt: skip
    assert (second["device"], second["device_model"], second["not_on_device_because"]) == (False, None, "too detailed")
    assert second["used_by"] == []
