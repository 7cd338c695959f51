"""The explanation says what the counters show, and nothing where they show nothing."""

from __future__ import annotations

import re

import pytest

from rocm_perf_lab.optimize.counter_changes import explanation, telling_changes

# Wave cycles are waits, issue waits and the rest; 1000 loads go beyond the L2, each in flight for 500 cycles.
BASE = {
    "SQ_WAVE_CYCLES": 1_000_000.0,
    "SQ_WAIT_ANY": 800_000.0,
    "SQ_WAIT_INST_ANY": 50_000.0,
    "SQ_INSTS": 100_000.0,
    "SQ_INSTS_VMEM_RD": 1000.0,
    "TCP_TCC_READ_REQ_sum": 4000.0,
    "TCC_EA0_RDREQ_sum": 1000.0,
    "TCC_EA0_RDREQ_LEVEL_sum": 500_000.0,
    "SQ_LDS_BANK_CONFLICT": 5000.0,
}


def why(missing: tuple[str, ...] = (), **after: float) -> str:
    """The explanation of a change in some of BASE's counters; the others are collected and unchanged."""
    counters = {name: (BASE[name], value) for name, value in after.items()}
    return explanation(counters, [name for name in BASE if name not in counters and name not in missing])


LESS = {"SQ_WAVE_CYCLES": 700_000.0, "SQ_WAIT_ANY": 500_000.0}
OVERLAP = "more of them are in flight at once"


def test_the_cycles_add_up():
    text = why(SQ_WAVE_CYCLES=700_000.0, SQ_WAIT_ANY=450_000.0, SQ_WAIT_INST_ANY=90_000.0)
    shares = [float(share) for share in re.findall(r"([+-][\d.]+)%", text)]
    assert shares == [-35.0, 4.0, 1.0] and sum(shares) == -30 and text.startswith("30.0% fewer cycles of waves")


@pytest.mark.parametrize(
    "after, said, unsaid",
    [
        ({}, "loads are the same (SQ_INSTS_VMEM_RD) and a read beyond L2 takes as long as before", "fewer vector loads"),
        ({"TCC_EA0_RDREQ_LEVEL_sum": 550_000.0}, f"takes 10.0% longer .*: {OVERLAP}", "fewer vector"),
        ({"TCC_EA0_RDREQ_LEVEL_sum": 300_000.0}, "but a read beyond L2 takes 40.0% less time", OVERLAP),
        ({"SQ_INSTS_VMEM_RD": 500.0}, r"50% fewer vector loads .* for the same lines from L2", OVERLAP),
        ({"SQ_INSTS_VMEM_RD": 500.0, "TCP_TCC_READ_REQ_sum": 2000.0}, "50% fewer .* for 50.0% fewer lines", OVERLAP),
        ({"TCC_EA0_RDREQ_sum": 800.0, "TCC_EA0_RDREQ_LEVEL_sum": 400_000.0}, "20% fewer reads beyond L2", OVERLAP),
        ({"SQ_LDS_BANK_CONFLICT": 0.0}, "100% fewer cycles of LDS bank conflicts", OVERLAP),
        ({"SQ_INSTS_VMEM_RD": 1100.0}, "the counters do not show", OVERLAP),
    ],
)
def test_less_waiting_is_attributed_to_the_cause_that_the_counters_show(after, said, unsaid):
    text = why(**LESS, **after)
    assert re.search(said.replace("(SQ_INSTS_VMEM_RD)", r"\(SQ_INSTS_VMEM_RD\)"), text), text
    assert unsaid not in text, text


def test_nothing_is_said_about_counters_that_were_not_collected():
    text = why(("TCC_EA0_RDREQ_LEVEL_sum",), **LESS)
    assert "either more are in flight at once, or each takes less time" in text
    assert "the counters do not show" in why(("SQ_INSTS_VMEM_RD",), **LESS)
    assert explanation({}) == explanation({"SQ_INSTS": (10.0, 5.0)}) and "no counter shows" in explanation({})


def test_waits_are_not_the_reason_where_the_saved_cycles_are_not_waits():
    text = why(SQ_WAVE_CYCLES=900_000.0, SQ_WAIT_ANY=790_000.0, SQ_INSTS=60_000.0)
    assert "40.0% fewer instructions are executed (SQ_INSTS)" in text and "under way" not in text and "loads" not in text
    more = why(SQ_WAVE_CYCLES=1_100_000.0, SQ_WAIT_ANY=900_000.0)
    assert more.startswith("10.0% more cycles of waves") and "under way" not in more


def test_cycles_come_first_and_then_the_largest_changes():
    factors = (0.9, 0.8, 1.1, 0.5, 0.9, 0.95, 0.7, 1.3, 0.6)
    counters = {name: (value, value * factor) for (name, value), factor in zip(BASE.items(), factors, strict=True)}
    names = [one.counter for one in telling_changes(counters)]
    assert names[:3] == ["SQ_WAVE_CYCLES", "SQ_WAIT_ANY", "SQ_WAIT_INST_ANY"]
    rest = [abs(one.change) for one in telling_changes(counters)[3:]]
    assert rest == sorted(rest, reverse=True) and telling_changes({"UNKNOWN": (1.0, 2.0)}) == []
