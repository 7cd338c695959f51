"""Proposals that were not judged, grouped by reason."""

from __future__ import annotations

from rocm_perf_lab.optimize.passed_over_reasons import group_by_reason

SLOWER, MORE = "less than 2.0%", "another change saves more"


def test_each_reason_is_given_once_with_all_proposals_that_it_applies_to():
    told = group_by_reason(
        [
            ("unroll by 2", f"1.1% slower on the captured inputs; {SLOWER}"),
            ("restrict", f"31.4% saved on the captured inputs; {MORE}"),
            ("hoist", "the budget of 5 min is used"),
            ("unroll by 4", f"0.0% saved on the captured inputs; {SLOWER}"),
        ]
    )
    assert list(told) == [
        (f"{SLOWER}, on the captured inputs", "unroll by 2 (1.1% slower); unroll by 4 (0.0% saved)"),
        (f"{MORE}, on the captured inputs", "restrict (31.4% saved)"),
        ("the budget of 5 min is used", "hoist"),
    ]
