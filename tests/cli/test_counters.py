"""`rocm-perf counters`."""

from __future__ import annotations

import json

from published_schemas import expect_published


def test_json_agrees_with_the_filters(rocm_perf):
    everything = json.loads(rocm_perf("counters", "--json").stdout)
    expect_published("counters", everything)
    l2 = json.loads(rocm_perf("counters", "--json", "--block", "TCC", "--arch", "gfx90a").stdout)
    assert l2 == [row for row in everything if row["block"] == "TCC" and "gfx90a" in row["hardware"]]
    assert {row["name"] for row in l2} >= {"TCC_EA_RDREQ_sum", "TCC_HIT_sum"}
    assert all(row["device"] == (row["not_on_device_because"] is None) for row in everything)


def test_the_formulas_that_use_a_counter_are_named(rocm_perf):
    (row,) = json.loads(rocm_perf("counters", "--json", "TCC_BUBBLE_sum").stdout)
    assert row["used_by"] == ["cdna3: hbm_read_bytes", "cdna4: hbm_read_bytes"]


def test_unknown_names_are_usage_errors(rocm_perf):
    for arguments in (["SQ_WAFES"], ["--block", "TXX"]):
        completed = rocm_perf("counters", *arguments)
        assert completed.returncode == 2 and arguments[-1] in completed.stderr
