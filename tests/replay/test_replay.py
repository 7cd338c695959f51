"""A dispatch, captured in one process, gives the same bytes in another one, at the same addresses."""

from __future__ import annotations

import pytest

from rocm_perf_lab.replay import replay, reserve_check

# A kernel of each program, and which of its dispatches: argument lists leave waves and tiles partly filled.
DISPATCHES = [
    ("vcopy", "vecCopy", 0, "-n", "10001"),
    ("softmax_testbed", "softmax_naive", 0, "--rows", "70", "--cols", "33"),
    ("softmax_testbed", "softmax_lds", 0, "--rows", "70", "--cols", "33"),
    ("pointer_chase", "chase_wave", 0, "--bytes", "8192", "--hops", "100"),
]


@pytest.mark.parametrize("program, kernel, dispatch, arguments", [(p, k, d, a) for p, k, d, *a in DISPATCHES])
def test_a_fresh_process_gives_the_captured_bytes_at_the_captured_addresses(captured, program, kernel, dispatch, arguments):
    case = captured(program, kernel, dispatch, *arguments)
    assert kernel in case.kernel
    assert reserve_check(case, device="gfx942")["outcome"] == "exact"
    result = replay(case, iterations=2, poison=0xA5, compare=True, device="gfx942")
    assert result.equal, result.differing_regions
    changed = sum(region["expected_changed_bytes"] for region in result.document["comparison"]["regions"])
    assert changed > 0  # otherwise a kernel that does nothing would pass
